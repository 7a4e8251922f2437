"""Scans: strategies that choose the window to sense from the belief.

A scan gives every window a value; the window with the greatest is sensed, the first of equals. A
window is named by its centre, one of the 36 inner squares, which dominate the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.scan import WINDOWS, count_outcomes, count_pieces, move_entries, sum_logs
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.buffers import POOL

Values = NDArray[np.float64]

CENTRES = tuple(8 * (1 + window // 6) + 1 + window % 6 for window in range(WINDOWS))
"""The square at the centre of each window."""

NO_WEIGHTS = np.zeros(0)
_TINY_WEIGHT = 1e-300  # avoids division by zero
_FIRST_TABLE = 1 << 12  # outcomes; it grows with them


@dataclass(frozen=True, slots=True)
class ScanOutcomes:
    """How a belief would split under each of the 36 windows.

    Attributes:
      tables: float64 (36, m), the weights of the distinct outcomes of each window, among zeros.
      total: the weight of all boards.
    """

    tables: Values
    total: float

    @property
    def sums(self) -> tuple[Values, ...]:
        """The weights of the outcomes of each window, unordered."""
        return tuple(table[table > 0] for table in self.tables)

    def entropy(self) -> Values:
        """Return the entropy of the outcomes of each window in bits: float64 (36,)."""
        sums_of_logs = np.empty(WINDOWS)
        sum_logs(self.tables, sums_of_logs)
        total = max(self.total, _TINY_WEIGHT)
        return np.asarray(np.log2(total) - sums_of_logs / total)


def outcomes(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> ScanOutcomes:
    """Return the exact outcomes of all 36 windows, in one pass over the boards.

    Args:
      player: the player of the belief, whose own pieces are the same on all boards.
      weights: (n,) of the boards; without them each counts one.
    """
    keys, sums = _tables(min(_FIRST_TABLE, 2 << len(boards).bit_length()))
    used = np.zeros(WINDOWS, np.int64)
    done = 0
    while True:
        done = count_outcomes(boards.rows, weights, player, keys, sums, used, done)
        if done == len(boards):
            break
        keys, sums = _enlarged(keys, sums)
    return ScanOutcomes(sums, float(weights.sum()) if len(weights) else float(len(boards)))


def partition(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """Value windows by how well their centre alone would split the boards (the rule of rbc-seed).

    The rarer the commonest content of the square, an empty one included, the better.
    """
    counts = np.zeros((64, 13))
    count_pieces(boards.rows, weights, counts)
    return np.asarray(-counts.max(axis=1)[list(CENTRES)])


def entropy(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """Value windows by the entropy of their outcome."""
    return outcomes(boards, player).entropy()


def weighted(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """As `entropy`, with weighted boards."""
    return outcomes(boards, player, weights).entropy()


Scan = Callable[[BoardSet, int, Values], Values]
"""Called with a belief, its player and weights, which may be empty; returns (36,) values."""

SCANS: Mapping[str, Scan] = {"partition": partition, "entropy": entropy, "weighted": weighted}


def best_window(values: Values) -> int:
    """Return the centre of the window of the greatest value."""
    return CENTRES[int(np.argmax(values))]


def _tables(size: int) -> tuple[Words, Values]:
    """Return empty tables: keys and sums, (36, size) each."""
    words = POOL.take(2 * WINDOWS * size).reshape(2, WINDOWS, size)
    words[:] = 0
    return words[0], words[1].view(np.float64)


def _enlarged(keys: Words, sums: Values) -> tuple[Words, Values]:
    """Return tables four times as long, with the same entries."""
    larger, larger_sums = _tables(4 * keys.shape[1])
    for window in range(WINDOWS):
        move_entries(keys[window], sums[window], larger[window], larger_sums[window])
    return larger, larger_sums
