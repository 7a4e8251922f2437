"""What is certainly won: a small plain proof search over the beliefs of a problem.

It serves to draw roots and needs no other search, so that roots are the same whatever else is
measured on them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic

from miai.belief_search.problem import BeliefProblem, Public

Belief = tuple[int, ...]
"""Hidden parts in increasing order, none twice."""

MAX_KNOWN = 1_000_000
"""Most beliefs that a prover remembers; then it forgets all of them."""


class Prover(Generic[Public]):
    """Says whether V_d of a belief is the greatest value of the problem: a win within d.

    What was proved is remembered by belief and depth. A belief of which one state alone is not won
    is not tried at all (B4 of docs/belief-search.md).

    Attributes:
      problem: the problem.
    """

    def __init__(self, problem: BeliefProblem[Public]) -> None:
        self.problem = problem
        self._known: dict[tuple[Public, int, Belief], bool] = {}

    def wins(self, public: Public, hidden: Sequence[int], depth: int) -> bool:
        """Return whether V_depth(hidden) under `public` is the greatest value; order is free."""
        return self._wins(public, tuple(sorted(set(hidden))), depth)

    def _wins(self, public: Public, belief: Belief, depth: int) -> bool:
        if depth <= 0:
            least = min(self.problem.evaluate(public, state) for state in belief)
            return least >= self.problem.greatest
        key = (public, depth, belief)
        known = self._known.get(key)
        if known is None:
            known = self._prove(public, belief, depth)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known

    def _prove(self, public: Public, belief: Belief, depth: int) -> bool:
        if len(belief) > 1 and not all(self._wins(public, (s,), depth) for s in belief):
            return False
        actions = self.problem.actions(public)
        return any(self._action_wins(public, belief, action, depth) for action in actions)

    def _action_wins(self, public: Public, belief: Belief, action: int, depth: int) -> bool:
        parts: dict[Hashable, set[int]] = {}
        for state in belief:
            for reply in self.problem.replies(public, state, action):
                if not reply.ends:
                    parts.setdefault(reply.observation, set()).add(reply.hidden)
                elif reply.value < self.problem.greatest:
                    return False
        left = depth - self.problem.cost(public, action)
        if left <= 0 and self.problem.reachability and parts:
            return False  # what is not won by now is not proved
        return all(
            self._wins(self.problem.after(public, action, told), tuple(sorted(part)), left)
            for told, part in sorted(parts.items(), key=lambda item: len(item[1]))
        )
