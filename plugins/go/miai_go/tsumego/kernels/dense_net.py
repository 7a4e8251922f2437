"""The fully connected network as a kernel, about ten microseconds a position.

Its input is sparse bits, so that the first layer is a sum of columns. The part that is constant in
a zone, wall and edge of the board, is summed once (`prepare`); the zone's points are added for each
position. In later layers, inputs that are zero cost nothing.

The weights of one input to all outputs are contiguous; see `DenseWeights`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.planes import (
    ATTACKER_FIRST,
    COLUMN,
    DEFENDER_FIRST,
    LIBERTIES,
    OPPOSITE,
    ROW,
    SIZES,
    Ints,
    ZoneBatch,
    centre_of,
    find_codes,
    place_points,
)
from miai_go.tsumego.kernels.stones import ATTACKER, ONE, POINTS, Int, Words

Floats = NDArray[np.float32]

NONE = np.int64(63)
"""Index of the logit of no move, among those of the zone's points."""
_ZERO = np.float32(0.0)


class DenseWeights(NamedTuple):
    """The weights of a network, float32.

    Attributes:
      first: of shape (planes * window ** 2, width); bias: of shape (width,).
      inner: the blocks' layers, of shape (2 * blocks, width, width), inputs first.
      biases: theirs, of shape (2 * blocks, width).
      value: of shape (width + 1,), the bias last.
      policy: of shape (width, window ** 2 + 1); policy_bias: of shape (window ** 2 + 1,).
    """

    first: Floats
    bias: Floats
    inner: Floats
    biases: Floats
    value: Floats
    policy: Floats
    policy_bias: Floats


class DenseWork(NamedTuple):
    """Work space of a network.

    Attributes:
      places: int16 of shape (64,), the points' places in the window, -1 outside it.
      base: float32 of shape (width,), the first layer without the zone's points.
      codes: 64 words.
      room: float32 of shape (4, at least width and window ** 2 + 1).
    """

    places: NDArray[np.int16]
    base: Floats
    codes: Words
    room: Floats


@part
def add_row(rows: Floats, row: Int, out: Floats) -> None:
    """Add one row to a vector."""
    for i in range(len(out)):
        out[i] += rows[row, i]


@part
def prepare(
    zone: Words,
    facts: Ints,
    board: Int,
    centre: Int,
    side: Int,
    window: Int,
    weights: DenseWeights,
    work: DenseWork,
) -> None:
    """Sum the contribution of a zone's surroundings to the first layer; find its points' places.

    Args:
      board: points on a side of the board.
      centre: the point of the zone in the middle of the window, a stone of the target.
      side: the side that moves first.
      work: its `places` and `base` are written.
    """
    places, base = work.places, work.base
    place_points(zone, facts, centre, np.int64(0), window, places)
    area, half = window * window, window // 2
    mover = ATTACKER_FIRST if side == ATTACKER else DEFENDER_FIRST
    for i in range(len(base)):
        base[i] = weights.bias[i]
    count = popcount(zone[POINTS])
    for row in range(window):
        for column in range(window):
            r = facts[centre, ROW] + row - half
            c = facts[centre, COLUMN] + column - half
            if not (0 <= r < board and 0 <= c < board):
                continue
            place = row * window + column
            add_row(weights.first, mover * area + place, base)
            within = False
            for p in range(count):
                within |= places[p] == place
            # All that is beyond the zone is wall: four liberties and more, four stones and more.
            if not within:
                add_row(weights.first, OPPOSITE * area + place, base)
                add_row(weights.first, (LIBERTIES + 3) * area + place, base)
                add_row(weights.first, (SIZES + 3) * area + place, base)


@part
def evaluate(
    batch: ZoneBatch,
    i: Int,
    window: Int,
    few: bool,
    weights: DenseWeights,
    work: DenseWork,
    logits: Floats,
) -> float:
    """Return the value of the target's safety, from -1 to 1; write the moves' logits.

    Args:
      i: the position of the batch; the work's `base` includes its first mover.
      few: whether the network takes only the reference's planes.
      work: after `prepare`.
      logits: of shape (64,), written: of every point of the zone, NONE for no move; -inf where
        there is no such point, or it is beyond the window.
    """
    places, codes, room = work.places, work.codes, work.room
    width, area = len(work.base), window * window
    units, hidden, outer = room[0, :width], room[1, :width], room[2, :width]
    # The first layer: the surroundings, then a row of weights for each plane of each point.
    for j in range(width):
        units[j] = work.base[j]
    find_codes(batch, i, few, codes)
    count = popcount(batch.zones[batch.problems[i], POINTS])
    for p in range(count):
        if places[p] >= 0:
            rest = codes[p]
            while rest:
                add_row(weights.first, lowest(rest) * area + places[p], units)
                rest &= rest - ONE
    rectify(units)
    # The residual blocks.
    for block in range(len(weights.inner) // 2):
        layer(weights.inner[2 * block], weights.biases[2 * block], units, hidden)
        rectify(hidden)
        layer(weights.inner[2 * block + 1], weights.biases[2 * block + 1], hidden, outer)
        for j in range(width):
            units[j] += outer[j]
        rectify(units)
    # The heads; the window's logits are read at the places of the zone's points.
    total = weights.value[width]
    for j in range(width):
        total += weights.value[j] * units[j]
    answers = room[3, : area + 1]
    layer(weights.policy, weights.policy_bias, units, answers)
    for p in range(64):
        logits[p] = -np.inf
        if p < count and places[p] >= 0:
            logits[p] = answers[places[p]]
    logits[NONE] = answers[area]
    return math.tanh(total)


@part
def layer(weights: Floats, bias: Floats, inputs: Floats, out: Floats) -> None:
    """Write a layer's outputs; inputs that are 0 cost nothing."""
    for i in range(len(out)):
        out[i] = bias[i]
    for j in range(len(inputs)):
        x = inputs[j]
        if x != _ZERO:
            for i in range(len(out)):
                out[i] += x * weights[j, i]


@part
def rectify(units: Floats) -> None:
    """Set negative numbers to 0."""
    for i in range(len(units)):
        units[i] = max(units[i], _ZERO)


@kernel
def evaluate_all(
    batch: ZoneBatch,
    window: int,
    few: bool,
    weights: DenseWeights,
    work: DenseWork,
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
        if problem != last or side != last_side or middle != centre:
            last, last_side, centre = problem, side, middle
            prepare(zone, facts, batch.boards[problem], centre, side, window, weights, work)
        values[i] = evaluate(batch, i, window, few, weights, work, logits[i])
