"""Bit operations on 64-bit boards, and the squares that each piece attacks.

Squares are numbered as in python-chess: a1 is 0, b1 is 1, h8 is 63. A set of squares is a uint64
with bit ``1 << square``. Sliding pieces are resolved ray by ray: the first blocker on a ray is its
lowest or highest set bit, and the squares behind it are removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import leading_zeros, lowest
from miai_rbc.kernels import inlined

U64 = np.uint64
Words = NDArray[np.uint64]
Int = int | np.signedinteger[Any]

NUMBER_0, NUMBER_1 = np.int64(0), np.int64(1)
"""For arguments: a literal has a type of its own, for which the callee would be compiled again."""

_NORTH, _EAST, _NORTH_EAST, _NORTH_WEST = (np.int64(direction) for direction in range(4))
_SOUTH, _WEST, _SOUTH_WEST, _SOUTH_EAST = (np.int64(direction) for direction in range(4, 8))

_ONE = np.uint64(1)
_63 = np.uint64(63)


def _rays() -> Words:
    """Return the squares beyond a square in eight directions: uint64 of shape (8, 64).

    Directions 0 to 3 go to higher squares (north, east, north-east, north-west), 4 to 7 to lower.
    """
    steps = [(1, 0), (0, 1), (1, 1), (1, -1), (-1, 0), (0, -1), (-1, -1), (-1, 1)]
    rays = np.zeros((8, 64), np.uint64)
    for direction, (up, right) in enumerate(steps):
        for square in range(64):
            rank, file = square // 8 + up, square % 8 + right
            while 0 <= rank < 8 and 0 <= file < 8:
                rays[direction, square] |= np.uint64(1 << (8 * rank + file))
                rank, file = rank + up, file + right
    return rays


def _leaps(steps: list[tuple[int, int]]) -> Words:
    """Return the squares that a knight or king attacks by its steps: uint64 of shape (64,)."""
    # Looked up, not computed: 64 words stay in the cache.
    sets = np.zeros(64, np.uint64)
    for square in range(64):
        for up, right in steps:
            rank, file = square // 8 + up, square % 8 + right
            if 0 <= rank < 8 and 0 <= file < 8:
                sets[square] |= np.uint64(1 << (8 * rank + file))
    return sets


_RAYS = _rays()
KNIGHT = _leaps([(u, r) for u in (-2, -1, 1, 2) for r in (-2, -1, 1, 2) if abs(u) != abs(r)])
KING = _leaps([(u, r) for u in (-1, 0, 1) for r in (-1, 0, 1) if (u, r) != (0, 0)])
PAWN = np.stack([_leaps([(1, -1), (1, 1)]), _leaps([(-1, -1), (-1, 1)])])
"""Squares that a white and a black pawn attack: uint64 of shape (2, 64)."""


@inlined
def bit(square: Int) -> np.uint64:
    """Return the set of one square."""
    shifted: np.uint64 = _ONE << U64(square)
    return shifted


@inlined
def highest(squares: np.uint64) -> Int:
    """Return the number of the highest set bit of a set that is not empty."""
    number: Int = 63 - leading_zeros(squares)
    return number


@inlined
def _up(direction: Int, square: Int, occupied: np.uint64) -> np.uint64:
    ray = _RAYS[direction, square]
    blockers = (ray & occupied) | (_ONE << _63)  # h8 ends every ray: nothing lies beyond it
    clear: np.uint64 = ray ^ _RAYS[direction, lowest(blockers)]
    return clear


@inlined
def _down(direction: Int, square: Int, occupied: np.uint64) -> np.uint64:
    ray = _RAYS[direction, square]
    # As above, with a1 as the end of every ray.
    blockers = (ray & occupied) | _ONE
    clear: np.uint64 = ray ^ _RAYS[direction, highest(blockers)]
    return clear


@inlined
def rook_attacks(square: Int, occupied: np.uint64) -> np.uint64:
    """Return the squares that a rook attacks, first blockers included."""
    return (
        _up(_NORTH, square, occupied)
        | _up(_EAST, square, occupied)
        | _down(_SOUTH, square, occupied)
        | _down(_WEST, square, occupied)
    )


@inlined
def bishop_attacks(square: Int, occupied: np.uint64) -> np.uint64:
    """Return the squares that a bishop attacks, first blockers included."""
    return (
        _up(_NORTH_EAST, square, occupied)
        | _up(_NORTH_WEST, square, occupied)
        | _down(_SOUTH_WEST, square, occupied)
        | _down(_SOUTH_EAST, square, occupied)
    )


WIN = 100_000
"""Centipawns of a captured king. A forced capture in n plies is worth ``WIN - n``; undecided values
lie between ``-WIN + 1000`` and ``WIN - 1000``."""


NO_MOVE = -1
"""Pads the list of best moves of a board that has fewer."""
