"""The static value of a board: material, squares, pawns, mobility, kings; tapered.

Every term has two values, for the middle game and for the ending, packed into one int64 (`pair`)
so that one addition adds both. The value of a board lies between the two by the pieces left. Terms
of pieces on squares are made from formulas and kept up to date by `engine.advance`; the others are
computed from the board. Values are centipawns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels import spelt_out
from miai.kernels.bits import lowest, popcount
from miai_rbc.kernels import inlined, part
from miai_rbc.kernels.bitboards import (
    KING,
    KNIGHT,
    NUMBER_0,
    NUMBER_1,
    Int,
    Words,
    bishop_attacks,
    rook_attacks,
)
from miai_rbc.kernels.board import (
    BISHOPS,
    KINGS,
    KNIGHTS,
    PAWNS,
    QUEENS,
    ROOKS,
    WHITE,
    occupied,
    turn_of,
)

FULL_PHASE = 24
"""Phase of all pieces: one for a knight or bishop, two for a rook, four for a queen."""
TEMPO = 36
"""Centipawns for the side to move."""

_ENDING, _PHASE = 24, 48  # bit positions of the ending's value and of the phase
_SIGN = 40  # shift that extends the sign of a 24-bit value


def pair(middle: float, ending: float) -> int:
    """Return two values packed into one."""
    return round(middle) + (round(ending) << _ENDING)


def _square_values() -> NDArray[np.int64]:
    """Return the packed values of pieces on squares: (2, 6, 64), black's negative, phase included.

    A formula for each piece: a base, and terms for the centre and for advancing.
    """
    values = np.zeros((2, 6, 64), np.int64)
    for square in range(64):
        rank, file = divmod(square, 8)
        near = 7 - abs(rank - 3.5) - abs(file - 3.5)  # 0 in the corner, 6 in the middle
        middle_file = 3.5 - abs(file - 3.5)  # 0 on the a-file, 3 on the d-file
        ahead = rank - 1
        pairs = (
            pair(
                76 + middle_file * (3 * min(ahead, 3) + 2 * (ahead > 0)) + ahead,
                94 + 2 * ahead * ahead - middle_file * (min(ahead, 3) + 3),
            ),
            pair(278 + 12 * near + 4 * (rank == 0), 266 + 9 * near),
            pair(319 + 5 * near - 18 * (rank == 0), 300 + 4 * near),
            pair(420 + 5 * middle_file - 2 * ahead, 512 - 5 * middle_file + 4 * ahead),
            pair(945 - near, 955 + 12 * near),
            pair(
                13 * (3 - middle_file) - 30 * min(rank, 4) + 24 * (file in (1, 2, 6)),
                4 * (3 - middle_file) + 10 * min(rank, 4) + 13 * near - 60,
            ),
        )
        for kind, packed in enumerate(pairs):
            phase = (0, 1, 1, 2, 4, 0)[kind]
            values[0, kind, square] = packed + (phase << _PHASE)
            values[1, kind, square ^ 56] = (phase << _PHASE) - packed
    return values


SQUARE_VALUES = _square_values()

_PASSED = np.array(
    [
        pair(middle, ending)
        for middle, ending in (
            (0, 0),
            (3, 4),
            (6, 14),
            (8, 22),
            (30, 54),
            (45, 105),
            (90, 160),
            (0, 0),
        )
    ],
    np.int64,
)
"""For a passed pawn, by its rank as its owner counts."""
_ISOLATED, _DOUBLED = pair(-14, -7), pair(-7, -22)
_GUARDED_PAWN = pair(4, 9)
_BISHOP_PAIR = pair(35, 72)
_OPEN_FILE, _HALF_OPEN_FILE = pair(38, 26), pair(18, 12)
_SHIELD = pair(18, 5)
_THREATENED = pair(-62, -60)
_RANKS, _FILES = np.divmod(np.arange(64), 8)
_STEPS = abs(_RANKS[:, None] - _RANKS) + abs(_FILES[:, None] - _FILES)
_DRIVEN = (12 * (abs(2 * _RANKS - 7) + abs(2 * _FILES - 7)) + 140 - 10 * _STEPS) * pair(1, 1)
"""For a king on the first square and a lone one on the second: near, and the latter at the edge."""
_PRESSED = pair(30, 30)
_KNIGHT_MOVE, _KNIGHT_BASE = pair(7, 8), pair(-22, -22)
_BISHOP_MOVE, _BISHOP_BASE = pair(7, 7), pair(-30, -30)
_ROOK_MOVE, _ROOK_BASE = pair(4, 7), pair(-19, -34)
_QUEEN_MOVE, _QUEEN_BASE = pair(3, 5), pair(-26, -50)
_ATTACK = np.array([0, 8, 22, 40, 62, 86, 112, 140, 166, 192, 216, 240], np.int64)
"""For attacks on squares next to the enemy king, by their number; in the middle game."""

_ONE, _8 = np.uint64(1), np.uint64(8)
_16, _32 = np.uint64(16), np.uint64(32)
_NOT_A, _NOT_H = np.uint64(0xFEFEFEFEFEFEFEFE), np.uint64(0x7F7F7F7F7F7F7F7F)


@inlined
def _fill_up(squares: np.uint64) -> np.uint64:
    squares |= squares << _8
    squares |= squares << _16
    return squares | squares << _32


@inlined
def _fill_down(squares: np.uint64) -> np.uint64:
    squares |= squares >> _8
    squares |= squares >> _16
    return squares | squares >> _32


@inlined
def _sides(squares: np.uint64) -> np.uint64:
    """Return the squares to the left and right of a set."""
    return (squares & _NOT_A) >> _ONE | (squares & _NOT_H) << _ONE


@inlined
def _pawn_attacks(pawns: np.uint64, colour: Int) -> np.uint64:
    """Return the squares that pawns of a colour attack."""
    ahead = pawns >> _8 if colour else pawns << _8
    return _sides(ahead)


@spelt_out
def _pawn_terms(pawns: np.uint64, enemy: np.uint64, guarded: np.uint64, colour: Int) -> Int:
    # Squares ahead of own and of enemy pawns, and the files with own ones, each as one set.
    ahead = _fill_down(pawns >> _8) if colour else _fill_up(pawns << _8)
    theirs = _fill_up(enemy << _8) if colour else _fill_down(enemy >> _8)
    files = ahead | (_fill_up(pawns) if colour else _fill_down(pawns))
    total: Int = _DOUBLED * popcount(pawns & ahead)
    total += _ISOLATED * popcount(pawns & ~_sides(files))
    total += _GUARDED_PAWN * popcount(pawns & guarded)
    # No enemy pawn ahead on its own or a neighbouring file; of doubled pawns the rear one counts.
    passed = pawns & ~(theirs | _sides(theirs)) & ~(ahead & pawns)
    while passed:
        rank = lowest(passed) >> 3
        passed &= passed - _ONE
        total += _PASSED[7 - rank if colour else rank]
    return total


@part
def _side(b: Words, colour: Int, occ: np.uint64, mine: np.uint64, theirs: np.uint64) -> Int:
    """Return the packed terms of one colour, except those of squares."""
    pawns, enemy_pawns = b[PAWNS] & mine, b[PAWNS] & theirs
    # Pawns decide what squares are worth, so their attacks are made once for all pieces.
    guarded = _pawn_attacks(pawns, colour)
    threatened = _pawn_attacks(enemy_pawns, colour ^ 1)
    # Pieces: mobility to squares that no pawn guards, pressure on weak targets, attacks around the
    # king, whose worth grows faster than their number.
    total: Int = _pawn_terms(pawns, enemy_pawns, guarded, colour)
    total += _THREATENED * popcount(mine & ~pawns & threatened)
    free = ~(mine | threatened)
    weak = theirs & ~enemy_pawns & ~threatened & ~b[KINGS]
    pressed = weak | (theirs & (b[ROOKS] | b[QUEENS]))
    king = b[KINGS] & theirs
    zone = KING[lowest(king)] if king else king
    attacks = np.int64(0)
    remaining = b[KNIGHTS] & mine
    while remaining:
        reach = KNIGHT[lowest(remaining)]
        remaining &= remaining - _ONE
        total += _KNIGHT_BASE + _KNIGHT_MOVE * popcount(reach & free)
        total += _PRESSED * popcount(reach & pressed)
        attacks += popcount(reach & zone)
    remaining = b[BISHOPS] & mine
    if remaining & (remaining - _ONE):
        total += _BISHOP_PAIR
    while remaining:
        reach = bishop_attacks(lowest(remaining), occ)
        remaining &= remaining - _ONE
        total += _BISHOP_BASE + _BISHOP_MOVE * popcount(reach & free)
        total += _PRESSED * popcount(reach & pressed)
        attacks += popcount(reach & zone)
    remaining = b[ROOKS] & mine
    if remaining:
        half = remaining & ~(_fill_up(pawns) | _fill_down(pawns))
        whole = half & ~(_fill_up(enemy_pawns) | _fill_down(enemy_pawns))
        total += _HALF_OPEN_FILE * popcount(half ^ whole) + _OPEN_FILE * popcount(whole)
    while remaining:
        reach = rook_attacks(lowest(remaining), occ)
        remaining &= remaining - _ONE
        total += _ROOK_BASE + _ROOK_MOVE * popcount(reach & free)
        total += _PRESSED * popcount(reach & weak)
        attacks += popcount(reach & zone)
    remaining = b[QUEENS] & mine
    while remaining:
        square = lowest(remaining)
        reach = bishop_attacks(square, occ) | rook_attacks(square, occ)
        remaining &= remaining - _ONE
        total += _QUEEN_BASE + _QUEEN_MOVE * popcount(reach & free)
        attacks += popcount(reach & zone)
    king = b[KINGS] & mine
    # Two ranks of three files before the king.
    front = king | _sides(king)
    front = front >> _8 | front >> _16 if colour else front << _8 | front << _16
    total += _SHIELD * popcount(front & pawns)
    # The table ends there: more are not told apart.
    if attacks > 11:
        attacks = np.int64(11)
    total += _ATTACK[attacks]
    return total


@inlined
def static_value(b: Words, squares: Int) -> Int:
    """Return the value of a board in centipawns for the side to move.

    Args:
      squares: the packed values of its pieces on their squares, black's negative.
    """
    occ, white = occupied(b), b[WHITE]
    black = occ & ~white
    total = squares + _side(b, NUMBER_0, occ, white, black)
    total -= _side(b, NUMBER_1, occ, black, white)
    first, second = lowest(b[KINGS] & white) & 63, lowest(b[KINGS] & black) & 63
    if popcount(black) == 1:
        total += _DRIVEN[first, second]
    if popcount(white) == 1:
        total -= _DRIVEN[second, first]
    # Unpack: shifting up and down extends the sign; a negative lower part borrowed from the upper.
    middle = (total << _SIGN) >> _SIGN
    rest = (total - middle) >> _ENDING
    ending = (rest << _SIGN) >> _SIGN
    phase = min((rest - ending) >> _ENDING, FULL_PHASE)
    value = middle * phase + ending * (FULL_PHASE - phase)
    return TEMPO + (-value if turn_of(b) else value) // FULL_PHASE
