"""A recorded game as data sets keep it, and the name that all its turned copies share."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import records, rules
from miai_go.rules.symmetry import SYMMETRIES, point_tables

NAME_BYTES: Final = 16

BLACK_WON: Final = 1
WHITE_WON: Final = -1
DRAWN: Final = 0
UNKNOWN: Final = 2
"""The result of a game that nobody knows."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredGame:
    """One game.

    Attributes:
      size: points on a side.
      moves: actions, int16 of shape (moves,); size * size is the pass.
      half_komi: what White is given, in half points.
      result: 1 Black won, -1 White, 0 a draw, 2 unknown.
      margin: points that Black won by, komi counted; nan where unknown, as after a resignation.
      ratings: of Black and White, as the record tells them, Elo or the like; nan where unknown.
      stones: the set-up, int8 of shape (points,): 0, 1 black, 2 white; None for an empty board.
      first: who moves first, 1 black, 2 white.
      policy: targets of each move, float16 of shape (moves, size * size + 1): what a search found
        before the move; None where there was none.
      weight: how much each move's policy target counts, float16 of shape (moves,): 1, or 0 where
        the search was too fast to learn from; None: all alike.
      root_value: what the search expected before each move, float16 of shape (moves,), from the
        view of the player to move, 1 a win; or None.
      ownership: who owned each point at the end, int8 of shape (points,): 1 Black, -1 White, 0
        neither; or None.
    """

    size: int
    moves: NDArray[np.int16]
    half_komi: int
    result: int = UNKNOWN
    margin: float = float("nan")
    ratings: tuple[float, float] = (float("nan"), float("nan"))
    stones: NDArray[np.int8] | None = None
    first: int = 1
    policy: NDArray[np.float16] | None = None
    weight: NDArray[np.float16] | None = None
    root_value: NDArray[np.float16] | None = None
    ownership: NDArray[np.int8] | None = None

    def name(self) -> bytes:
        """Return 16 bytes that are the same for all games of this start and these moves.

        The eight symmetries of a game have one name. Komi, result and players have no part in it.
        """
        tables = point_tables(self.size)
        turned = tables[:, self.moves].astype("<i2")
        if self.stones is None:
            least = min(turned[s].tobytes() for s in range(SYMMETRIES))
            head = bytes((self.size, self.first))
        else:
            lying = np.zeros((SYMMETRIES, self.size**2), np.int8)
            for s in range(SYMMETRIES):
                lying[s, tables[s, :-1]] = self.stones
            least = min(lying[s].tobytes() + turned[s].tobytes() for s in range(SYMMETRIES))
            head = bytes((self.size, self.first, 1))
        digest = hashlib.blake2b(least, digest_size=NAME_BYTES, key=head)
        return digest.digest()

    def legal_moves(self) -> int:
        """Return how many moves are legal, with simple ko and without suicide; -1: set-up."""
        empty = _empty(self.size)
        stones = np.empty(0, np.int8) if self.stones is None else self.stones
        table = point_tables(self.size)[0]
        first = np.int64(self.first)
        return int(records.first_refused(empty.copy(), empty, stones, first, self.moves, table))


@cache
def _empty(size: int) -> NDArray[np.uint32]:
    return rules.empty_board(size)
