"""The order in which alpha-beta tries actions: the better the order, the more is cut off."""

from __future__ import annotations

from miai.game import State

_KILLERS = 2


class MoveOrdering:
    """Killer actions by ply, and the history table (Schaeffer 1989) by player and action.

    Args:
      plies: the deepest ply that will be asked for.
    """

    def __init__(self, plies: int) -> None:
        self._killers: list[list[int]] = [[] for _ in range(plies + 1)]
        self._successes: dict[tuple[int, int], int] = {}

    def order(self, state: State, player: int, ply: int, first: int | None) -> list[int]:
        """Return the legal actions: `first`, then killers, then by past success."""
        killers, successes = self._killers[ply], self._successes

        def urgency(action: int) -> tuple[bool, bool, int]:
            return action != first, action not in killers, -successes.get((player, action), 0)

        return sorted(state.legal_actions(), key=urgency)

    def succeed(self, player: int, action: int, ply: int, *, depth: int) -> None:
        """Remember an action that caused a cut-off `depth` plies above the horizon."""
        killers = self._killers[ply]
        if action not in killers:
            self._killers[ply] = [action, *killers[: _KILLERS - 1]]
        self._successes[player, action] = self._successes.get((player, action), 0) + depth * depth
