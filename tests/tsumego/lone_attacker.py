"""Unconditional life by its meaning: the attacker plays alone and still cannot take the target.

No regions and nothing of Benson's algorithm: every order of the attacker's moves is tried, the
owner always passing.
"""

from __future__ import annotations

from tests.tsumego.brute_force import ATTACKER, Fight

Stones = tuple[frozenset[int], frozenset[int]]


class LoneAttacker:
    """Says whether a target lives unconditionally; remembers what it found for a fight."""

    def __init__(self, fight: Fight) -> None:
        self._fight = fight
        self._takes: dict[Stones, bool] = {}

    def cannot_take(self, attackers: frozenset[int], defenders: frozenset[int]) -> bool:
        return not self._can_take((attackers, defenders))

    def _can_take(self, stones: Stones) -> bool:
        if self._fight.target not in stones[1]:
            return True
        if stones not in self._takes:
            # Attacker's stones only become more, the defender's only fewer: there are no loops.
            following = self._fight.moves((*stones, ATTACKER, -1))
            after = {(state[0], state[1]) for state in following} - {stones}
            self._takes[stones] = any(self._can_take(each) for each in after)
        return self._takes[stones]
