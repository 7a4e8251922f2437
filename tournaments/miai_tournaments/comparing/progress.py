"""What a comparison shows while it goes on: plain lines, or a view that is updated in place."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from miai_tournaments.comparing.blocks import Block
from miai_tournaments.live.live import REFRESH_SECONDS, capable, clock_text
from miai_tournaments.store.comparisons import Measured, SearchKey

LINE_SECONDS = 5.0
"""Plain lines: one at the end of every cell, and otherwise no more often than this."""

_RATE_WINDOW = 60.0


class Reporter(Protocol):
    """Is told of a comparison's progress."""

    def begin(self, *, done: int, total: int) -> None:
        """Be told how many searches are done before the first one, and how many there are."""

    def searching(self, block: Block, key: SearchKey) -> None:
        """Be told which search is next."""

    def finished(self, block: Block, key: SearchKey, measured: Measured) -> None:
        """Be told of a search that was committed."""

    def block_done(self, block: Block) -> None:
        """Be told that all searches of a block are done."""

    def note(self, text: str) -> None:
        """Be given a line to show."""

    def close(self) -> None:
        """Show nothing more."""


class PlainReporter:
    """A line now and then: for files, pipes and terminals that cannot do more."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._done = self._total = 0
        self._shown = time.monotonic()

    def begin(self, *, done: int, total: int) -> None:
        """Note where the count begins."""
        self._done, self._total = done, total

    def searching(self, block: Block, key: SearchKey) -> None:
        """Show nothing."""

    def finished(self, block: Block, key: SearchKey, measured: Measured) -> None:
        """Count a search; print where it is, when it is time to."""
        self._done += 1
        if time.monotonic() - self._shown >= LINE_SECONDS:
            self._line(f"{block.title}: root {key.root + 1} of {block.roots}, seed {key.seed}")

    def block_done(self, block: Block) -> None:
        """Print that it is done."""
        self._line(f"{block.title}: done")

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, file=self._file or sys.stdout, flush=True)

    def close(self) -> None:
        """Nothing is open."""

    def _line(self, text: str) -> None:
        self._shown = time.monotonic()
        width = len(str(self._total))
        self.note(f"[{self._done:{width}}/{self._total}] {text}")


class LiveReporter:
    """Shows the progress in place; cells that are done scroll away above it."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._done = self._total = 0
        self._now = self._ending = ""
        self._times: deque[float] = deque()
        self._began = time.monotonic()
        self._shown = 0.0

    def begin(self, *, done: int, total: int) -> None:
        """Note where the count begins, and show the view."""
        self._done, self._total = done, total
        self._began = time.monotonic()
        self._live.start()
        self._show()

    def searching(self, block: Block, key: SearchKey) -> None:
        """Show which search it is."""
        self._now = f"{block.title}: root {key.root + 1} of {block.roots}, {key.arm}"
        if time.monotonic() - self._shown >= REFRESH_SECONDS:
            self._show()

    def finished(self, block: Block, key: SearchKey, measured: Measured) -> None:
        """Count a search."""
        self._done += 1
        self._times.append(time.monotonic())

    def block_done(self, block: Block) -> None:
        """Show that it is done, above the view."""
        self.note(f"{block.title}: done")

    def note(self, text: str) -> None:
        """Show a line above the view."""
        self._console.print(Text(text))
        self._show()

    def close(self) -> None:
        """Take the view away."""
        self._live.stop()

    def _show(self) -> None:
        self._live.update(self._view(), refresh=True)
        self._shown = time.monotonic()

    def _view(self) -> RenderableType:
        return Group(
            Text(self._title, style="bold"),
            self._bar(),
            Text(self._now, style="dim"),
            Text("Ctrl-C stops after this search; the comparison can be resumed", style="dim"),
        )

    def _bar(self) -> RenderableType:
        facts = f"{self._done}/{self._total} searches"
        rate = self._rate()
        if rate > 0:
            facts += f"  {rate:.1f}/s  about {clock_text((self._total - self._done) / rate)} left"
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(ratio=1)
        grid.add_column(no_wrap=True)
        grid.add_row(ProgressBar(total=max(1, self._total), completed=self._done), Text(facts))
        return grid

    def _rate(self) -> float:
        """Return searches a second over the last minute."""
        now = time.monotonic()
        while self._times and now - self._times[0] > _RATE_WINDOW:
            self._times.popleft()
        seconds = min(_RATE_WINDOW, now - self._began)
        return len(self._times) / seconds if seconds > 0 else 0.0


def make_reporter(title: str, *, aside: bool = False) -> Reporter:
    """Return a live view where standard output is a terminal that can show one, else lines.

    Args:
      aside: whether standard output is for something else; then the lines go to standard error.
    """
    if aside:
        return PlainReporter(sys.stderr)
    if sys.stdout.isatty() and capable():
        return LiveReporter(title)
    return PlainReporter()
