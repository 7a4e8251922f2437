"""Timed searches of roots: every arm has its own problems and searchers, and results are judged."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import median

from miai.beliefs import BeliefResult
from miai.beliefs.protocol import BeliefSearcher, RootedProblem, SizedRoot
from miai.errors import ConfigError
from miai.plain import one_line
from miai_tournaments.compare.config import make_problem, make_searcher
from miai_tournaments.compare.results import Measurement
from miai_tournaments.compare.schema import Arm, RootBlock

WARM_UP_NODES = 20_000
"""Maximum number of nodes of an untimed search that compiles kernels."""

_LARGEST = 1e300


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
