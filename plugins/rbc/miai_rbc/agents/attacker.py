"""`attacker`: rushes at the king along a route chosen at the start, whatever the opponent does.

Weak against who defends, deadly to who does not look: the field's standard trap for bots that
never sense round their own king.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from miai import Agent, ClockReading, Decision
from miai_rbc.kernels.bitboards import KNIGHT
from miai_rbc.kernels.board import NOTHING
from miai_rbc.rules.actions import FIRST_MOVE, PASS, SENSE_NOTHING

_E8 = 60
_KNIGHTS = (1, 6)  # b1 and g1
_QUEEN_RUSH = ((12, 28), (5, 26), (3, 39), (39, 53), (53, 60))  # e4, Bc4, Qh5, Qf7, Qe8
_BISHOP_RUSH = ((12, 28), (5, 26), (3, 39), (26, 53), (53, 60))  # e4, Bc4, Qh5, Bf7, Be8

Route = tuple[tuple[int, int], ...]
"""Moves as squares from and to, from white's side of the board."""


class AttackerAgent(Agent):
    """Follows one route after another; senses where the next move goes; passes without a route."""

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with the routes in an order of this game's own."""
        super().new_game(seed, player=player, log=log)
        self._routes = [*routes()]
        self.rng.shuffle(self._routes)
        self._left: list[tuple[int, int]] = []

    def act(self, clock: ClockReading) -> Decision:
        """Return a sense of the next goal, or the next move of the route."""
        legal = self.view.legal_actions
        if legal[0] <= SENSE_NOTHING:
            return Decision(self._seen_from_here(self._left[0][1]) if self._left else 36)
        for _ in range(len(self._routes) + 1):
            while self._left:
                start, end = map(self._seen_from_here, self._left.pop(0))
                action = FIRST_MOVE + 64 * start + end
                if action in legal:
                    return Decision(action)
            if self._routes:
                self._left = list(self._routes.pop())
        return Decision(PASS)

    def _seen_from_here(self, square: int) -> int:
        """Return a square of white's side of the board on that of this player."""
        return square ^ 56 if self.view.player else square


def routes() -> list[Route]:
    """Return the shortest routes of both knights to the king's square, and two with the queen."""
    return [*(r for knight in _KNIGHTS for r in _knight_routes(knight)), _QUEEN_RUSH, _BISHOP_RUSH]


def _knight_routes(start: int) -> list[Route]:
    paths = [[start]]
    while not any(path[-1] == _E8 for path in paths):
        paths = [[*path, end] for path in paths for end in _leaps(path[-1])]
    return [tuple(itertools.pairwise(p)) for p in paths if p[-1] == _E8]


def _leaps(square: int) -> list[int]:
    """Return where a knight goes from a square, its own side's first two ranks left out."""
    ends = int(KNIGHT[square])
    return [end for end in range(16, 64) if ends >> end & 1] if ends != NOTHING else []
