"""Searching a root: deeper and deeper, with one window or with many narrow ones."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from typing import Generic, Literal

from miai.belief_search.naming import MakeBounds
from miai.belief_search.problem import BeliefProblem, Public, Root, averages
from miai.belief_search.protocol import BeliefResult
from miai.belief_search.search import BudgetSpentError, Counts, Found, Line, Recursion
from miai.belief_search.universe import Mask, Universe
from miai.errors import UnsuitableGameError

Window = Literal["alpha-beta", "null"]


class BeliefSearch(Generic[Public]):
    """Values beliefs of one problem; what it learns of one root serves the next.

    Args:
      make_bounds: makes the bounds of this search; see `miai.belief_search.named_bounds`.
      window: ``alpha-beta`` searches with a full window, ``null`` asks again and again whether the
        value is at least so much, from above (MTD, Plaat et al. 1996).
      adaptive: whether the best action of an earlier search is tried first.

    Raises:
      UnsuitableGameError: the bounds bound beliefs by others, and the problem averages.

    Attributes:
      universe: the states met so far and their numbers.
      bounds: what was learnt.
    """

    prepares = False

    def __init__(
        self,
        problem: BeliefProblem[Public],
        make_bounds: MakeBounds,
        *,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        self.problem, self.window = problem, window
        self.universe = Universe(problem)
        self.bounds = make_bounds(self.universe)
        if averages(problem) and self.bounds.infers:
            raise UnsuitableGameError(
                "means over states do not fall as states are added, so that no belief bounds "
                "another; search it with the bounds 'table' or 'none'"
            )
        self._recursion = Recursion(self.universe, self.bounds, adaptive=adaptive)

    def prepare(self, root: Root[Public], depth: int) -> None:
        """Do nothing: states are asked for as they are met."""

    def search(
        self,
        root: Root[Public],
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a belief at a depth, and the best action.

        Args:
          depth: what it may cost, as `BeliefProblem.cost` counts; at least 1.
          deepening: whether depth 1, 2, ... are searched before; always with a budget.
          max_nodes, seconds: the budget; what the last complete depth said is returned when it
            ends.

        Raises:
          ValueError: the depth is less than 1, or the root has states that its public part does
            not allow.
          UnsuitableGameError: it is too deep for a search in Python.
        """
        if depth < 1:
            raise ValueError(f"a search goes at least one deep, not {depth}")
        self._check(root)
        recursion = self._recursion
        recursion.counts = Counts()
        recursion.max_nodes = max_nodes
        recursion.deadline = None if seconds is None else time.monotonic() + seconds
        belief = recursion.universe.mask(root.hidden)
        step_by_step = deepening or max_nodes is not None or seconds is not None
        found, done, won = Found(self.problem.least), 0, False
        try:
            for current in range(1 if step_by_step else depth, depth + 1):
                found = self._at_depth(root.public, belief, current, found.value)
                done = current
                won = self.problem.reachability and found.value >= self.problem.greatest
                if won:
                    break  # the shortest way to win: it leads on, a longer one need not
        except BudgetSpentError:
            pass  # the last complete depth counts
        except RecursionError as error:
            raise UnsuitableGameError(
                f"a search of depth {depth} calls itself more often than Python allows; search "
                "less deep, or with 'compiled'"
            ) from error
        return BeliefResult(
            value=found.value,
            action=found.line[0][0] if found.line else -1,
            depth=done,
            line=found.line,
            complete=done == depth or won,
            statistics={
                "nodes": recursion.counts.nodes,
                "leaves": recursion.counts.leaves,
                "singles": recursion.counts.singles,
                **{f"bounds_{key}": count for key, count in self.bounds.statistics().items()},
            },
        )

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return what an action guarantees at a root, the best being played after it.

        Args:
          depth: as of `search`, the action's cost included.
        """
        problem, universe, recursion = self.problem, self.universe, self._recursion
        recursion.max_nodes = recursion.deadline = None
        worst, parts = problem.greatest, dict[Hashable, Mask]()
        for hidden in root.hidden:
            number = universe.mask((hidden,)).bit_length() - 1
            outcomes = universe.outcomes(root.public, number, action)
            worst = min(worst, outcomes.worst)
            for told, after in outcomes.after:
                parts[told] = parts.get(told, 0) | after
        left = max(0, depth - problem.cost(root.public, action))
        for told, part in parts.items():
            after_public = problem.after(root.public, action, told)
            worst = min(
                worst,
                recursion.value(after_public, part, left, problem.least, problem.greatest).value,
            )
        return worst

    def _check(self, root: Root[Public]) -> None:
        allowed = self.universe.all_of(root.public)
        if allowed is not None and self.universe.mask(root.hidden) & ~allowed:
            raise ValueError(f"the root holds states that {root.public!r:.200} does not allow")

    def _at_depth(self, public: Public, belief: Mask, depth: int, guess: float) -> Found:
        least, greatest = self.problem.least, self.problem.greatest
        search = self._recursion.root
        if self.window == "alpha-beta":
            # What is worth as little or as much as anything can be is exact beyond the window.
            return search(public, belief, depth, least, greatest)
        line: Line = ()
        beta = guess if guess > least else greatest
        while least < greatest:
            found = search(public, belief, depth, math.nextafter(beta, -math.inf), beta)
            if found.value >= beta:
                least, line = beta, found.line or line
            else:
                greatest, line = found.value, line or found.line
            # From above: what a belief is worth at most was found somewhere; that it is worth at
            # least so much may have been found for no more than was asked.
            beta = greatest
        return Found(least, line=line)


def search_belief(
    problem: BeliefProblem[Public],
    root: Root[Public],
    depth: int,
    make_bounds: MakeBounds,
    *,
    window: Window = "alpha-beta",
) -> BeliefResult:
    """Search one root with bounds that know nothing yet; see `BeliefSearch`."""
    return BeliefSearch(problem, make_bounds, window=window).search(root, depth)
