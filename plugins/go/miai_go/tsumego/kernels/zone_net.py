"""The network with features per point of a zone, as a kernel: about 20 microseconds a position.

Features are rows of `width` numbers, a multiple of `LANES`, in flat float32 arrays: row p begins at
``p * width``. The rows of the zone's points are followed by a row of zeros, for missing neighbours,
and a row that is never read. A set `points` selects rows by its bits. The *ground*, which is
constant in a zone, is computed once: the points' places in the window, the pairs of neighbours, the
pairs of points that see each other, and the sum of what walls, edge and first mover add to the
first layer. All weights are flat float32, inputs first, with norms folded in; see
`miai_go.tsumego.networks.array_nets.ArrayNet`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai.kernels.lanes import LANES, add_lanes, add_products, raise_lanes
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.planes import (
    COLUMN,
    PLANES,
    ROW,
    TARGET_BLOCK,
    ZONE,
    Ints,
    ZoneBatch,
    centre_of,
    find_codes,
    place_points,
    plane,
)
from miai_go.tsumego.kernels.stones import ONE, POINTS, ZERO, Int, Words, bit

Floats = NDArray[np.float32]

NOTHING, UNREAD = np.int64(64), np.int64(65)
"""Extra rows of features: the zeros, and the row that is never read."""
FEATURE_ROWS = 66

REACH = 2
"""Points that a point sees in each direction in the first layer."""
ACROSS = 2 * REACH + 1
HIDDEN = 64
"""Hidden units of the value, a multiple of `LANES`."""

NEIGHBOURS = 9
"""Directions from which a point receives features, its own place included."""
TILE = 4
"""Pairs of neighbours come in whole tiles."""

WALL, GROUND = 0, 1
"""Kinds of points of the board: outside the zone, or in it."""
BEYOND = np.int64(-2)
"""Marks a square off the board or outside the window."""
_WALL = np.int64(-1)


class ZoneWork(NamedTuple):
    """Work space of a network.

    Attributes:
      places: int16 of shape (64,), the points' places in the window, -1 outside it.
      squares: int64, (window + 2 * REACH) ** 2: the window with a margin, each with the point of
        the zone that is there, -1 for a wall, BEYOND for nothing.
      square: int64 of shape (64,), that of each point, BEYOND for those beyond the window.
      near: int64 of shape (2, 9 * 68): rows that get from rows, by neighbour, in fours.
      starts: int64 of shape (10,), where each neighbour's pairs begin.
      seen: int64 of shape (2, 64 * 64): rows that see a point, and the weights that they see with.
      seen_starts: int64 of shape (65,), where those of each point begin.
      codes: 64 words.
      base, features, inner: flat float32 of FEATURE_ROWS rows; the row NOTHING is 0.
      pooled: float32 of shape (POOLED * width,); shift: (width,); units: (HIDDEN,).
      zeros: float32, 16 zeros.
    """

    places: NDArray[np.int16]
    squares: Ints
    square: Ints
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
    width: Int,
    work: Any,
) -> None:
    """Find the places of a zone's points, their neighbours and the points that they see.

    Args:
      board: points on a side of the board.
      centre: the point of the zone in the middle of the window, a stone of the target.
    """
    place_points(zone, facts, centre, np.int64(0), window, work.places)
    half, side = window // 2, window + 2 * REACH
    top, first = facts[centre, ROW] - half, facts[centre, COLUMN] - half
    # The window has a margin, so that no look around a point leaves the array.
    work.squares[:] = BEYOND
    for row in range(max(0, -top), min(window, board - top)):
        for column in range(max(0, -first), min(window, board - first)):
            work.squares[(row + REACH) * side + column + REACH] = _WALL
    count = popcount(zone[POINTS])
    for p in range(count):
        work.square[p] = BEYOND
        if work.places[p] >= 0:
            row, column = facts[p, ROW] - top, facts[p, COLUMN] - first
            work.square[p] = (row + REACH) * side + column + REACH
            work.squares[work.square[p]] = p
    list_near(count, side, width, work)
    list_seen(count, side, width, work)


@part
def list_near(count: Int, side: Int, width: Int, work: Any) -> None:
    """List the pairs of neighbours, each direction in complete groups of four."""
    n = np.int64(0)
    # Pairs are sorted by direction: all of one direction are multiplied with the same matrix, which
    # stays in the cache meanwhile.
    for k in range(NEIGHBOURS):
        work.starts[k] = n
        step = (k // 3 - 1) * side + k % 3 - 1
        for p in range(count):
            if work.square[p] >= 0 and work.squares[work.square[p] + step] >= 0:
                work.near[0, n] = p * width
                work.near[1, n] = work.squares[work.square[p] + step] * width
                n += 1
        # Fill up a group with pairs that read zeros and write a row that nobody reads, so that the
        # products need no remainder loop.
        while n % TILE:
            work.near[0, n], work.near[1, n] = UNREAD * width, NOTHING * width
            n += 1
    work.starts[NEIGHBOURS] = n


@part
def list_seen(count: Int, side: Int, width: Int, work: Any) -> None:
    """List for each point those that see it, and where their weights begin."""
    n = np.int64(0)
    for q in range(count):
        work.seen_starts[q] = n
        if work.square[q] >= 0:
            for r in range(ACROSS):
                for c in range(ACROSS):
                    # A point at this distance behind sees this one at the same distance ahead.
                    p = work.squares[work.square[q] - (r - REACH) * side - (c - REACH)]
                    if p >= 0:
                        work.seen[0, n] = p * width
                        work.seen[1, n] = (r * ACROSS + c) * PLANES * width
                        n += 1
    work.seen_starts[count] = n


@part
def lay_base(zone: Words, side: Int, window: Int, width: Int, weights: Any, work: Any) -> None:
    """Sum the constant part of a zone: bias, walls, edge, first mover."""
    breadth = window + 2 * REACH
    count = popcount(zone[POINTS])
    for p in range(count):
        for i in range(width):
            work.base[p * width + i] = weights.bias[i]
    wall = (2 * side + WALL) * ACROSS * ACROSS * width
    ground = (2 * side + GROUND) * ACROSS * ACROSS * width
    for r in range(ACROSS):
        for c in range(ACROSS):
            step = (r - REACH) * breadth + c - REACH
            for p in range(count):
                square = BEYOND
                if work.square[p] >= 0:
                    square = work.squares[work.square[p] + step]
                if square != BEYOND:
                    row = ground if square >= 0 else wall
                    for v in range(0, width, LANES):
                        add_lanes(work.base, p * width + v, weights.around, row + v)
            wall += width
            ground += width


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
def pool_over(points: np.uint64, width: Int, start: Int, work: Any) -> None:
    """Write the mean of features over points from `start` of `pooled` on, then their maximum."""
    remaining = points
    while remaining:
        row = lowest(remaining) * width
        remaining &= remaining - ONE
        for v in range(0, width, LANES):
            add_lanes(work.pooled, start + v, work.features, row + v)
            raise_lanes(work.pooled, start + width + v, work.features, row + v)
    # Where no point is in the window, means and maxima are 0.
    share = np.float32(1.0) / np.float32(max(popcount(points), 1))
    for i in range(width):
        work.pooled[start + i] *= share


@part
def fill(points: np.uint64, width: Int, row: Floats, start: Int, out: Floats) -> None:
    """Set the rows of points to one row, which begins at `start`."""
    remaining = points
    while remaining:
        p = lowest(remaining) * width
        remaining &= remaining - ONE
        for i in range(width):
            out[p + i] = row[start + i]


@part
def add_bias(points: np.uint64, width: Int, row: Floats, start: Int, out: Floats) -> None:
    """Add one row, which begins at `start`, to the rows of points."""
    remaining = points
    while remaining:
        p = lowest(remaining) * width
        remaining &= remaining - ONE
        for v in range(0, width, LANES):
            add_lanes(out, p + v, row, start + v)


@part
def rectify(points: np.uint64, width: Int, out: Floats, zeros: Floats) -> None:
    """Set negative numbers to 0 in the rows of points."""
    remaining = points
    while remaining:
        p = lowest(remaining) * width
        remaining &= remaining - ONE
        for v in range(0, width, LANES):
            raise_lanes(out, p + v, zeros, 0)


@part
def dot(weights: Floats, inputs: Floats, start: Int, count: Int) -> Any:
    """Return the weighted sum of `count` inputs from `start` on; the last weight is the bias."""
    total = weights[count]
    for i in range(count):
        total += weights[i] * inputs[start + i]
    return total


NONE = np.int64(63)
"""Index of the logit of no move, among those of the zone's points."""

POOLED = 4
"""Pooled rows: mean and maximum over the zone, then over the target's block."""


class ZoneWeights(NamedTuple):
    """The weights of a network: flat float32, here with their shapes.

    Attributes:
      sight: (squares, PLANES, width), what each plane adds to a point at each distance.
      around: (2 movers, 2, squares, width), what WALL and GROUND give, with the mover's plane.
      bias: (width,), of the first layer.
      inner: (2 * blocks, 9, width, width); biases: (2 * blocks, width).
      spread: (blocks, POOLED * width, width).
      points: (width + 1,), the bias last; none: (POOLED * width + 1,), the bias last.
      hidden: (POOLED * width, HIDDEN); hidden_bias: (HIDDEN,).
      value: (HIDDEN + 1,), the bias last.
    """

    sight: Floats
    around: Floats
    bias: Floats
    inner: Floats
    biases: Floats
    spread: Floats
    points: Floats
    none: Floats
    hidden: Floats
    hidden_bias: Floats
    value: Floats


@part
def evaluate(
    batch: ZoneBatch, i: Int, width: Int, blocks: Int, weights: Any, work: Any, logits: Floats
) -> float:
    """Return the value of the target's safety, from -1 to 1; write the moves' logits.

    Args:
      i: the position of the batch; the work's `base` includes its first mover.
      weights, work: `ZoneWeights`, and `ZoneWork` after `lay_ground` and `lay_base`.
      logits: of shape (64,), written: of every point of the zone, NONE for no move; -inf where
        there is no such point, or it is beyond the window.
    """
    find_codes(batch, i, False, work.codes)
    within, target = ZERO, ZERO
    for p in range(popcount(batch.zones[batch.problems[i], POINTS])):
        if work.places[p] >= 0:
            within |= bit(p)
            if work.codes[p] & plane(TARGET_BLOCK):
                target |= bit(p)
    see(within, width, weights, work)
    for block in range(blocks):
        # What the pooled features add is the same for every point, so it is summed with the bias
        # once and the first convolution starts from it.
        pool(within, target, width, work)
        for j in range(width):
            work.shift[j] = weights.biases[2 * block * width + j]
        spread(work.pooled, weights.spread, block * POOLED * width * width, work.shift)
        fill(within, width, work.shift, 0, work.inner)
        near(work.features, 2 * block, width, weights, work, work.inner)
        rectify(within, width, work.inner, work.zeros)
        # The second convolution adds to the features in place: this is the skip connection.
        add_bias(within, width, weights.biases, (2 * block + 1) * width, work.features)
        near(work.inner, 2 * block + 1, width, weights, work, work.features)
        rectify(within, width, work.features, work.zeros)
    # The heads: a logit for each point, one for no move, and the value.
    pool(within, target, width, work)
    for p in range(64):
        logits[p] = -np.inf
        if within & bit(p):
            logits[p] = dot(weights.points, work.features, p * width, width)
    logits[NONE] = dot(weights.none, work.pooled, 0, POOLED * width)
    for j in range(HIDDEN):
        work.units[j] = weights.hidden_bias[j]
    spread(work.pooled, weights.hidden, 0, work.units)
    for j in range(HIDDEN):
        work.units[j] = max(work.units[j], np.float32(0.0))
    return math.tanh(dot(weights.value, work.units, 0, HIDDEN))


@part
def see(within: np.uint64, width: Int, weights: Any, work: Any) -> None:
    """Compute the first features: the base, and what each point sees of the zone."""
    remaining = within
    while remaining:
        p = lowest(remaining) * width
        remaining &= remaining - ONE
        for i in range(width):
            work.features[p + i] = work.base[p + i]
    remaining = within
    while remaining:
        q = lowest(remaining)
        remaining &= remaining - ONE
        code = work.codes[q] & ~plane(ZONE)  # that plane is in the base
        while code:
            # A plane that is set adds its weights to every point that sees this one; planes that
            # are not set, most of them, cost nothing.
            shown = lowest(code) * width
            code &= code - ONE
            for n in range(work.seen_starts[q], work.seen_starts[q + 1]):
                to, row = work.seen[0, n], work.seen[1, n] + shown
                for v in range(0, width, LANES):
                    add_lanes(work.features, to + v, weights.sight, row + v)
    rectify(within, width, work.features, work.zeros)


@part
def near(inputs: Floats, layer: Int, width: Int, weights: Any, work: Any, out: Floats) -> None:
    """Add the contributions of each point and its neighbours."""
    to, of = work.near[0], work.near[1]
    for k in range(NEIGHBOURS):
        first = (layer * NEIGHBOURS + k) * width * width
        n, end = work.starts[k], work.starts[k + 1]
        while n + 2 * TILE <= end:
            eight_near(inputs, weights.inner, first, width, to, of, n, out)
            n += 2 * TILE
        if n < end:
            four_near(inputs, weights.inner, first, width, to, of, n, out)


@part
def four_near(
    inputs: Floats, inner: Floats, first: Int, width: Int, to: Ints, of: Ints, n: Int, out: Floats
) -> None:
    """Add what four points get from four."""
    rows = (of[n], of[n + 1], of[n + 2], of[n + 3])
    for v in range(0, width, LANES):
        places = (to[n] + v, to[n + 1] + v, to[n + 2] + v, to[n + 3] + v)
        add_products(out, places, inputs, rows, inner, first + v, width, width)


@part
def eight_near(
    inputs: Floats, inner: Floats, first: Int, width: Int, to: Ints, of: Ints, n: Int, out: Floats
) -> None:
    """Add the contributions of eight points to eight, which loads the weights half as often."""
    rows = (
        *(of[n], of[n + 1], of[n + 2], of[n + 3]),
        *(of[n + 4], of[n + 5], of[n + 6], of[n + 7]),
    )
    for v in range(0, width, LANES):
        places = (
            *(to[n] + v, to[n + 1] + v, to[n + 2] + v, to[n + 3] + v),
            *(to[n + 4] + v, to[n + 5] + v, to[n + 6] + v, to[n + 7] + v),
        )
        add_products(out, places, inputs, rows, inner, first + v, width, width)


@kernel
def evaluate_all(
    batch: ZoneBatch,
    window: int,
    width: int,
    blocks: int,
    weights: ZoneWeights,
    work: ZoneWork,
    values: Floats,
    logits: Floats,
) -> None:
    """Evaluate n positions; those of one zone, mover and centre in a row cost less.

    Args:
      values: of shape (n,), written; logits: of shape (n, 64), written.
    """
    last, last_side = np.int64(-1), np.int64(-1)
    centre: Int = np.int64(-1)
    for i in range(len(batch.problems)):
        problem, side = batch.problems[i], batch.sides[i]
        zone, facts = batch.zones[problem], batch.facts[problem]
        middle = centre_of(zone, facts, batch.defenders[i], batch.picks[i])
        if problem != last or middle != centre:
            last, centre, last_side = problem, middle, np.int64(-1)
            lay_ground(zone, facts, batch.boards[problem], centre, window, width, work)
        # Zones come with both first movers in turn, which share everything but the base.
        if side != last_side:
            last_side = side
            lay_base(zone, side, window, width, weights, work)
        values[i] = evaluate(batch, i, width, blocks, weights, work, logits[i])
