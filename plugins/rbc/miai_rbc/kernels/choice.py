"""Kernels of move choice: kings to capture, checks, and the outcomes of requests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_rbc.kernels import kernel
from miai_rbc.kernels.bits import Words, bit
from miai_rbc.kernels.board import KINGS, NOTHING, WHITE, occupied, play, turn_of
from miai_rbc.kernels.engine import attackers
from miai_rbc.kernels.moves import revise

_NONE = np.uint64(0)


@kernel
def find_checks(boards: Words, checks: NDArray[np.bool_]) -> None:
    """Write for each board whether the king of the side to move is attacked: (n,)."""
    for i in range(len(boards)):
        b = boards[i]
        turn = turn_of(b)
        king = b[KINGS] & (~b[WHITE] if turn else b[WHITE])
        checks[i] = king != _NONE and attackers(b, lowest(king), turn ^ 1, occupied(b)) != _NONE


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
        if king == _NONE or attackers(b, lowest(king), turn_of(b), occupied(b)) == _NONE:
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
