"""Filters of beliefs in place, and what requests lead to on every board of a belief."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_rbc.kernels import allocating, kernel
from miai_rbc.kernels.bitboards import Int, Words, bit
from miai_rbc.kernels.board import (
    KINGS,
    NO_SQUARE,
    NOTHING,
    STATE,
    WHITE,
    WORDS,
    occupied,
    play,
    turn_of,
)
from miai_rbc.kernels.engine import attackers
from miai_rbc.kernels.moves import Moves, capture_of, requested_moves, revise

_ZERO = np.uint64(0)


@kernel
def keep_sensed(boards: Words, window: np.uint64, pieces: Words) -> Int:
    """Keep the boards that show a sensed window; return their number.

    Args:
      boards: (n, 8); those kept are moved to the front, in order.
      window: the sensed squares.
      pieces: (7,) words 0 to 6 of a board, within the window.
    """
    count = 0
    for i in range(len(boards)):
        differs = _ZERO
        for word in range(STATE):
            differs |= (boards[i, word] & window) ^ pieces[word]
        for word in range(WORDS):  # always: a useless write costs less than a branch
            boards[count, word] = boards[i, word]
        count += differs == _ZERO
    return count


@allocating
def keep_moved(boards: Words, requested: Int, taken: Int, captured: Int, ends: bool) -> Int:
    """Play the player's move on the boards where it has this outcome; return their number.

    Args:
      boards: (n, 8); the boards after the move are moved to the front.
      requested, taken: moves as in `board`.
      captured: the square of the capture, or -1.
      ends: whether the king was captured there, which ends the game.
    """
    row = np.empty(WORDS, np.uint64)
    # Taking the king ends the game, which the player observes as well.
    king = _ZERO if captured == NO_SQUARE else bit(captured)
    count = 0
    for i in range(len(boards)):
        b = boards[i]
        # The outcome before the move: it costs less than writing a board that is not kept.
        if revise(b, requested) != taken or capture_of(b, taken) != captured:
            continue
        if (b[KINGS] & king != _ZERO) != ends:
            continue
        play(b, taken, row)
        for word in range(WORDS):
            boards[count, word] = row[word]
        count += 1
    return count


@kernel
def keep_kings(boards: Words) -> Int:
    """Keep the boards with both kings; return their number."""
    count = 0
    for i in range(len(boards)):
        white = boards[i, WHITE]
        both = boards[i, KINGS] & white != _ZERO and boards[i, KINGS] & ~white != _ZERO
        for word in range(WORDS):
            boards[count, word] = boards[i, word]
        count += both
    return count


@allocating
def play_requested(boards: Words, requested: Int, results: NDArray[np.int32]) -> None:
    """Play a requested move on every board as it turns out there.

    Args:
      boards: (n, 8), changed in place.
      results: (n, 2) written: the move taken and the square of the capture, or -1.
    """
    row = np.empty(WORDS, np.uint64)
    for i in range(len(boards)):
        b = boards[i]
        taken = revise(b, requested)
        results[i, 0] = taken
        results[i, 1] = capture_of(b, taken)
        play(b, taken, row)
        for word in range(WORDS):
            boards[i, word] = row[word]


@kernel
def list_requests(b: Words, moves: Moves) -> Int:
    """List the moves that the side to move can request; return their number."""
    return requested_moves(b, moves)


@kernel
def find_checks(boards: Words, checks: NDArray[np.bool_]) -> None:
    """Write for each board whether the king of the side to move is attacked: (n,)."""
    for i in range(len(boards)):
        b = boards[i]
        turn = turn_of(b)
        king = b[KINGS] & (~b[WHITE] if turn else b[WHITE])
        checks[i] = king != _ZERO and attackers(b, lowest(king), turn ^ 1, occupied(b)) != _ZERO


@kernel
def count_king_captures(
    boards: Words,
    requests: NDArray[np.int32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Sum for each request the weights of the boards on which it captures the king.

    Args:
      boards, weights: (n, 8), (n,).
      requests, sums: (m,), (m,) written.
    """
    sums[:] = 0.0
    for i in range(len(boards)):
        b = boards[i]
        king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
        # Most boards leave no king to capture, and the requests need not be tried on them.
        if king == _ZERO or attackers(b, lowest(king), turn_of(b), occupied(b)) == _ZERO:
            continue
        for j in range(len(requests)):
            taken = revise(b, np.int64(requests[j]))
            if taken != NOTHING and king & bit((taken >> 6) & 63):
                sums[j] += weights[i]


@kernel
def play_requests(boards: Words, requests: NDArray[np.int32], out: Words) -> None:
    """Write every board after every request as it turns out there: out is (n, m, 8)."""
    for i in range(len(boards)):
        for j in range(len(requests)):
            play(boards[i], revise(boards[i], np.int64(requests[j])), out[i, j])
