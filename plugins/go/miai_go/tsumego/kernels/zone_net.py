"""The network of the zone's points, reckoned without torch: some twenty microseconds a position.

Features are rows of `width` numbers, one a point of the zone, in one flat array; what follows them
is a row of zeros, which stands for a neighbour that is not there, and one that nobody reads. What
does not change in a zone is found once (`zone_ground`). All weights are float32, of one dimension,
inputs first, and norms are part of them; see `miai_go.tsumego.networks.zone_arrays.ZoneArrays`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from miai.kernels.bits import lowest, popcount
from miai.kernels.lanes import LANES, add_lanes, add_products
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.planes import TARGET_BLOCK, ZONE, Ints, centre_of, find_codes, plane
from miai_go.tsumego.kernels.stones import ONE, POINTS, ZERO, Int, Words, bit
from miai_go.tsumego.kernels.zone_ground import NEIGHBOURS, TILE, Work, lay_base, lay_ground
from miai_go.tsumego.kernels.zone_rows import (
    Floats,
    add_bias,
    begin,
    begin_with,
    dot,
    pool,
    rectify,
    spread,
)

NONE = np.int64(63)
"""Where the logit of no move stands among those of the points of a zone."""

POOLED = 4
"""Rows that are pooled: mean and maximum over the zone, then over the target's block."""


class Weights(NamedTuple):
    """The weights of a network: flat float32, here with their shapes.

    Attributes:
      sight: (squares, PLANES, width), what each plane gives a point that is so far away.
      around: (2 movers, 2, squares, width), what WALL and GROUND give, with the mover's plane.
      bias: (width,), of the first layer.
      inner: (2 * blocks, 9, width, width); biases: (2 * blocks, width).
      spread: (blocks, POOLED * width, width).
      points: (width + 1,), the bias last; none: (POOLED * width + 1,), the bias last.
      hidden: (POOLED * width, units), units a multiple of 16; hidden_bias: (units,).
      value: (units + 1,), the bias last.
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
    zone: Words,
    diagonals: Words,
    facts: Ints,
    attacker: np.uint64,
    defender: np.uint64,
    width: Int,
    blocks: Int,
    weights: Any,
    work: Any,
    logits: Floats,
) -> float:
    """Return how sure it is that the target is safe, from -1 to 1; write the moves' logits.

    Args:
      zone, diagonals, facts: of the zone, see `miai_go.tsumego.kernels.planes`.
      attacker, defender: the stones; who moves first is in the work's `base`.
      weights, work: `Weights`, and `Work` after `lay_ground` and `lay_base`.
      logits: of shape (64,), written: of every point of the zone, NONE for no move; -inf where
        there is no such point, or it is beyond the window.
    """
    find_codes(zone, diagonals, facts, attacker, defender, False, work.codes)
    within, target = ZERO, ZERO
    for p in range(popcount(zone[POINTS])):
        if work.places[p] >= 0:
            within |= bit(p)
            if work.codes[p] & plane(TARGET_BLOCK):
                target |= bit(p)
    see(within, width, weights, work)
    for block in range(blocks):
        pool(within, target, width, work)
        for i in range(width):
            work.shift[i] = weights.biases[2 * block * width + i]
        spread(work.pooled, weights.spread, block * POOLED * width * width, work.shift)
        begin(within, width, work.shift, 0, work.inner)
        near(work.features, 2 * block, width, weights, work, work.inner)
        rectify(within, width, work.inner, work.zeros)
        add_bias(within, width, weights.biases, (2 * block + 1) * width, work.features)
        near(work.inner, 2 * block + 1, width, weights, work, work.features)
        rectify(within, width, work.features, work.zeros)
    pool(within, target, width, work)
    for p in range(64):
        logits[p] = -np.inf
        if within & bit(p):
            logits[p] = dot(weights.points, work.features, p * width, width)
    logits[NONE] = dot(weights.none, work.pooled, 0, POOLED * width)
    units = len(weights.hidden_bias)
    for i in range(units):
        work.units[i] = weights.hidden_bias[i]
    spread(work.pooled, weights.hidden, 0, work.units)
    for i in range(units):
        work.units[i] = max(work.units[i], np.float32(0.0))
    return math.tanh(dot(weights.value, work.units, 0, units))


@part
def see(within: np.uint64, width: Int, weights: Any, work: Any) -> None:
    """Make the first features: the base, and what the zone's points show to those about them."""
    begin_with(within, width, work.base, work.features)
    left = within
    while left:
        q = lowest(left)
        left &= left - ONE
        code = work.codes[q] & ~plane(ZONE)
        while code:
            shown = lowest(code) * width
            code &= code - ONE
            for n in range(work.seen_starts[q], work.seen_starts[q + 1]):
                to, row = work.seen[0, n], work.seen[1, n] + shown
                for v in range(0, width, LANES):
                    add_lanes(work.features, to + v, weights.sight, row + v)
    rectify(within, width, work.features, work.zeros)


@part
def near(inputs: Floats, layer: Int, width: Int, weights: Any, work: Any, out: Floats) -> None:
    """Add what each point gets from itself and its neighbours."""
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
    """Add what eight points get from eight, which loads the weights half as often."""
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
    zones: Words,
    diagonals: Words,
    facts: Ints,
    boards: Ints,
    problems: Ints,
    attackers: Words,
    defenders: Words,
    sides: Ints,
    picks: Ints,
    window: int,
    reach: int,
    width: int,
    blocks: int,
    weights: Weights,
    work: Work,
    values: Floats,
    logits: Floats,
) -> None:
    """Evaluate n positions; those of one zone, mover and centre in a row cost less.

    Args:
      picks: the stone of the target in the middle, as in `miai_go.tsumego.kernels.planes.encode`.
      reach: how far a point sees in the first layer.
      values: of shape (n,), written; logits: of shape (n, 64), written.
    """
    problem, side = np.int64(-1), np.int64(-1)
    centre: Int = np.int64(-1)
    for i in range(len(problems)):
        zone, fact = zones[problems[i]], facts[problems[i]]
        middle = centre_of(zone, fact, defenders[i], picks[i])
        if problems[i] != problem or middle != centre:
            problem, centre, side = problems[i], middle, np.int64(-1)
            lay_ground(zone, fact, boards[problem], centre, window, reach, width, work)
        if sides[i] != side:
            side = sides[i]
            lay_base(zone, side, window, reach, width, weights, work)
        values[i] = evaluate(
            zone,
            diagonals[problem],
            fact,
            attackers[i],
            defenders[i],
            width,
            blocks,
            weights,
            work,
            logits[i],
        )
