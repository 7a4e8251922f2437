"""Scanning strategies: which window to sense. All see the belief alone.

A strategy gives every window a value, greater is better; the best is sensed, of equal ones the
first. A window is named by its centre, one of the 36 inner squares, which dominate the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_rbc.board_set import BoardSet
from miai_rbc.kernels.scan import WINDOWS, count_outcomes, count_pieces, move_entries

Values = NDArray[np.float64]

CENTRES = tuple(8 * (1 + window // 6) + 1 + window % 6 for window in range(WINDOWS))
"""The square at the centre of each window."""

NO_WEIGHTS = np.zeros(0)
_SMALLEST_TABLE = 1 << 12


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How a belief would split under each of the 36 windows.

    Attributes:
      sums: for each window the weights of its distinct outcomes, float64, in no order.
      total: their sum.
    """

    sums: tuple[Values, ...]
    total: float


def outcomes(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Outcomes:
    """Return the exact outcomes of all 36 windows, in one pass over the boards.

    Args:
      player: whose belief it is; its own pieces are the same on all boards.
      weights: (n,) of the boards; without them each counts one.
    """
    size = _SMALLEST_TABLE
    keys, sums = np.zeros((WINDOWS, size), np.uint64), np.zeros((WINDOWS, size))
    used = np.zeros(WINDOWS, np.int64)
    at = 0
    while True:
        at = count_outcomes(boards.rows, weights, player, keys, sums, used, at)
        if at == len(boards):
            break
        keys, sums = _enlarged(keys, sums)
    total = float(weights.sum()) if len(weights) else float(len(boards))
    return Outcomes(tuple(s[k != 0] for s, k in zip(sums, keys, strict=True)), total)


def partition(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """Value squares by how well a look at each alone would split the boards (the seed's rule).

    On each square the pieces that stand there are counted, nothing among them; the smaller the
    largest count, the better the square. Of a window the centre counts.
    """
    counts = np.zeros((64, 13))
    count_pieces(boards.rows, weights, counts)
    return np.asarray(-counts.max(axis=1)[list(CENTRES)])


def expected_size(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """Value windows by the number of boards expected to be left, the fewer the better."""
    found = outcomes(boards, player)
    return np.array([-np.square(sums).sum() for sums in found.sums]) / max(found.total, 1.0)


def entropy(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """Value windows by the bits of information that their outcome is expected to give."""
    return _entropies(outcomes(boards, player))


def max_size(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """Value windows by the most boards that may be left, the fewer the better."""
    return np.array([-sums.max(initial=0.0) for sums in outcomes(boards, player).sums])


def weighted(boards: BoardSet, player: int, weights: Values = NO_WEIGHTS) -> Values:
    """As `entropy`, each board as probable as its weight says."""
    return _entropies(outcomes(boards, player, weights))


Scan = Callable[[BoardSet, int, Values], Values]
"""Called with a belief, its player and weights, which may be empty; returns (36,) values."""

SCANS: Mapping[str, Scan] = {
    "partition": partition,
    "expected_size": expected_size,
    "entropy": entropy,
    "max_size": max_size,
    "weighted": weighted,
}


def best_window(values: Values) -> int:
    """Return the centre of the window of the greatest value."""
    return CENTRES[int(np.argmax(values))]


def _entropies(found: Outcomes) -> Values:
    values = np.zeros(WINDOWS)
    for window, sums in enumerate(found.sums):
        shares = sums[sums > 0] / found.total
        values[window] = -(shares * np.log2(shares)).sum()
    return values


def _enlarged(keys: NDArray[np.uint64], sums: Values) -> tuple[NDArray[np.uint64], Values]:
    """Return the tables four times as long, with the same entries."""
    size = 4 * keys.shape[1]
    larger, larger_sums = np.zeros((WINDOWS, size), np.uint64), np.zeros((WINDOWS, size))
    for window in range(WINDOWS):
        move_entries(keys[window], sums[window], larger[window], larger_sums[window])
    return larger, larger_sums
