"""Random belief problems, small enough to value by the definition."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Any

from miai.beliefs import Reply, goes_on, over
from miai.beliefs.problem import BeliefProblem

STATES, ACTIONS, OBSERVATIONS = 6, 3, 3


class RandomProblem:
    """States with random replies; a public part is a step of the game and its phase.

    Every second action is a sense: it costs nothing and leads to the other phase; the others cost
    1 or 2.
    """

    def __init__(self, seed: int, *, reachability: bool = False) -> None:
        self.seed = seed
        self.reachability = reachability
        self.least, self.greatest = (0.0, 1.0) if reachability else (-5.0, 5.0)

    def _rng(self, *what: object) -> random.Random:
        return random.Random(f"{self.seed} {what}")

    def actions(self, public: tuple[int, int]) -> Sequence[int]:
        return range(self._rng(public, "actions").randrange(1, ACTIONS + 1))

    def cost(self, public: tuple[int, int], action: int) -> int:
        # Of two actions that lead to one public part one may cost more than the other.
        return public[1] * self._rng(public, action, "cost").choice([1, 1, 2])

    def replies(self, public: tuple[int, int], hidden: int, action: int) -> Sequence[Reply]:
        rng = self._rng(public, hidden, action)
        if public[1] == 0:  # a sense splits, and changes nothing
            return [goes_on(rng.randrange(OBSERVATIONS), hidden)]
        found = []
        for _ in range(rng.randrange(0 if rng.random() < 0.1 else 1, 4)):
            if rng.random() < 0.25:
                found.append(over(self._value(rng)))
            else:
                found.append(goes_on(rng.randrange(OBSERVATIONS), rng.randrange(STATES)))
        return found

    def after(self, public: tuple[int, int], action: int, observation: Hashable) -> tuple[int, int]:
        step, phase = public
        # Few public parts, so that beliefs meet again under the same one.
        return (step, 1) if phase == 0 else ((step + action) % 2, 0)

    def evaluate(self, public: tuple[int, int], hidden: int) -> float:
        return self.least if self.reachability else self._value(self._rng(public, hidden, "leaf"))

    def universe(self, public: tuple[int, int]) -> Sequence[int]:
        return range(STATES)

    def _value(self, rng: random.Random) -> float:
        if self.reachability:
            return rng.choice([0.0, 1.0, 1.0])
        return float(rng.randrange(-5, 6))


def value_by_definition(
    problem: BeliefProblem[Any], public: Any, belief: frozenset[int], depth: int
) -> float:
    """Return V_depth of a belief as the definition says it, nothing remembered."""
    if depth <= 0:
        return min(problem.evaluate(public, hidden) for hidden in belief)
    best = -float("inf")
    for action in problem.actions(public):
        worst, parts = problem.greatest, dict[Hashable, set[int]]()
        for reply in (r for hidden in belief for r in problem.replies(public, hidden, action)):
            if reply.ends:
                worst = min(worst, reply.value)
            else:
                parts.setdefault(reply.observation, set()).add(reply.hidden)
        left = depth - problem.cost(public, action)
        for output, part in parts.items():
            if worst <= best:
                break
            after = problem.after(public, action, output)
            worst = min(worst, value_by_definition(problem, after, frozenset(part), left))
        best = max(best, worst)
    return best
