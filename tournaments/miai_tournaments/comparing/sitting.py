"""One sitting of a comparison: begin, extend or resume it, and search until it ends."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from miai_tournaments.comparing.blocks import Block
from miai_tournaments.comparing.continuing import refuse_other, resolve, versions
from miai_tournaments.comparing.load import Comparison
from miai_tournaments.comparing.measuring import Arena, Judge, Series
from miai_tournaments.comparing.progress import Reporter
from miai_tournaments.report.cells import counted
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.store.comparisons import (
    FILE_NAME,
    ComparisonInfo,
    ComparisonStore,
    SearchKey,
)
from miai_tournaments.store.folder import locked, refuse_foreign
from miai_tournaments.store.kinds import COMPARISON

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
    comparison: Comparison, folder: Path, make_reporter: Callable[[str], Reporter]
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

    def search(self, reporter: Reporter) -> None:
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

    def _search_roots(self, block: Block, seed: int, reporter: Reporter) -> None:
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
            arm: Series(arena, arm, block, repeats=section.repeats, deepening=section.deepening)
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
