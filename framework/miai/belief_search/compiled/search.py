"""`CompiledSearch`: searches a problem's tables with a kernel."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic

import numpy as np

from miai.belief_search.compiled.memory import (
    MOST_DEPTH,
    USUAL_LIMIT,
    Rule,
    entry_bytes,
    fitted,
    make_memory,
    make_work,
)
from miai.belief_search.compiled.tables import tables_of
from miai.belief_search.driver import Window
from miai.belief_search.kernels.engine import search as run
from miai.belief_search.kernels.layout import (
    ACTION,
    BUDGET_SPENT,
    COUNTS,
    ENTRIES,
    HITS,
    LEAVES,
    LOST,
    MAX_NODES,
    NODES,
    PROBES,
    SINGLES,
    STOPPED,
    TESTS,
    Memory,
    Work,
)
from miai.belief_search.problem import BeliefProblem, Public, Root
from miai.belief_search.protocol import BeliefResult
from miai.errors import UnsuitableGameError

_ALL = np.iinfo(np.int64).max


class CompiledSearch(Generic[Public]):
    """Values beliefs of one problem; the values are those of `BeliefSearch`.

    Args:
      rule: how beliefs are remembered.
      limit: bytes that entries may take; what came first is kept.
      window, adaptive: as of `BeliefSearch`.

    Attributes:
      tables: the problem, enumerated as far as it was searched.
      memory: what was learnt; None before the first search.

    Raises:
      UnsuitableGameError: see `tables_of`.
    """

    prepares = True

    def __init__(
        self,
        problem: BeliefProblem[Public],
        rule: Rule,
        *,
        limit: int | None = None,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        self.problem, self.window, self._rule = problem, window, rule
        self.tables = tables_of(problem)
        self._limit, self._adaptive = limit or USUAL_LIMIT, adaptive
        self.memory: Memory | None = None
        self._counts = np.zeros(COUNTS, np.int64)
        self._favourites = np.zeros(0, np.int64)

    def prepare(self, root: Root[Public], depth: int) -> None:
        """Enumerate what a root can lead to.

        Raises:
          UnsuitableGameError: see `Tables.reach`.
        """
        self.tables.reach(root, depth)

    def search(
        self,
        root: Root[Public],
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a belief at a depth, and the best action; see `BeliefSearch.search`.

        The line holds the action alone.

        Raises:
          ValueError: the depth is less than 1, or more than 255.
          ParameterError: the limit in bytes has no room for entries.
          UnsuitableGameError: see `Tables.reach`; or a turn has too many actions of cost 0.
        """
        if not 1 <= depth <= MOST_DEPTH:
            raise ValueError(f"a search goes 1 to {MOST_DEPTH} deep, not {depth}")
        game, memory, work, public = self._prepare(root, depth)
        counts = self._counts
        counts[[NODES, LEAVES, SINGLES, STOPPED]] = 0
        counts[MAX_NODES] = _ALL if max_nodes is None else max_nodes
        step_by_step = deepening or max_nodes is not None or seconds is not None
        value, action, done, won = self.problem.least, -1, 0, False
        with self._stopped_after(seconds):
            for current in range(1 if step_by_step else depth, depth + 1):
                found = self._at_depth((game, memory, work, counts, public), current, value)
                if counts[STOPPED]:
                    break
                value, action, done = *found, current
                won = self.problem.reachability and value >= self.problem.greatest
                if won:
                    break
        self._favourites = work.favourites
        if counts[STOPPED] not in (0, BUDGET_SPENT):
            raise UnsuitableGameError(
                f"the turns of {type(self.problem).__name__} have more actions of cost 0 in a row "
                "than the compiled search has room for; search it with 'recursive'"
            )
        line = () if action < 0 else ((self.tables.action(action), None),)
        return BeliefResult(
            value=float(value),
            action=line[0][0] if line else -1,
            depth=done,
            line=line,
            complete=done == depth or won,
            statistics=self._statistics(),
        )

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return what an action guarantees at a root; see `BeliefSearch.guarantees`."""
        problem, worst = self.problem, self.problem.greatest
        parts: dict[Any, set[int]] = {}
        for hidden in root.hidden:
            for reply in problem.replies(root.public, hidden, action):
                if reply.ends:
                    worst = min(worst, reply.value)
                else:
                    parts.setdefault(reply.observation, set()).add(reply.hidden)
        left = depth - problem.cost(root.public, action)
        for told, part in parts.items():
            after, hidden_parts = problem.after(root.public, action, told), tuple(sorted(part))
            if left < 1:
                value = min(problem.evaluate(after, hidden) for hidden in hidden_parts)
            else:
                value = self.search(Root(after, hidden_parts), left).value
            worst = min(worst, value)
        return worst

    # -- one depth --------------------------------------------------------------------------------

    def _prepare(self, root: Root[Public], depth: int) -> tuple[Any, Memory, Work, int]:
        tables = self.tables
        public = tables.reach(root, depth)
        belief = tables.mask(root.public, root.hidden)
        memory = self.memory
        if memory is None:
            memory = make_memory(self._rule, tables, limit=self._limit, adaptive=self._adaptive)
        self.memory = memory = fitted(memory, tables, depth)
        work = make_work(tables, depth, self._rule.k)
        work.beliefs[0] = belief
        work.favourites[: len(self._favourites)] = self._favourites
        return tables.game(), memory, work, public

    def _at_depth(
        self, given: tuple[Any, Memory, Work, Any, int], depth: int, guess: float
    ) -> tuple[float, int]:
        """Return the value and the table's number of the best action."""
        least, greatest = self.problem.least, self.problem.greatest
        counts = given[3]
        if self.window == "alpha-beta":
            return run(*given, depth, least, greatest, 0), int(counts[ACTION])
        action, beta = -1, guess if guess > least else greatest
        while least < greatest:
            found = run(*given, depth, math.nextafter(beta, -math.inf), beta, 0)
            if counts[STOPPED]:
                break
            if found >= beta:
                least, action = beta, int(counts[ACTION])
            else:
                greatest = found
                action = int(counts[ACTION]) if action < 0 else action
            beta = greatest
        return least, action

    @contextmanager
    def _stopped_after(self, seconds: float | None) -> Iterator[None]:
        """Have a search stop after some time: its next node finds that no more are allowed."""
        if seconds is None:
            yield
            return

        def stop() -> None:
            self._counts[MAX_NODES] = 0

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _statistics(self) -> Mapping[str, int]:
        counts = self._counts
        found = {"nodes": NODES, "leaves": LEAVES, "singles": SINGLES}
        bounds = {"probes": PROBES, "hits": HITS, "tests": TESTS, "entries": ENTRIES, "lost": LOST}
        size = entry_bytes(self._rule, self.tables.words)
        return {
            **{name: int(counts[place]) for name, place in found.items()},
            **{f"bounds_{name}": int(counts[place]) for name, place in bounds.items()},
            "bounds_bytes": int(counts[ENTRIES]) * size,
        }
