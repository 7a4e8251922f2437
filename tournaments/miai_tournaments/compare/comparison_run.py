"""A run of a comparison: begin, extend or resume it, and search until it ends.

A config may continue a comparison that was begun with another if it only adds arms, cells, seeds
or roots.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

import miai
from miai.errors import StoreError
from miai.pages.document import counted
from miai.progress import Progress
from miai_tournaments.compare.config import Comparison
from miai_tournaments.compare.results import FILE_NAME, ComparisonInfo, ComparisonStore, SearchKey
from miai_tournaments.compare.schema import RootBlock
from miai_tournaments.compare.timed_searches import Arena, ArmMeasurement, Judge
from miai_tournaments.config.extension import ABSENT, change_text, differences, refuse_changes
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.store.folder import COMPARISON, locked, refuse_foreign


def resolve(comparison: Comparison) -> dict[str, Any]:
    """Return the parts of a config that its results depend on, as plain data with defaults.

    The baseline is not part of it: another baseline uses the same results.
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
    """Return the versions of the packages that measure."""
    packages = {"miai": miai.__version__, "python": platform.python_version()}
    for name in ("numpy", "numba"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue  # numba is an extra
    return packages


def refuse_other(store: ComparisonStore, comparison: Comparison) -> None:
    """Check that the config continues the comparison in the store, by the same miai.

    Raises:
      ConfigError: it does more than add; the message lists the differences by path.
      StoreError: another version of miai measured the existing results.
    """
    info = store.info()
    began, now = info.versions.get("miai"), versions()["miai"]
    if began != now:
        raise StoreError(
            f"{store.folder}: was measured by miai {began}, installed is {now}: their results "
            "do not compare; begin a new comparison with --out"
        )
    old, new = info.resolved, resolve(comparison)
    lines = [
        f"  {'.'.join(path)}: {change_text(before, after)}"
        for path, before, after in differences(old, new)
        if not _allowed(path, before, after)
    ]
    growth = "a comparison can gain arms, cells, roots and seeds; nothing else may change"
    refuse_changes(lines, comparison.source, store.folder, growth=growth, noun="comparison")


def _allowed(path: tuple[str, ...], before: Any, after: Any) -> bool:
    if len(path) == 2 and path[0] in ("arms", "cells"):
        return bool(before == ABSENT)
    if path[0] == "cells" and path[2] == "roots":
        return isinstance(before, int) and isinstance(after, int) and after > before
    if path[0] == "cells" and path[2] in ("seeds", "arms"):
        lists = isinstance(before, (list, tuple)) and isinstance(after, list)
        return lists and set(before) < set(after)
    return False


LINE_SECONDS = 5.0
"""Minimum time between two lines of progress within a cell."""

GRACE = 86_400.0
"""Seconds for the current search after Ctrl-C; a second Ctrl-C abandons it at once."""

_STANDARD_ERROR = 2


class _Signals(StopSignals):
    """Acknowledges a signal at once, since the current search may take a while."""

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked() is None:
            # A signal may interrupt print, which is not reentrant.
            os.write(_STANDARD_ERROR, b"\nending after the current search; again: at once\n")
        super()._handle(number, frame)


def run_searches(
    comparison: Comparison, folder: Path, make_progress: Callable[[str], Progress]
) -> str | None:
    """Begin a comparison in a folder, or extend and continue the existing one.

    Returns:
      Why it was stopped before its end; None if it is complete.

    Raises:
      MiaiError: the folder holds something else or is in use, the config does not continue its
        comparison, or a search failed.
    """
    refuse_foreign(folder, kind=COMPARISON)
    if (folder / FILE_NAME).exists():
        with ComparisonStore.open(folder):
            pass  # refuse other files before a lock is written beside them
    signals = _Signals(GRACE)
    with (
        suppress(Stopped),
        signals,
        locked(folder, kind=COMPARISON),
        _opened(comparison, folder) as store,
    ):
        loop = _SearchLoop(comparison, store, signals.asked)
        if loop.remaining:
            loop.run(make_progress(_title(comparison)))
        signals.finish()
    return signals.asked()


class _SearchLoop:
    """Does the remaining searches: cell by cell, root by root, and at each root every arm.

    Searches are timed, so they run one after the other in this process, without an executor.

    Attributes:
      remaining: number of searches that are not done.
    """

    def __init__(
        self, comparison: Comparison, store: ComparisonStore, asked: Callable[[], str | None]
    ) -> None:
        self._comparison, self._store, self._asked = comparison, store, asked
        self._done = store.searches()
        self._arenas: dict[str, Arena] = {}
        keys = (key for block in comparison.blocks for key in block.searches())
        self.remaining = sum(key not in self._done for key in keys)

    def run(self, progress: Progress) -> None:
        """Search until all is done or a signal asks to stop."""
        blocks = self._comparison.blocks
        total = sum(block.count for block in blocks)
        progress.note(f"{_title(self._comparison)}; kept in {self._store.folder}")
        try:
            progress.begin(done=total - self.remaining, total=total)
            for block in blocks:
                if all(key in self._done for key in block.searches()):
                    continue
                for seed in block.seeds:
                    self._search_roots(block, seed, progress)
                if self._asked():
                    return
                progress.milestone(f"{block.title}: done")
        finally:
            progress.close()

    def _search_roots(self, block: RootBlock, seed: int, progress: Progress) -> None:
        """Do the remaining searches of the roots that a block draws with one seed."""
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
        # All arms search a root before the next one: a machine that becomes slower hits all of them
        # alike.
        for number, root in enumerate(roots):
            judge: Judge | None = None
            place = f"{block.title}: root {number + 1} of {block.roots}"
            for arm in block.arms:  # the judge is the first of them
                key = SearchKey(*block.cell, seed, number, arm)
                if self._asked():
                    return
                measured = self._done.get(key)
                if measured is not None:
                    series[arm].skip(root)
                else:
                    progress.status = f"{place}, {arm}"
                    progress.refresh()
                    measured = series[arm].measure(root, number)
                judge = judge or Judge(arena, arm, block, root, measured)
                if key not in self._done:
                    self._done[key] = judge.judged(measured)
                    self._store.add(key, self._done[key])
                    progress.advance(f"{place}, seed {seed}", every=LINE_SECONDS)

    def _arena(self, block: RootBlock) -> Arena:
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
    """Open the store of a folder and update its config, or create it."""
    if not (folder / FILE_NAME).exists():
        with ComparisonStore.create(folder, _info(comparison)) as store:
            yield store
        return
    with ComparisonStore.open(folder) as store:
        refuse_other(store, comparison)
        info = store.info()
        store.set_info(replace(_info(comparison), created=info.created, machine=info.machine))
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
