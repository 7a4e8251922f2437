"""Progress of a long task: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, ProgressColumn, Task
from rich.progress import Progress as RichProgress
from rich.status import Status
from rich.text import Text

from miai.process.compilations import LIVE_VIEWS, compilation_text

REFRESH_SECONDS: Final = 0.25
"""Minimum time between updates of a bar."""

_RATE_SECONDS = 300.0  # over which the rate is measured
_STEADY_COUNT = 8
"""Items after which the rate is shown; two are enough after `_STEADY_SECONDS`."""
_STEADY_SECONDS = 10.0


class Progress:
    """Progress as lines, for files, pipes and simple terminals.

    Attributes:
      done, total: number of items done and in total.
      status: the current activity, which lines leave out.
    """

    def __init__(self, *, file: TextIO | None = None) -> None:
        self.done = self.total = 0
        self.status = ""
        self._file = file
        self._printed = time.monotonic()

    def begin(self, *, done: int, total: int) -> None:
        """Set the count at the start."""
        self.done, self.total = done, total

    def advance(self, line: str, *, every: float = 0.0) -> None:
        """Count one item; print it if `every` seconds passed since the last line."""
        self.reach(self.done + 1, line, every=every)

    def reach(self, done: int, line: str, *, every: float = 0.0) -> None:
        """Set the count of a task that counts by itself, with a line as for `advance`."""
        self.done = done
        if time.monotonic() - self._printed >= every:
            self.milestone(line)

    def milestone(self, line: str) -> None:
        """Print a line with the count."""
        self._printed = time.monotonic()
        width = len(str(self.total))
        self.note(f"[{self.done:{width}}/{self.total}] {line}")

    def note(self, line: str) -> None:
        """Print a line."""
        print(line, file=self._file or sys.stdout, flush=True)

    def refresh(self, *, now: bool = False) -> None:
        """Update the view: a few times a second at most, unless `now`."""

    def close(self) -> None:
        """Remove the view."""


class LiveProgress(Progress):
    """Progress as a bar that is updated in place; notes scroll above it.

    Below it are the status, a hint and the body, None for nothing.
    """

    def __init__(
        self, title: str, *, unit: str, hint: str = "", console: Console | None = None
    ) -> None:
        super().__init__()
        self.hint = hint
        self.body: RenderableType | None = None
        self.console = console or Console(highlight=False)
        self._title = title
        columns = BarColumn(bar_width=None), _Facts(unit, self._is_steady)
        self._bar = RichProgress(*columns, expand=True, speed_estimate_period=_RATE_SECONDS)
        self._task = self._bar.add_task("")
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._last_update = 0.0
        self._counted, self._first = 0, math.inf

    def begin(self, *, done: int, total: int) -> None:
        """Set the count and show the view."""
        super().begin(done=done, total=total)
        self._bar.reset(self._task, completed=done, total=total)
        self._live.start()
        LIVE_VIEWS.add(id(self))
        self.refresh(now=True)

    def advance(self, line: str, *, every: float = 0.0) -> None:
        """Count one item."""
        self.done += 1
        self._note_count()
        self._bar.advance(self._task)

    def reach(self, done: int, line: str, *, every: float = 0.0) -> None:
        """Set the count of a task that counts by itself; the line is its status."""
        if done > self.done:
            self._note_count()
        self.done, self.status = done, line
        self._bar.update(self._task, completed=done)
        self.refresh()

    def _note_count(self) -> None:
        self._counted += 1
        self._first = min(self._first, time.monotonic())

    def _is_steady(self) -> bool:
        """Return whether the rate is known: the first items may wait until kernels are compiled."""
        seconds = time.monotonic() - self._first
        return self._counted >= _STEADY_COUNT or (self._counted > 1 and seconds > _STEADY_SECONDS)

    def note(self, line: str) -> None:
        """Show a line above the view."""
        self.console.print(Text(line))

    milestone = note

    def refresh(self, *, now: bool = False) -> None:
        """Update the view: a few times a second at most, unless `now`."""
        if not now and time.monotonic() - self._last_update < REFRESH_SECONDS:
            return
        self._bar.update(self._task, total=self.total)
        parts = [Text(self._title, style="bold"), self._bar.get_renderable()]
        status = compilation_text() or self.status
        parts += [Text(status, style="dim"), Text(self.hint, style="dim")]
        parts += [] if self.body is None else [Text(), self.body]
        self._live.update(Group(*parts), refresh=True)
        self._last_update = time.monotonic()

    def close(self) -> None:
        """Remove the view."""
        self._live.stop()
        LIVE_VIEWS.discard(id(self))


class _Facts(ProgressColumn):
    """Shows the count and, as soon as the rate is known, the rate and the remaining time."""

    def __init__(self, unit: str, is_steady: Callable[[], bool]) -> None:
        super().__init__()
        self._unit, self._is_steady = unit, is_steady

    def render(self, task: Task) -> Text:
        facts = f"{task.completed:.0f}/{task.total or 0:.0f} {self._unit}"
        if task.speed and task.remaining is not None and self._is_steady():
            remaining = clock_text(task.remaining / task.speed)
            facts += f"  {task.speed:.1f} {self._unit}/s  {remaining} left"
        return Text(facts, no_wrap=True)


def make_progress(title: str, *, unit: str, hint: str = "", aside: bool = False) -> Progress:
    """Return a live view if standard output is a suitable terminal, else lines.

    Args:
      title: title of the task.
      unit: name of the items, in the plural.
      hint: a line below the bar, such as how to stop.
      aside: whether standard output is needed for results; progress then goes to standard error.
    """
    if aside:
        return Progress(file=sys.stderr)
    return LiveProgress(title, unit=unit, hint=hint) if is_live_terminal() else Progress()


@contextmanager
def show_activity(title: str) -> Iterator[Callable[[str], None]]:
    """Show a line for a task of unknown length, if standard error is a terminal.

    Yields a function that replaces the text after the title.
    """
    console, last_update = Console(stderr=True, highlight=False), 0.0

    def show(text: str) -> None:
        nonlocal last_update
        if console.is_terminal and time.monotonic() - last_update >= REFRESH_SECONDS:
            last_update = time.monotonic()
            status.update(Text(f"{title}: {text}"))

    with console.status(Text(title)) if console.is_terminal else nullcontext(Status("")) as status:
        yield show


def is_live_terminal() -> bool:
    """Return whether standard output is a terminal that can update lines in place."""
    console = Console()
    return sys.stdout.isatty() and console.is_terminal and not console.is_dumb_terminal


def clock_text(seconds: float) -> str:
    """Return a duration as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
