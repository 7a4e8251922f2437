"""One sitting of a comparison: begin, extend or resume it, and search until it ends.

May a config continue a comparison begun with another? Only with more arms, cells and roots.

What a comparison shows while it goes on: plain lines, or a view that is updated in place.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import miai
from miai.errors import ConfigError, StoreError
from miai.plugins.loader import registry
from miai_tournaments.compare.blocks import Block
from miai_tournaments.compare.config import Comparison
from miai_tournaments.compare.measuring import Arena, ArmMeasurement, Judge
from miai_tournaments.compare.results import (
    FILE_NAME,
    ComparisonInfo,
    ComparisonStore,
    Measured,
    SearchKey,
)
from miai_tournaments.report.live import REFRESH_SECONDS, capable, clock_text
from miai_tournaments.report.tables import counted
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.store.address import COMPARISON
from miai_tournaments.store.folder import locked, refuse_foreign

_ABSENT = "(absent)"
_LONGEST = 60


def resolve(comparison: Comparison) -> dict[str, Any]:
    """Return all of a config that its results depend on, as plain data; defaults filled in.

    What arms are compared with is no part of it: another baseline reads the same results.
    """
    section = comparison.config.comparison
    return {
        "comparison": {
            "name": section.name,
            "truth": section.judge,
            "repeats": section.repeats,
            "deepening": section.deepening,
        },
        "arms": {
            arm.name: {"search": arm.search, "parameters": dict(arm.parameters)}
            for arm in comparison.arms.values()
        },
        "cells": {
            block.title: {
                "problem": block.problem,
                "parameters": dict(block.parameters),
                "max_nodes": block.max_nodes,
                "roots": block.roots,
                "seeds": list(block.seeds),
                "arms": sorted(block.arms),
            }
            for block in comparison.blocks
        },
    }


def versions() -> dict[str, str]:
    """Return the versions of what measures: results of others do not belong in one table."""
    found = {"miai": miai.__version__, "python": platform.python_version()}
    for name in ("numpy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # numba is an extra
    return found


def refuse_other(store: ComparisonStore, comparison: Comparison) -> None:
    """Check that the config continues the comparison in the store, by the same miai.

    Raises:
      ConfigError: it does more than add; the differences are told by path.
      StoreError: another miai measured what is there.
    """
    info = store.info()
    began, now = info.versions.get("miai"), versions()["miai"]
    if began != now:
        raise StoreError(
            f"{store.folder}: was measured by miai {began}, installed is {now}: their searches do "
            "not belong in one table; begin a new comparison with --out"
        )
    old, new = info.resolved, resolve(comparison)
    lines = [
        f"  {'.'.join(path)}: {_change(before, after)}"
        for path, before, after in _differences(old, new)
        if not _allowed(path, before, after) and not _is_new_default(path, before, after, new)
    ]
    if lines:
        raise ConfigError(
            f"{comparison.source}: differs from the config that {store.folder} was begun with; a "
            "comparison can gain arms, cells, roots and seeds, nothing else may change:\n"
            + "\n".join(lines)
            + "\nRestore the config, or begin a new comparison with --out."
        )


ConfigPath = tuple[str, ...]


def _differences(
    old: Any, new: Any, path: ConfigPath = ()
) -> Iterator[tuple[ConfigPath, Any, Any]]:
    """Yield (path, old value, new value) of everything that differs between two plain values."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), (*path, key))
    elif (list(old) if isinstance(old, tuple) else old) != new:
        yield path, old, new


def _allowed(path: ConfigPath, before: Any, after: Any) -> bool:
    if len(path) == 2 and path[0] in ("arms", "cells"):
        return bool(before == _ABSENT)
    if path[0] == "cells" and path[2] == "roots":
        return isinstance(before, int) and isinstance(after, int) and after > before
    if path[0] == "cells" and path[2] in ("seeds", "arms"):
        lists = isinstance(before, (list, tuple)) and isinstance(after, list)
        return lists and set(before) < set(after)
    return False


def _is_new_default(path: ConfigPath, before: Any, after: Any, new: Mapping[str, Any]) -> bool:
    """Return whether a parameter is one that a newer plugin has added, at its default."""
    if before != _ABSENT or len(path) != 4 or path[2] != "parameters":
        return False
    entry = new[path[0]][path[1]]
    kind, name = ("belief-search", "search") if path[0] == "arms" else ("belief-problem", "problem")
    fields = registry().get(kind, entry[name]).load_parameters().model_fields
    return path[3] in fields and bool(fields[path[3]].get_default() == after)


def _change(before: Any, after: Any) -> str:
    """Return what became of a value."""
    if after == _ABSENT:
        return "was removed"
    if before == _ABSENT:
        return f"was added: {_show(after)}"
    return f"{_show(before)} -> {_show(after)}"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


LINE_SECONDS = 5.0
"""Plain lines: one at the end of every cell, and otherwise no more often than this."""

_RATE_WINDOW = 60.0


class ComparisonReporter(Protocol):
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


class PlainComparisonReporter:
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


class LiveComparisonReporter:
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


def make_reporter(title: str, *, aside: bool = False) -> ComparisonReporter:
    """Return a live view where standard output is a terminal that can show one, else lines.

    Args:
      aside: whether standard output is for something else; then the lines go to standard error.
    """
    if aside:
        return PlainComparisonReporter(sys.stderr)
    if sys.stdout.isatty() and capable():
        return LiveComparisonReporter(title)
    return PlainComparisonReporter()


GRACE = 86_400.0
"""Seconds that the search at hand is given after Ctrl-C; a second Ctrl-C abandons it at once."""

_STANDARD_ERROR = 2


class _Signals(StopSignals):
    """Says at once that it was heard: the search at hand may take a while."""

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked() is None:
            # A signal may come in the midst of a print, which must not be entered again.
            os.write(_STANDARD_ERROR, b"\nending after the search at hand; again: at once\n")
        super()._handle(number, frame)


def run(
    comparison: Comparison, folder: Path, make_reporter: Callable[[str], ComparisonReporter]
) -> str | None:
    """Begin a comparison in a folder, or extend and continue the one that is there.

    Returns:
      Why it was stopped before its end; None when all is done.

    Raises:
      MiaiError: the folder holds something else, is in use or holds a comparison of another
        config; or a search failed.
    """
    refuse_foreign(folder, kind=COMPARISON)
    if (folder / FILE_NAME).exists():
        with ComparisonStore.open(folder):
            pass  # what is no store is refused before a lock is written beside it
    signals = _Signals(GRACE)
    with (
        suppress(Stopped),
        signals,
        locked(folder, kind=COMPARISON),
        _opened(comparison, folder) as store,
    ):
        sitting = _Sitting(comparison, store, signals.asked)
        if sitting.left:
            sitting.search(make_reporter(_title(comparison)))
        signals.finish()
    return signals.asked()


class _Sitting:
    """Searches what is left: cell by cell, root by root, and at each root every arm.

    Attributes:
      left: how many searches are not done.
    """

    def __init__(
        self, comparison: Comparison, store: ComparisonStore, asked: Callable[[], str | None]
    ) -> None:
        self._comparison, self._store, self._asked = comparison, store, asked
        self._done = store.measured()
        self._arenas: dict[str, Arena] = {}
        keys = (key for block in comparison.blocks for key in block.searches())
        self.left = sum(key not in self._done for key in keys)

    def search(self, reporter: ComparisonReporter) -> None:
        """Search until all is done, or somebody asks to stop."""
        blocks = self._comparison.blocks
        total = sum(block.count for block in blocks)
        reporter.note(f"{_title(self._comparison)}; kept in {self._store.folder}")
        try:
            reporter.begin(done=total - self.left, total=total)
            for block in blocks:
                if all(key in self._done for key in block.searches()):
                    continue
                for seed in block.seeds:
                    self._search_roots(block, seed, reporter)
                if self._asked():
                    return
                reporter.block_done(block)
        finally:
            reporter.close()

    def _search_roots(self, block: Block, seed: int, reporter: ComparisonReporter) -> None:
        """Search the roots that a block draws with one seed, as far as they are not searched."""
        keys = [key for key in block.searches() if key.seed == seed]
        if self._asked() or all(key in self._done for key in keys):
            return
        arena = self._arena(block)
        roots = arena.roots(block, seed)
        for arm in block.arms:
            if any(key not in self._done for key in keys if key.arm == arm):
                arena.warm_up(arm, block, roots[0])
        section = self._comparison.config.comparison
        series = {
            arm: ArmMeasurement(
                arena, arm, block, repeats=section.repeats, deepening=section.deepening
            )
            for arm in block.arms
        }
        for number, root in enumerate(roots):
            judge: Judge | None = None
            for arm in block.arms:  # the judge is the first of them
                key = SearchKey(*block.cell, seed, number, arm)
                if self._asked():
                    return
                measured = self._done.get(key)
                if measured is not None:
                    series[arm].skip(root)
                else:
                    reporter.searching(block, key)
                    measured = series[arm].measure(root, number)
                judge = judge or Judge(arena, arm, block, root, measured)
                if key not in self._done:
                    self._done[key] = judge.judged(measured)
                    self._store.add(key, self._done[key])
                    reporter.finished(block, key, self._done[key])

    def _arena(self, block: Block) -> Arena:
        if block.game not in self._arenas:
            self._arenas[block.game] = Arena(block, self._comparison.arms, self._comparison.source)
        return self._arenas[block.game]


def _title(comparison: Comparison) -> str:
    blocks = comparison.blocks
    total = sum(block.count for block in blocks)
    cells, arms = counted(len(blocks), "cell"), counted(len(comparison.arms), "arm")
    return f"{comparison.name}: {cells}, {arms}, {total} searches"


@contextmanager
def _opened(comparison: Comparison, folder: Path) -> Iterator[ComparisonStore]:
    """Give the store of a folder, which is made or told of the config as need be."""
    if not (folder / FILE_NAME).exists():
        with ComparisonStore.create(folder, _info(comparison)) as store:
            yield store
        return
    with ComparisonStore.open(folder) as store:
        refuse_other(store, comparison)
        info = store.info()
        store.tell(replace(_info(comparison), created=info.created, machine=info.machine))
        yield store


def _info(comparison: Comparison) -> ComparisonInfo:
    return ComparisonInfo(
        name=comparison.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions(),
        machine=f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        resolved=resolve(comparison),
        config_text=comparison.text,
        config_path=comparison.source,
    )
