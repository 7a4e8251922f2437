"""Outcomes of senses in all 36 windows, and the contents of each square."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai.kernels.shared import GOLDEN, slot_of
from miai_rbc.kernels import allocating, inlined, kernel
from miai_rbc.kernels.bitboards import U64, Words
from miai_rbc.kernels.board import WHITE

WINDOWS = 36
"""The 3x3 windows inside the board: window ``6 * (rank - 1) + (file - 1)`` by their centre."""

_ONE = np.uint64(1)
_BLOCK = 512  # boards counted together, so that a window's table stays in the cache
_ROW = np.uint64(0xFFF)
_12, _24 = np.uint64(12), np.uint64(24)
_SPREAD = GOLDEN  # Fibonacci hashing: its upper bits depend on all bits of an outcome


@inlined
def _read_rows(b: Words, mine: int, rows: Words) -> None:
    """Write the board as eight ranks of eight codes of four bits.

    0 is empty, 1 to 6 the opponent's pieces. The player's pieces are the same on all boards of a
    belief and are left out.
    """
    # A rank is one word, so a window is three shifts and masks.
    for rank in range(8):
        rows[rank] = 0
    theirs = b[WHITE] if mine else ~b[WHITE]
    for kind in range(6):
        remaining = b[kind] & theirs
        while remaining:
            square = lowest(remaining)
            remaining &= remaining - _ONE
            rows[square >> 3] |= U64((kind + 1) << (4 * (square & 7)))


@allocating
def count_outcomes(
    boards: Words,
    weights: NDArray[np.float64],
    mine: int,
    keys: Words,
    sums: NDArray[np.float64],
    used: NDArray[np.int64],
    first: int,
) -> int:
    """Sum the weights of every outcome of every window; return the next board.

    Stops when a table might become more than half full, to continue with larger ones.

    Args:
      boards: (n, 8); those from `first` on are counted.
      weights: (n,), or (0,) for one each.
      mine: the player of the belief, 0 for White.
      keys, sums: (36, m) tables, m a power of two: outcome plus one, and its weight.
      used: (36,) the number of outcomes in each.
    """
    ranks = np.empty((_BLOCK, 8), np.uint64)
    last = keys.shape[1] - 1
    shift = np.uint64(64 - popcount(U64(last)))
    for begin in range(first, len(boards), _BLOCK):
        # Each board may have a new outcome in every window.
        size = min(_BLOCK, len(boards) - begin)
        for window in range(WINDOWS):
            if used[window] + size > keys.shape[1] // 2:
                return begin
        # Read a block of boards once, then count it window by window.
        for i in range(size):
            _read_rows(boards[begin + i], mine, ranks[i])
        for window in range(WINDOWS):
            table, rank, move = keys[window], window // 6, U64(4 * (window % 6))
            for i in range(size):
                # Three ranks of three codes are 36 bits; plus one, as 0 is an empty slot.
                key = (
                    ((ranks[i, rank] >> move) & _ROW)
                    | ((ranks[i, rank + 1] >> move) & _ROW) << _12
                    | ((ranks[i, rank + 2] >> move) & _ROW) << _24
                ) + _ONE
                weight = weights[begin + i] if len(weights) else 1.0
                # Not `slot_of`: most outcomes are there already, and are found by one comparison.
                slot = np.int64((key * _SPREAD) >> shift)
                while table[slot] != key:
                    if table[slot] == 0:
                        table[slot] = key
                        used[window] += 1
                        break
                    slot = (slot + 1) & last
                sums[window, slot] += weight
    return len(boards)


@kernel
def sum_logs(sums: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write the sum of ``w log2 w`` over the outcomes of each window: (36,).

    Args:
      sums: (36, m) the weights of outcomes, among zeros.
    """
    for window in range(len(sums)):
        logs = 0.0
        for weight in sums[window]:
            if weight > 0.0:
                logs += weight * np.log2(weight)
        out[window] = logs


@kernel
def count_pieces(boards: Words, weights: NDArray[np.float64], counts: NDArray[np.float64]) -> None:
    """Sum the weights of every piece on every square.

    Args:
      boards, weights: as in `count_outcomes`.
      counts: (64, 13) written: 0 to 5 White's pieces, 6 to 11 Black's, 12 empty.
    """
    counts[:] = 0.0
    total = 0.0
    for i in range(len(boards)):
        weight = weights[i] if len(weights) else 1.0
        total += weight
        white = boards[i, WHITE]
        for kind in range(6):
            remaining = boards[i, kind]
            while remaining:
                square = lowest(remaining)
                remaining &= remaining - _ONE
                colour = 1 - np.int64((white >> U64(square)) & _ONE)
                counts[square, 6 * colour + kind] += weight
    for square in range(64):
        counts[square, 12] = total - counts[square, :12].sum()


@kernel
def move_entries(
    keys: Words,
    sums: NDArray[np.float64],
    to_keys: Words,
    to_sums: NDArray[np.float64],
) -> None:
    """Copy one window's table into a longer, empty one."""
    shift = np.uint64(64 - popcount(U64(len(to_keys) - 1)))
    for entry in range(len(keys)):
        if keys[entry]:
            slot = slot_of(to_keys, keys[entry], np.int64((keys[entry] * _SPREAD) >> shift))
            to_keys[slot] = keys[entry]
            to_sums[slot] = sums[entry]
