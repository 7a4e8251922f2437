"""The ground of a network that lives in the zone: what of it does not change while it is searched.

Where the points are in the window, who neighbours whom, who sees whom, and the sum of what walls,
edge and first mover give to the first layer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import popcount
from miai.kernels.lanes import LANES, add_lanes
from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.planes import COLUMN, PLANES, ROW, Ints, place_points
from miai_go.tsumego.kernels.stones import POINTS, Int, Words

Floats = NDArray[np.float32]

NOTHING, UNREAD = np.int64(64), np.int64(65)
"""Rows of features: zeros, and what nobody reads."""
FEATURE_ROWS = 66

NEIGHBOURS = 9
"""Directions in which a point gets from points, its own place among them."""
TILE = 4
"""Pairs of neighbours come in whole tiles."""

WALL, GROUND = 0, 1
"""What a point of the board is: beyond the zone, or of it."""
BEYOND = np.int64(-2)
"""As a square, or as what is there: nothing, since it is off the board or beyond the window."""
_WALL = np.int64(-1)


class Work(NamedTuple):
    """Where a network works.

    Attributes:
      places: int16 of shape (64,), the points' places in the window, -1 beyond it.
      squares: int64, (window + 2 * reach) ** 2: the window with a margin, each with the point of
        the zone that is there, -1 for a wall, BEYOND for nothing.
      at: int64 of shape (64,), the square of each point, BEYOND for those beyond the window.
      near: int64 of shape (2, 9 * 68): rows that get from rows, by neighbour, in fours.
      starts: int64 of shape (10,), where each neighbour's pairs begin.
      seen: int64 of shape (2, 64 * 64): rows that see a point, and the weights that they see with.
      seen_starts: int64 of shape (65,), where those of each point begin.
      codes: 64 words.
      base, features, inner: flat float32 of FEATURE_ROWS rows; the row NOTHING is 0.
      pooled: float32 of shape (POOLED * width,); shift: (width,); units: of the hidden layer.
      zeros: float32, 16 zeros.
    """

    places: NDArray[np.int16]
    squares: Ints
    at: Ints
    near: Ints
    starts: Ints
    seen: Ints
    seen_starts: Ints
    codes: Words
    base: Floats
    features: Floats
    inner: Floats
    pooled: Floats
    shift: Floats
    units: Floats
    zeros: Floats


@part
def lay_ground(
    zone: Words,
    facts: Ints,
    board: Int,
    centre: Int,
    window: Int,
    reach: Int,
    width: Int,
    work: Any,
) -> None:
    """Find where a zone's points are, and who neighbours and who sees whom.

    Args:
      board: points on a side of the board.
      centre: the point of the zone in the middle of the window, a stone of the target.
    """
    place_points(zone, facts, centre, np.int64(0), window, work.places)
    half, side = window // 2, window + 2 * reach
    top, left = facts[centre, ROW] - half, facts[centre, COLUMN] - half
    work.squares[:] = BEYOND
    for row in range(max(0, -top), min(window, board - top)):
        for column in range(max(0, -left), min(window, board - left)):
            work.squares[(row + reach) * side + column + reach] = _WALL
    count = popcount(zone[POINTS])
    for p in range(count):
        work.at[p] = BEYOND
        if work.places[p] >= 0:
            row, column = facts[p, ROW] - top, facts[p, COLUMN] - left
            work.at[p] = (row + reach) * side + column + reach
            work.squares[work.at[p]] = p
    list_near(count, side, width, work)
    list_seen(count, side, reach, width, work)


@part
def list_near(count: Int, side: Int, width: Int, work: Any) -> None:
    """List the pairs of neighbours, each direction in whole fours."""
    n = np.int64(0)
    for k in range(NEIGHBOURS):
        work.starts[k] = n
        step = (k // 3 - 1) * side + k % 3 - 1
        for p in range(count):
            if work.at[p] >= 0 and work.squares[work.at[p] + step] >= 0:
                work.near[0, n] = p * width
                work.near[1, n] = work.squares[work.at[p] + step] * width
                n += 1
        while n % TILE:
            work.near[0, n], work.near[1, n] = UNREAD * width, NOTHING * width
            n += 1
    work.starts[NEIGHBOURS] = n


@part
def list_seen(count: Int, side: Int, reach: Int, width: Int, work: Any) -> None:
    """List for each point those that see it, and where the weights of that distance begin."""
    n, across = np.int64(0), 2 * reach + 1
    for q in range(count):
        work.seen_starts[q] = n
        if work.at[q] >= 0:
            for r in range(across):
                for c in range(across):
                    # A point that is so far back sees this one so far ahead.
                    p = work.squares[work.at[q] - (r - reach) * side - (c - reach)]
                    if p >= 0:
                        work.seen[0, n] = p * width
                        work.seen[1, n] = (r * across + c) * PLANES * width
                        n += 1
    work.seen_starts[count] = n


@part
def lay_base(
    zone: Words, side: Int, window: Int, reach: Int, width: Int, weights: Any, work: Any
) -> None:
    """Sum what does not change in a zone: bias, walls, edge, who moves first."""
    across, breadth = 2 * reach + 1, window + 2 * reach
    count = popcount(zone[POINTS])
    for p in range(count):
        for i in range(width):
            work.base[p * width + i] = weights.bias[i]
    wall = (2 * side + WALL) * across * across * width
    ground = (2 * side + GROUND) * across * across * width
    for r in range(across):
        for c in range(across):
            step = (r - reach) * breadth + c - reach
            for p in range(count):
                found = BEYOND
                if work.at[p] >= 0:
                    found = work.squares[work.at[p] + step]
                if found != BEYOND:
                    row = ground if found >= 0 else wall
                    for v in range(0, width, LANES):
                        add_lanes(work.base, p * width + v, weights.around, row + v)
            wall += width
            ground += width
