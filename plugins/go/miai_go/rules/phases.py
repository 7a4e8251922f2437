"""Start, phases and endings of a game of Go."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from miai_go.rules.board import BLACK


class Phase(IntEnum):
    """Phase of a game.

    `PLAY`: players place stones. `PROPOSE`: under `dead_stones = "agreement"`, the player to move
    marks one dead chain per action, and passes to complete the list. `REPLY`: the opponent passes
    to accept, or resumes play. `OVER`.
    """

    PLAY = 0
    PROPOSE = 1
    REPLY = 2
    OVER = 3


class Ending(IntEnum):
    """Reason why a game is over: two passes, a repeated position (no result), or `max_moves`."""

    PASSES = 0
    REPETITION = 1
    MAX_MOVES = 2


@dataclass(frozen=True, slots=True)
class Start:
    """Starting position.

    Attributes:
      black, white: points of the stones, ascending.
      to_move: the player who moves first.
    """

    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    to_move: int = BLACK
