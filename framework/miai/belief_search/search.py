"""Alpha-beta over beliefs, with bounds on beliefs that were never searched.

At a node the player chooses an action; for each observation that it can lead to there is a child,
and the worst of them counts. What was found is handed to the bounds, as it is or *explained*: of a
node that failed low the *core*, few states that fail by themselves; of one that failed high the
*closure*, all states for which the same strategy does as well. For bounds that ask for it each
state is tried alone before its belief is searched, since the worst of them is an upper bound (B4).
Where results are explained, an action is refuted without a search by what refuted another, and
where nothing more can be proved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple

from miai.belief_search.bounds.protocol import Bounds
from miai.belief_search.explaining import Refutation, closure_of, going_on, sources
from miai.belief_search.problem import Public, averages
from miai.belief_search.universe import Mask, Universe, numbers

INFINITE = float("inf")


Line = tuple[tuple[int, Hashable], ...]
"""Actions, each with what is then told."""


class BudgetSpentError(Exception):
    """The nodes or the time allowed are used up; the search unwinds."""


class Found(NamedTuple):
    """What a node returned.

    Attributes:
      value: exact within the window, else a bound: at most alpha an upper, at least beta a lower.
      core: states of the belief that are worth at most `value` by themselves; where it failed low.
      closure: states among which the same strategy gets at least beta; where it failed high.
      line: what is expected: the best action and the observation that is worst for it, and so on,
        as far as beliefs were searched and not known.
    """

    value: float
    core: Mask = 0
    closure: Mask = 0
    line: Line = ()


@dataclass(slots=True)
class Counts:
    """What a search did.

    Attributes:
      nodes: beliefs looked at with a depth and a window: probes that settle one, states tried
        alone and searches of one belief again included.
      leaves: states evaluated where the depth ended.
      singles: of the nodes, states tried alone.
    """

    nodes: int = 0
    leaves: int = 0
    singles: int = 0


class Recursion(Generic[Public]):
    """Values beliefs at a depth within a window.

    Attributes:
      universe: numbers the states of the problem.
      bounds: what is known, and what is found is told to.
      counts: what was done since it was made.
      max_nodes, deadline: where it stops with `BudgetSpentError`; the latter on the monotonic
        clock.
      adaptive: whether the action that was best last under a public part is tried first; else the
        problem's order is kept.
    """

    def __init__(
        self, universe: Universe[Public], bounds: Bounds, *, adaptive: bool = False
    ) -> None:
        self.universe = universe
        self.bounds = bounds
        self.counts = Counts()
        self.max_nodes: int | None = None
        self.deadline: float | None = None
        self.adaptive = adaptive
        self._problem = universe.problem
        self._passed: dict[tuple[Hashable, int], tuple[float, Mask]] = {}
        self._best: dict[Hashable, int] = {}  # the action that was best last, by public part

    def value(self, public: Public, belief: Mask, depth: int, alpha: float, beta: float) -> Found:
        """Return the value of a belief that is not empty, to the player who searches."""
        self._count()
        known = self.bounds.probe(public, depth, belief)
        if known.lower >= beta or known.lower >= known.upper:
            return Found(known.lower, core=known.core, closure=known.closure)
        if known.upper <= alpha:
            return Found(known.upper, core=known.core)
        low, high = max(alpha, known.lower), min(beta, known.upper)
        if depth == 0:
            return self._leaf(public, belief)
        if self.bounds.singles and belief & (belief - 1):
            refuted = self._refuting_state(public, belief, depth, low, high)
            if refuted is not None:
                return refuted
        found = self._best_action(public, belief, depth, low, high)
        self._record(public, depth, belief, found, low, high)
        return found

    def root(self, public: Public, belief: Mask, depth: int, alpha: float, beta: float) -> Found:
        """As `value`, of a depth of at least 1, and always with an action.

        What is known of the belief itself would settle its value and name none.
        """
        self._count()
        found = self._best_action(public, belief, depth, alpha, beta)
        self._record(public, depth, belief, found, alpha, beta)
        return found

    # -- a node ---------------------------------------------------------------------------------

    def _best_action(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> Found:
        best, line, core, closure = -INFINITE, Line(), 0, 0
        low = alpha
        refuted: list[Refutation] = []
        for action in self._ordered(public):
            found = self._action(public, belief, action, depth, low, beta, core, refuted)
            core |= found.core
            if found.value > best:
                best, line, closure = found.value, found.line, found.closure
            low = max(low, best)
            if best >= beta:
                break
        if line:
            self._best[public] = line[0][0]
        return Found(best, core if best <= alpha else 0, closure if best >= beta else 0, line)

    def _action(
        self,
        public: Public,
        belief: Mask,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        core: Mask,
        refuted: list[Refutation],
    ) -> Found:
        """Return the worst that an action can lead to; its core and closure are of this belief."""
        worst, culprit, parts = self._split(public, belief, action)
        line: Line = ((action, None),)
        if worst <= alpha:
            return Found(worst, core=culprit, line=line)
        problem, explains = self._problem, self.bounds.explains
        cost = problem.cost(public, action)
        left = max(0, depth - cost)
        if explains and parts and cost and not left and problem.reachability:
            # Nothing is proved where the depth ends: one state that goes on is enough.
            goes_on = going_on(self.universe, public, belief, action, core)
            return Found(problem.least, core=goes_on if problem.least <= alpha else 0, line=line)
        # The largest part first: it is likeliest to be the worst.
        after = [
            (problem.after(public, action, observation), observation, part)
            for observation, part in sorted(parts.items(), key=lambda item: -item[1].bit_count())
        ]
        for later, observation, part in after if explains else ():
            for known in refuted:
                if known.holds(later, left, part, alpha):
                    found = Found(known.value, core=known.core)
                    return self._failed(public, belief, action, observation, found, core)
        solved: dict[Hashable, Mask] = {}
        for later, observation, part in after:
            found = self.value(later, part, left, alpha, min(beta, worst))
            if found.value < worst:
                worst, line = found.value, ((action, observation), *found.line)
            if worst <= alpha:
                refuted.append(Refutation(later, left, found.core or part, worst))
                return self._failed(public, belief, action, observation, found, core)
            solved[observation] = found.closure
        closure = belief if worst >= beta else 0
        if closure and explains:
            closure = closure_of(self.universe, public, belief, action, solved, beta)
        return Found(worst, closure=closure, line=line)

    def _failed(
        self,
        public: Public,
        belief: Mask,
        action: int,
        observation: Hashable,
        found: Found,
        core: Mask,
    ) -> Found:
        """Return what refutes an action, as states of the belief before it."""
        blame = belief
        if self.bounds.explains:
            blame = sources(self.universe, public, belief, action, observation, found.core, core)
        return Found(found.value, core=blame, line=((action, observation), *found.line))

    def _split(
        self, public: Public, belief: Mask, action: int
    ) -> tuple[float, Mask, dict[Hashable, Mask]]:
        """Return the worst end of the game, a state that leads to it, and what is told else."""
        worst, culprit = INFINITE, 0
        parts: dict[Hashable, Mask] = {}
        for number in numbers(belief):
            outcomes = self.universe.outcomes(public, number, action)
            if outcomes.worst < worst:
                worst, culprit = outcomes.worst, 1 << number
            for observation, after in outcomes.after:
                parts[observation] = parts.get(observation, 0) | after
        return min(worst, self._problem.greatest), culprit, parts

    def _leaf(self, public: Public, belief: Mask) -> Found:
        if averages(self._problem):
            self.counts.leaves += belief.bit_count()
            values = [self.universe.value(public, number) for number in numbers(belief)]
            return Found(math.fsum(values) / len(values), core=belief, closure=belief)
        worst, culprit = INFINITE, 0
        for number in numbers(belief):
            self.counts.leaves += 1
            value = self.universe.value(public, number)
            if value < worst:
                worst, culprit = value, 1 << number
        closure = 0
        if self.bounds.explains and (every := self.universe.all_of(public)) is not None:
            for number in numbers(every):
                if self.universe.value(public, number) >= worst:
                    closure |= 1 << number
        return Found(worst, core=culprit, closure=closure | belief)

    # -- what was found ---------------------------------------------------------------------------

    def _record(
        self,
        public: Public,
        depth: int,
        belief: Mask,
        found: Found,
        alpha: float,
        beta: float,
    ) -> None:
        explains = self.bounds.explains
        if found.value > alpha:
            self.bounds.record_lower(public, depth, belief, found.value)
        if explains and found.value >= beta and found.closure & ~belief:
            self.bounds.record_lower(public, depth, found.closure, beta)
        if found.value < beta:
            core = found.core if explains and found.value <= alpha else belief
            self.bounds.record_upper(public, depth, core or belief, found.value)

    # -- states alone ---------------------------------------------------------------------------

    def _refuting_state(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> Found | None:
        """Return the value of a state that alone is worth at most alpha; None without one."""
        threshold, passed = self._passed.get((public, depth), (alpha, 0))
        if alpha > threshold:
            passed = 0
        for number in numbers(belief & ~passed):
            self.counts.singles += 1
            found = self.value(public, 1 << number, depth, alpha, beta)
            if found.value <= alpha:
                self._passed[public, depth] = (alpha, passed)
                return Found(found.value, core=1 << number)
            passed |= 1 << number
        if alpha >= threshold:
            self._passed[public, depth] = (alpha, passed)
        return None

    # -- order and budget -----------------------------------------------------------------------

    def _ordered(self, public: Public) -> list[int]:
        actions = list(self._problem.actions(public))
        best = self._best.get(public)
        if self.adaptive and best is not None and best in actions:
            actions.remove(best)
            actions.insert(0, best)
        return actions

    def _count(self) -> None:
        self.counts.nodes += 1
        if self.max_nodes is not None and self.counts.nodes > self.max_nodes:
            raise BudgetSpentError
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise BudgetSpentError
