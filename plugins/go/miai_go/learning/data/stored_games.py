"""Recorded games, their names, and the splits of a data set, which depend on names alone.

A name is a digest of the moves up to symmetry, so its bits serve as random numbers. A game stays
in its split when games are added or reordered, and so do its symmetric copies.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import records, rules
from miai_go.rules.board import Board
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import point_tables

NAME_BYTES: Final = 16

BLACK_WON: Final = 1
WHITE_WON: Final = -1
DRAWN: Final = 0
UNKNOWN: Final = 2
"""Result of a game without a known result."""

Split = Literal["all", "train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = get_args(Split)

FRACTIONS: Final = (0.9, 0.05, 0.05)
"""Default shares of games for training, validation and test."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredGame:
    """One game.

    Attributes:
      size: points on a side.
      moves: actions, int16 of shape (moves,); size * size is the pass.
      half_komi: komi in half points.
      result: 1 Black won, -1 White won, 0 a draw, 2 unknown.
      margin: points by which Black won, komi included; nan if unknown, as after a resignation.
      ratings: Black's and White's, in Elo or similar, as recorded; nan if unknown.
      stones: the set-up, int8 of shape (points,): 0, 1 black, 2 white; None for an empty board.
      first: who moves first, 1 Black, 2 White.
      policy: policy targets, from the search before each move, float16 of shape
        (moves, size * size + 1); None without searches.
      weight: weight of each move's policy target, float16 of shape (moves,): 1, or 0 if the search
        was too short to learn from; None for equal weights.
      root_value: value of each search for the player to move, 1 a win, float16 of shape (moves,);
        or None.
      ownership: owner of each point at the end, int8 of shape (points,): 1 Black, -1 White, 0
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

    def sides(self) -> NDArray[np.float64]:
        """Return 1 for each move of Black's and -1 for each of White's, (moves,)."""
        return np.where((np.arange(len(self.moves)) + self.first) % 2 == 1, 1.0, -1.0)

    def name(self) -> bytes:
        """Return 16 bytes that depend on the set-up and the moves, up to symmetry.

        Komi, result and players do not change it.
        """
        # The least of the eight turned texts is the same for all eight copies of a game.
        tables = point_tables(self.size)
        turned = tables[:, self.moves].astype("<i2")
        if self.stones is None:
            least = min(turned[s].tobytes() for s in range(SYMMETRIES))
            head = bytes((self.size, self.first))
        else:
            setups = np.zeros((SYMMETRIES, self.size**2), np.int8)
            for s in range(SYMMETRIES):
                setups[s, tables[s, :-1]] = self.stones
            least = min(setups[s].tobytes() + turned[s].tobytes() for s in range(SYMMETRIES))
            head = bytes((self.size, self.first, 1))
        # Size and first player are the key of the hash, so that equal moves on other boards have
        # other names.
        return hashlib.blake2b(least, digest_size=NAME_BYTES, key=head).digest()

    def legal_moves(self) -> int:
        """Return the number of legal moves before the first illegal one; -1 for a bad set-up.

        Ko is simple, suicide is illegal.
        """
        empty = _empty(self.size)
        stones = np.empty(0, np.int8) if self.stones is None else self.stones
        table = point_tables(self.size)[0]
        first = np.int64(self.first)
        return int(records.first_refused(empty.copy(), empty, stones, first, self.moves, table))


@cache
def _empty(size: int) -> NDArray[np.uint32]:
    return rules.empty_board(size)


def finished_game(
    board: Board,
    moves: NDArray[np.int16],
    *,
    half_komi: int,
    loser: int | None = None,
    policy: NDArray[np.float16] | None = None,
    weight: NDArray[np.float16] | None = None,
    root_value: NDArray[np.float16] | None = None,
) -> StoredGame:
    """Return a game that began on the empty board, scored by area with all stones alive.

    Args:
      board: the last position.
      loser: the player who resigned, 0 Black, 1 White; margin and ownership are then unknown.
      policy, weight, root_value: see `StoredGame`.
    """
    margin = board.area_score() - half_komi / 2
    result = BLACK_WON if margin > 0 else WHITE_WON if margin < 0 else DRAWN
    ownership: NDArray[np.int8] | None = board.owners().ravel()
    if loser is not None:
        result = WHITE_WON if loser == 0 else BLACK_WON
        margin, ownership = float("nan"), None
    return StoredGame(
        size=board.size,
        moves=moves,
        half_komi=half_komi,
        result=result,
        margin=margin,
        policy=policy,
        weight=weight,
        root_value=root_value,
        ownership=ownership,
    )
