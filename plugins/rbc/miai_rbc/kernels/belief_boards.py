"""Kernels of the search over beliefs on arrays of boards: hashes, outcomes, replies, material."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import popcount
from miai_rbc.kernels import allocating, kernel
from miai_rbc.kernels.bits import U64, Words, bit
from miai_rbc.kernels.board import KINGS, NOTHING, STATE, WHITE, WORDS, play, turn_of
from miai_rbc.kernels.moves import MAX_MOVES, capture_of, revise, taken_moves

Numbers = NDArray[np.int64]

OVER = -2
"""The code of an observation that a king was captured, which ends the game."""

_ALL, _NONE, _ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), np.uint64(1)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_PIECES = np.array([100, 320, 330, 500, 950, 0], np.int64)


@kernel
def hash_boards(boards: Words, out: Words) -> None:
    """Write a 64-bit hash of all eight words of each board: (n,)."""
    for i in range(len(boards)):
        key = _NONE
        for word in range(WORDS):
            key = (key ^ boards[i, word]) + _STEP
            key = (key ^ (key >> _30)) * _FIRST
            key = (key ^ (key >> _27)) * _SECOND
            key ^= key >> _31
        out[i] = key


@allocating
def sense_outcomes(boards: Words, player: int, centre: int, out: Words) -> None:
    """Write the outcome of a sense on each board: nine codes of four bits.

    Args:
      player: the player that senses; its own pieces are the same on all boards and left out.
      out: (n,) written; 0 if no piece of the opponent is seen.
    """
    squares = np.empty(9, np.uint64)
    for i in range(9):
        squares[i] = bit(centre + 8 * (i // 3 - 1) + i % 3 - 1)
    for i in range(len(boards)):
        b = boards[i]
        theirs = b[WHITE] if player else ~b[WHITE]
        code = _NONE
        for k in range(6):
            pieces = b[k] & theirs
            if pieces == _NONE:
                continue
            for at in range(9):
                if pieces & squares[at]:
                    code |= U64(k + 1) << U64(4 * at)
        out[i] = code


@allocating
def count_replies(boards: Words, starts: Numbers) -> None:
    """Write the index of each board's first reply, a pass included: (n + 1,)."""
    moves = np.empty(MAX_MOVES, np.int64)
    starts[0] = 0
    for i in range(len(boards)):
        starts[i + 1] = starts[i] + taken_moves(boards[i], _ALL, True, moves) + 1


@allocating
def write_replies(boards: Words, starts: Numbers, out: Words, captures: Numbers) -> None:
    """Write every board after every move that its side to move can take, and after a pass.

    Args:
      boards, starts: (n, 8), (n + 1,) as `count_replies` wrote it.
      out: (starts[n], 8) written.
      captures: (starts[n],) written: the square of the capture, -1 for none, or `OVER`.
    """
    moves = np.empty(MAX_MOVES, np.int64)
    for i in range(len(boards)):
        b = boards[i]
        king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
        n = taken_moves(b, _ALL, True, moves)
        moves[n] = NOTHING
        for j in range(n + 1):
            at = starts[i] + j
            captures[at] = capture_of(b, moves[j])
            if captures[at] >= 0 and king & bit(captures[at]):
                captures[at] = OVER
            play(b, moves[j], out[at])


@kernel
def material(boards: Words, player: int, out: NDArray[np.float64]) -> None:
    """Write the material of each board in centipawns, for a player: (n,)."""
    for i in range(len(boards)):
        mine = ~boards[i, WHITE] if player else boards[i, WHITE]
        total = np.int64(0)
        for k in range(5):
            total += _PIECES[k] * (popcount(boards[i, k] & mine) - popcount(boards[i, k] & ~mine))
        out[i] = total


@kernel
def play_request(boards: Words, request: int, out: Words, codes: Numbers) -> None:
    """Write every board after a request as it turns out there.

    Args:
      out: (n, 8) written.
      codes: (n,) written: 128 times the move taken, plus the square of the capture or 64 for none;
        `OVER` if it captures the king.
    """
    for i in range(len(boards)):
        b = boards[i]
        king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
        taken = revise(b, request)
        square = capture_of(b, taken)
        codes[i] = 128 * taken + (64 if square < 0 else square)
        if square >= 0 and king & bit(square):
            codes[i] = OVER
        play(b, taken, out[i])


@kernel
def replace_own_pieces(boards: Words, own: Words, player: int, rights: int, out: Words) -> int:
    """Write boards with other own pieces, the opponent to move; return their number.

    Pieces of the opponent on the same squares are removed; boards without its king are left out.

    Args:
      own: (6,) the player's pieces by kind.
      rights: the player's castling rights, four bits.
      out: (n, 8) written.
    """
    mine = _NONE
    for k in range(6):
        mine |= own[k]
    kept = U64(rights)
    theirs_mask = U64(3 if player else 12)
    count = 0
    for i in range(len(boards)):
        b = boards[i]
        theirs = (b[WHITE] if player else ~b[WHITE]) & ~mine
        if b[KINGS] & theirs == _NONE:
            continue
        white = b[WHITE] & theirs if player else mine
        for k in range(6):
            out[count, k] = (b[k] & theirs) | own[k]
        out[count, WHITE] = white
        castling = (b[STATE] >> _ONE) & theirs_mask | kept
        out[count, STATE] = U64(player ^ 1) | castling << _ONE
        count += 1
    return count


@kernel
def remove_pieces(boards: Words, squares: np.uint64, turn: int) -> None:
    """Remove the pieces on some squares from all boards, and set the side to move, in place."""
    for i in range(len(boards)):
        for word in range(7):
            boards[i, word] &= ~squares
        boards[i, STATE] = (boards[i, STATE] & ~_ONE) & U64(0x1F) | U64(turn)
