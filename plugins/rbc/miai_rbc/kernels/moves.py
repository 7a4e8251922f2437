"""The moves that a board allows: those that can be taken, and those that can be requested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_rbc.kernels import inlined
from miai_rbc.kernels.bitboards import (
    KING,
    KNIGHT,
    NUMBER_0,
    PAWN,
    Int,
    Words,
    bishop_attacks,
    bit,
    rook_attacks,
)
from miai_rbc.kernels.board import (
    BISHOPS,
    KINGS,
    KNIGHTS,
    NO_SQUARE,
    NOTHING,
    PAWNS,
    QUEENS,
    ROOKS,
    WHITE,
    ep_of,
    occupied,
    rights_of,
    turn_of,
    type_at,
)

MAX_MOVES = 512
"""Upper bound on the moves of a board with at most sixteen pieces a side."""

Moves = NDArray[np.int64]

_STEP, _LEAP = np.int64(8), np.int64(16)  # of a pawn
_ONE = np.uint64(1)
_8 = np.uint64(8)
_RANK_3, _RANK_6 = np.uint64(0xFF0000), np.uint64(0xFF0000000000)
_BETWEEN = np.array([0x60, 0x0E, 0x60 << 56, 0x0E << 56], np.uint64)


@inlined
def _add(moves: Moves, n: Int, start: Int, ends: np.uint64) -> Int:
    while ends:
        moves[n] = start | lowest(ends) << 6
        n += 1
        ends &= ends - _ONE
    return n


@inlined
def _add_pawns(moves: Moves, n: Int, ends: np.uint64, step: Int) -> Int:
    """Add the moves of pawns that advance by `step` squares to each of `ends`."""
    # A pawn's start follows from its end, so all pawns that advance alike are one set of ends.
    while ends:
        end = lowest(ends)
        ends &= ends - _ONE
        move = (end - step) | end << 6
        if 8 <= end < 56:
            moves[n] = move
            n += 1
        else:
            for becomes in range(4, 0, -1):
                moves[n] = move | becomes << 12
                n += 1
    return n


@inlined
def _piece_moves(
    b: Words, own: np.uint64, blockers: np.uint64, ends: np.uint64, moves: Moves
) -> Int:
    """List the moves of all pieces but pawns, without castling; return their number.

    Args:
      own: the pieces that move.
      blockers: the pieces that stop a slider, which may reach the first.
      ends: the permitted squares.
    """
    n: Int = NUMBER_0
    remaining = own & b[KNIGHTS]
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        n = _add(moves, n, square, KNIGHT[square] & ends)
    remaining = own & (b[BISHOPS] | b[QUEENS])
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        n = _add(moves, n, square, bishop_attacks(square, blockers) & ends)
    remaining = own & (b[ROOKS] | b[QUEENS])
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        n = _add(moves, n, square, rook_attacks(square, blockers) & ends)
    remaining = own & b[KINGS]
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        n = _add(moves, n, square, KING[square] & ends)
    return n


@inlined
def taken_moves(b: Words, targets: np.uint64, quiet: bool, moves: Moves) -> Int:
    """List the moves that the side to move can take, without `NOTHING`; return their number.

    Args:
      targets: list captures on these squares.
      quiet: list moves that capture nothing.
    """
    turn, occ = turn_of(b), occupied(b)
    white = b[WHITE]
    own = occ & ~white if turn else white
    enemy = occ & ~own & targets
    ends = enemy
    if quiet:
        ends |= ~occ
    n = _piece_moves(b, own, occ, ends, moves)
    n = _pawn_moves(b, turn, own & b[PAWNS], occ, enemy, targets, quiet, moves, n)
    if quiet:
        n = _castles(b, turn, occ, moves, n)
    return n


@inlined
def _pawn_moves(
    b: Words,
    turn: Int,
    pawns: np.uint64,
    occ: np.uint64,
    enemy: np.uint64,
    targets: np.uint64,
    quiet: bool,
    moves: Moves,
    n: Int,
) -> Int:
    remaining = pawns
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        ends = PAWN[turn, square] & enemy
        while ends:
            end = lowest(ends)
            ends &= ends - _ONE
            n = _add_pawns(moves, n, bit(end), end - square)
    if quiet:
        n = _pushes(turn, pawns, occ, moves, n)
    # En passant captures behind its target square: `targets` holds where the pawn stands.
    ep = ep_of(b)
    if ep >= 0 and targets & bit(ep - 8 if turn == 0 else ep + 8):
        remaining = PAWN[turn ^ 1, ep] & pawns
        while remaining:
            moves[n] = lowest(remaining) | ep << 6
            n += 1
            remaining &= remaining - _ONE
    return n


@inlined
def _pushes(turn: Int, pawns: np.uint64, blockers: np.uint64, moves: Moves, n: Int) -> Int:
    if turn == 0:
        single = (pawns << _8) & ~blockers
        n = _add_pawns(moves, n, single, _STEP)
        return _add_pawns(moves, n, ((single & _RANK_3) << _8) & ~blockers, _LEAP)
    single = (pawns >> _8) & ~blockers
    n = _add_pawns(moves, n, single, -_STEP)
    return _add_pawns(moves, n, ((single & _RANK_6) >> _8) & ~blockers, -_LEAP)


@inlined
def _castles(b: Words, turn: Int, occ: np.uint64, moves: Moves, n: Int) -> Int:
    # Out of check, through it and into it: only the squares between must be free.
    rights = rights_of(b) >> (2 * turn)
    king = 60 if turn else 4
    if rights & 1 and not occ & _BETWEEN[2 * turn]:
        moves[n] = king | (king + 2) << 6
        n += 1
    if rights & 2 and not occ & _BETWEEN[2 * turn + 1]:
        moves[n] = king | (king - 2) << 6
        n += 1
    return n


@inlined
def requested_moves(b: Words, moves: Moves) -> Int:
    """List the moves that the side to move can request, without `NOTHING`; return their number.

    They depend on its own pieces only: these block, the opponent's do not, and a pawn may request
    every diagonal step.
    """
    turn = turn_of(b)
    occ = occupied(b)
    own = occ & ~b[WHITE] if turn else b[WHITE]
    ends = ~own
    # The player does not know where the opponent stands, so its pieces slide through.
    n = _piece_moves(b, own, own, ends, moves)
    # A pawn's diagonal steps are requested without knowing whether there is something to capture.
    remaining = own & b[PAWNS]
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        diagonal = PAWN[turn, square] & ends
        while diagonal:
            end = lowest(diagonal)
            diagonal &= diagonal - _ONE
            n = _add_pawns(moves, n, bit(end), end - square)
    n = _pushes(turn, own & b[PAWNS], own, moves, n)
    return _castles(b, turn, own, moves, n)


@inlined
def revise(b: Words, move: Int) -> Int:
    """Return the move taken when `move` is requested on this board; `NOTHING` if none is.

    A slider stops on the first piece in its way, a pawn before it. A pawn's diagonal step needs a
    piece to capture, castling a clear path.
    """
    if move == NOTHING:
        return NOTHING
    start, end = move & 63, (move >> 6) & 63
    occ = occupied(b)
    kind = type_at(b, bit(start))
    # Nothing stops a knight, nor a king's single step.
    if kind == KNIGHTS:
        return move
    files = (end & 7) - (start & 7)
    if kind == KINGS:
        if abs(files) != 2:
            return move
        side = 2 * turn_of(b) + (1 if files < 0 else 0)
        clear = not occ & _BETWEEN[side] and rights_of(b) >> side & 1
        return move if clear else NOTHING
    if kind == PAWNS and files != 0:
        return move if occ & bit(end) or ep_of(b) == end else NOTHING
    reached = _slide(kind, start, end, occ)
    if reached == start:
        return NOTHING
    return move if reached == end else start | reached << 6


@inlined
def _slide(kind: Int, start: Int, end: Int, occ: np.uint64) -> Int:
    """Return the square reached: a slider stops on the first piece, a pawn before it."""
    files, ranks = (end & 7) - (start & 7), (end >> 3) - (start >> 3)
    if files != 0 and ranks != 0 and abs(files) != abs(ranks):
        return start  # on this board another piece stands there
    step = np.sign(files) + 8 * np.sign(ranks)
    square = start
    while square != end:
        square += step
        if occ & bit(square):
            if kind != PAWNS:
                break
            square -= step
            break
    return square


@inlined
def capture_of(b: Words, taken: Int) -> Int:
    """Return the square on which a taken move captures, or -1."""
    if taken == NOTHING:
        return NO_SQUARE
    start, end = taken & 63, (taken >> 6) & 63
    if occupied(b) & bit(end):
        return end
    if end == ep_of(b) and b[PAWNS] & bit(start):
        return end - 8 if turn_of(b) == 0 else end + 8
    return NO_SQUARE
