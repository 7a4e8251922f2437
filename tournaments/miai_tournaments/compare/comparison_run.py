"""A run of a comparison: begin, extend or resume it, and search until it ends.

A config may continue a comparison that was begun with another if it only adds arms, cells, seeds
or roots. Every arm has its own problems and searchers, and results are judged.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import miai
from miai.beliefs import BeliefResult
from miai.beliefs.protocol import BeliefSearcher, RootedProblem, SizedRoot
from miai.errors import ConfigError, StoreError
from miai.pages.document import counted
from miai.plain import one_line
from miai.progress import Progress
from miai_tournaments.compare.config import Comparison, make_problem, make_searcher
from miai_tournaments.compare.results import (
    FILE_NAME,
    ComparisonInfo,
    ComparisonStore,
    Measurement,
    SearchKey,
)
from miai_tournaments.compare.schema import Arm, RootBlock
from miai_tournaments.config.extension import ABSENT, change_text, differences, refuse_changes
from miai_tournaments.running.signals import Stopped, StopSignals
from miai_tournaments.store.folder import COMPARISON, locked, refuse_foreign

WARM_UP_NODES = 20_000
"""Maximum number of nodes of an untimed search that compiles kernels."""

_LARGEST = 1e300


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


# -- timed searches -------------------------------------------------------------------------------


class Arena:
    """A problem for each arm, so that none uses what another has computed.

    Arms whose search accounts for enumerating the problem, as the compiled one does, share one: for
    large games the enumeration takes most of the time and memory.

    Args:
      block: a block of the problem.
      arms: arms by name.
      source: the config file, for messages.
    """

    def __init__(self, block: RootBlock, arms: Mapping[str, Arm], source: str) -> None:
        self._name, self._given = block.problem, block.given
        self._arms, self._source = arms, source
        self._problems: dict[str, RootedProblem] = {}
        self._shared: dict[str, RootedProblem] = {}
        self._warmed: set[str] = set()

    def roots(self, block: RootBlock, seed: int) -> Sequence[SizedRoot]:
        """Return the roots of a block.

        Raises:
          ConfigError: there are not enough roots.
        """
        with self.blamed(f"{block.title} of seed {seed}"):
            problem = make_problem(self._name, self._given)
            roots = problem.roots(block.kind, block.roots, depth=block.depth, seed=seed)
            if len(roots) < block.roots:
                raise ValueError(f"{len(roots)} roots were drawn, {block.roots} are asked for")
        return roots

    def searcher(self, arm: str, *, purpose: str = "search") -> BeliefSearcher:
        """Return a fresh searcher of an arm.

        Args:
          purpose: problems are shared by the searchers of one arm and purpose.
        """
        key, search = f"{purpose} {arm}", self._arms[arm].search
        with self.blamed(f"arm '{arm}'"):
            problem = self._shared.get(search) or self._problems.get(key)
            if problem is None:
                problem = make_problem(self._name, self._given)
            searcher = make_searcher(self._arms[arm], problem)
            if searcher.shares:
                self._shared[search] = problem
            else:
                self._problems[key] = problem
            return searcher

    def warm_up(self, arm: str, block: RootBlock, root: SizedRoot) -> None:
        """Search a root once, so that kernels are compiled before the clock runs.

        The problem is another one, so that what it enumerates is still to be measured.
        """
        if arm not in self._warmed:
            self._warmed.add(arm)
            limit = min(WARM_UP_NODES, block.max_nodes or WARM_UP_NODES)
            with self.blamed(f"arm '{arm}': {block.title}"):
                problem = make_problem(self._name, self._given)
                searcher = make_searcher(self._arms[arm], problem)
                searcher.search(root, block.depth, max_nodes=limit)

    @contextmanager
    def blamed(self, place: str) -> Iterator[None]:
        """Name the place in errors."""
        try:
            yield
        except Exception as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise ConfigError(f"{self._source}: {place}: {kind}{one_line(str(error))}") from error


class ArmMeasurement:
    """The searches of one arm, root by root.

    Warm searchers keep their knowledge, so roots that were measured before an interruption are
    searched again, untimed, before the next one.
    """

    def __init__(self, arena: Arena, arm: str, block: RootBlock, *, repeats: int, deepening: bool):
        self._arena, self._arm, self._block = arena, arm, block
        self._repeats, self._deepening = repeats, deepening
        self._skipped: list[SizedRoot] = []
        self._searchers: list[BeliefSearcher] = []

    def skip(self, root: SizedRoot) -> None:
        """Note a root that was already measured."""
        if self._block.warm:
            self._skipped.append(root)

    def measure(self, root: SizedRoot, number: int) -> Measurement:
        """Search a root and return the measurement; `number` names the root in messages.

        Raises:
          ConfigError: the search failed, or a repetition gave another result.
        """
        times, setups = [], []
        results: list[BeliefResult] = []
        for repeat in range(self._repeats):
            began = time.perf_counter()
            searcher = self._searcher(repeat)
            setups.append(time.perf_counter() - began)
            # A warm searcher's speed depends on what it searched before, so a resumed comparison
            # repeats that, untimed.
            for skipped in self._skipped:
                self._search(searcher, skipped)
            seconds, result = self._search(searcher, root)
            results.append(result)
            del searcher  # so that only one exists at a time
            if result.enumeration_seconds and not self._block.warm:
                # what the search enumerated is there now, as it is for arms that come later
                seconds, again = self._search(self._arena.searcher(self._arm), root)
                results.append(again)
            times.append(seconds)
        self._skipped.clear()
        with self._arena.blamed(f"arm '{self._arm}': {self._block.title}, root {number}"):
            self._refuse_changes(results)
            return _measurement(
                results[0],
                size=root.size,
                seconds=median(times),
                setup=median(setups) + max(r.enumeration_seconds for r in results),
            )

    def _searcher(self, repeat: int) -> BeliefSearcher:
        if not self._block.warm:
            return self._arena.searcher(self._arm)
        if repeat == len(self._searchers):
            self._searchers.append(self._arena.searcher(self._arm))
        return self._searchers[repeat]

    def _search(self, searcher: BeliefSearcher, root: SizedRoot) -> tuple[float, BeliefResult]:
        """Return the seconds of a search without enumeration, and its result."""
        block = self._block
        with self._arena.blamed(f"arm '{self._arm}': {block.title}"):
            began = time.perf_counter()
            result = searcher.search(
                root, block.depth, deepening=self._deepening, max_nodes=block.max_nodes
            )
            return time.perf_counter() - began - result.enumeration_seconds, result

    def _refuse_changes(self, results: Sequence[BeliefResult]) -> None:
        # A search that is not deterministic would make the median of its times a median of
        # different searches.
        seen = {(r.value, r.action, r.complete, r.statistics.get("nodes")) for r in results}
        if len(seen) > 1:
            raise ValueError(
                f"searched the same root {len(results)} times with different values, actions or "
                "nodes; only deterministic searches can be compared"
            )


class Judge:
    """Judges the searches of one root by an arm that makes no errors.

    Args:
      arm: the arm whose values count as true.
      truth: its measurement at the root; None or incomplete: the true value is unknown.
    """

    def __init__(
        self, arena: Arena, arm: str, block: RootBlock, root: SizedRoot, truth: Measurement | None
    ) -> None:
        self._arena, self._arm, self._block, self._root = arena, arm, block, root
        self._value = truth.value if truth is not None and truth.complete else None
        self._guaranteed: dict[int, float] = {}
        if truth is not None and truth.complete:
            self._guaranteed[truth.action] = truth.value
        self._searcher: BeliefSearcher | None = None

    def judged(self, measured: Measurement) -> Measurement:
        """Return a measurement with the true value and the value that its action guarantees."""
        if self._value is None or not measured.complete:
            return replace(measured, truth=self._value)
        guaranteed = self._guarantees(measured.action)
        return replace(measured, truth=self._value, guaranteed=guaranteed)

    def _guarantees(self, action: int) -> float:
        if action not in self._guaranteed:
            if self._searcher is None:
                self._searcher = self._arena.searcher(self._arm, purpose="judge")
            with self._arena.blamed(f"arm '{self._arm}', as truth: {self._block.title}"):
                value = self._searcher.guarantees(self._root, action, self._block.depth)
            self._guaranteed[action] = float(value)
        return self._guaranteed[action]


def _measurement(result: BeliefResult, *, size: int, seconds: float, setup: float) -> Measurement:
    counts = Counter({str(key): int(value) for key, value in result.statistics.items()})
    value = float(result.value)
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ValueError(f"the search returned the value {value}; a finite number is needed")
    return Measurement(
        size=size,
        value=value,
        action=int(result.action),
        complete=bool(result.complete),
        nodes=counts["nodes"],
        leaves=counts["leaves"],
        seconds=seconds,
        setup=setup,
        entries=counts["bounds_entries"],
        bytes=counts["bounds_bytes"],
        statistics=dict(counts),
    )
