"""Where a game of Go starts, what is being done in it, and why it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from miai_go.rules.board import BLACK


class Phase(IntEnum):
    """What is being done.

    `PLAY`: stones are placed. `PROPOSE`: under `dead_stones = "agreement"`, the player to move
    marks dead chains, one an action, and passes when the list is complete. `REPLY`: the other
    accepts by a pass, or resumes play. `OVER`.
    """

    PLAY = 0
    PROPOSE = 1
    REPLY = 2
    OVER = 3


class Ending(IntEnum):
    """Why a game is over: both passed, a position recurred (no result), or too many moves."""

    PASSES = 0
    REPETITION = 1
    MAX_MOVES = 2


@dataclass(frozen=True, slots=True)
class Start:
    """Where a game starts.

    Attributes:
      black, white: points of the stones, ascending.
      to_move: who moves first.
    """

    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    to_move: int = BLACK
