"""Rows of features, one a point of a zone, and what is done with whole rows.

Row p of an array begins at ``p * width``; `points` says as bits which rows are meant. All arrays
are float32 and flat, and a row is a multiple of `LANES` numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai.kernels.lanes import LANES, add_lanes, add_products, raise_lanes
from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.stones import ONE, Int

Floats = NDArray[np.float32]


@part
def spread(inputs: Floats, weights: Floats, first: Int, out: Floats) -> None:
    """Add a layer's outputs for one row of inputs; the weights begin at `first`."""
    for v in range(0, len(out), LANES):
        add_products(out, (v,), inputs, (0,), weights, first + v, len(out), len(inputs))


@part
def pool(within: np.uint64, target: np.uint64, width: Int, work: Any) -> None:
    """Write means and maxima of features over the zone and over the target's block."""
    work.pooled[:] = np.float32(0.0)
    pool_over(within, width, 0, work)
    pool_over(target, width, 2 * width, work)


@part
def pool_over(points: np.uint64, width: Int, at: Int, work: Any) -> None:
    """Write the mean of features over points at `at` of `pooled`, then their maximum."""
    left = points
    while left:
        row = lowest(left) * width
        left &= left - ONE
        for v in range(0, width, LANES):
            add_lanes(work.pooled, at + v, work.features, row + v)
            raise_lanes(work.pooled, at + width + v, work.features, row + v)
    share = np.float32(1.0) / np.float32(max(popcount(points), 1))
    for i in range(width):
        work.pooled[at + i] *= share


@part
def begin(points: np.uint64, width: Int, row: Floats, start: Int, out: Floats) -> None:
    """Set the rows of points to one row, which begins at `start`."""
    left = points
    while left:
        p = lowest(left) * width
        left &= left - ONE
        for i in range(width):
            out[p + i] = row[start + i]


@part
def begin_with(points: np.uint64, width: Int, rows: Floats, out: Floats) -> None:
    """Set the rows of points to their own rows of another array."""
    left = points
    while left:
        p = lowest(left) * width
        left &= left - ONE
        for i in range(width):
            out[p + i] = rows[p + i]


@part
def add_bias(points: np.uint64, width: Int, row: Floats, start: Int, out: Floats) -> None:
    """Add one row, which begins at `start`, to the rows of points."""
    left = points
    while left:
        p = lowest(left) * width
        left &= left - ONE
        for v in range(0, width, LANES):
            add_lanes(out, p + v, row, start + v)


@part
def rectify(points: np.uint64, width: Int, out: Floats, zeros: Floats) -> None:
    """Set what is below 0 to 0 in the rows of points."""
    left = points
    while left:
        p = lowest(left) * width
        left &= left - ONE
        for v in range(0, width, LANES):
            raise_lanes(out, p + v, zeros, 0)


@part
def dot(weights: Floats, inputs: Floats, at: Int, count: Int) -> Any:
    """Return the weighted sum of so many inputs from `at` on; the last weight is the bias."""
    total = weights[count]
    for i in range(count):
        total += weights[i] * inputs[at + i]
    return total
