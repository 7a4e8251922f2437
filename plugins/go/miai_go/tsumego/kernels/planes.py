"""Positions of zones as planes, on a square window centred on a stone of the target.

Everything outside the zone counts as the attacker's wall. A point's *code* has one bit for each
plane. The codes become planes for torch, and are the input of the networks in kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai_go.tsumego.kernels import inlined, kernel, part
from miai_go.tsumego.kernels.judging import eye_points
from miai_go.tsumego.kernels.stones import (
    ATTACKER,
    DEFENDER,
    ONE,
    OPEN,
    POINTS,
    TARGET,
    U64,
    ZERO,
    Int,
    Words,
    bit,
    block_at,
    captured_by,
    has_liberty,
)

Ints = NDArray[np.int64]

# Planes, in order; the first 14 are the reference's.
ATTACKER_FIRST, DEFENDER_FIRST, OWN, OPPOSITE, TARGET_BLOCK, EYE = 0, 1, 2, 3, 4, 5
LIBERTIES, SIZES = 6, 10  # 1, 2, 3, 4 and more
ZONE, TARGET_LIBERTY, POSSIBLE_EYE, NAKADE, EULER, NO_ATTACKER, NO_DEFENDER = range(14, 21)
PLANES = 21
FEW_PLANES = 14

# Columns of `facts`, (64, FACTS): a point's row and column, and of its diagonal neighbours how many
# are on the board beyond the zone, and how many are off the board.
ROW, COLUMN, WALLS, OFF = range(4)
FACTS = 4

NEAREST = -1
"""As a pick: the stone of the target nearest to its middle."""


@inlined
def plane(number: Int) -> np.uint64:
    """Return the code of one plane."""
    code: np.uint64 = ONE << U64(number)
    return code


@kernel
def lay_out(zone: Words, size: int, facts: Ints, diagonals: Words) -> None:
    """Compute what planes need about a zone in addition to its words.

    Args:
      size: points on a side of the board.
      facts: int64 of shape (64, FACTS), with ROW and COLUMN filled in; the rest is written.
      diagonals: uint64 of shape (64,): the diagonal neighbours within the zone, written.
    """
    count = popcount(zone[POINTS])
    for p in range(count):
        row, column = facts[p, ROW], facts[p, COLUMN]
        within, off, near = np.int64(0), np.int64(0), ZERO
        # Pairs of all points: a zone is laid out once, and has 63 of them at most.
        for q in range(count):
            if abs(facts[q, ROW] - row) == 1 and abs(facts[q, COLUMN] - column) == 1:
                near |= bit(q)
                within += 1
        for dr in (-1, 1):
            for dc in (-1, 1):
                if not (0 <= row + dr < size and 0 <= column + dc < size):
                    off += 1
        diagonals[p] = near
        facts[p, OFF] = off
        facts[p, WALLS] = 4 - off - within


@kernel
def target_blocks(zone: Words, defenders: Words, out: Words) -> None:
    """Write the block of the target in n positions of a zone into `out`, uint64 of shape (n,)."""
    for i in range(len(out)):
        out[i] = block_at(zone, defenders[i], lowest(zone[TARGET]))[0]


class ZoneBatch(NamedTuple):
    """n positions, of zones that are numbered.

    Attributes:
      zones: uint64 of shape (zones, 67).
      diagonals, facts: of shapes (zones, 64) and (zones, 64, FACTS), from `lay_out`.
      boards: int64 of shape (zones,), points on a side of the board.
      problems: int64 of shape (n,), which zone each position is of.
      attackers, defenders: uint64 of shape (n,), the stones within the zone.
      sides: int64 of shape (n,), the side that moves first, 0 the attacker.
      picks: int64 of shape (n,), the target's stone in the centre, modulo their number, or NEAREST.
    """

    zones: Words
    diagonals: Words
    facts: Ints
    boards: Ints
    problems: Ints
    attackers: Words
    defenders: Words
    sides: Ints
    picks: Ints


@kernel
def encode(
    batch: ZoneBatch,
    turns: Ints,
    window: int,
    out: NDArray[np.uint8],
    places: NDArray[np.int16],
    codes: Words,
) -> None:
    """Write the planes of n positions, and where the points of their zones are in the window.

    Args:
      turns: symmetries of the positions, numbered as in `miai_go.rules.symmetry`.
      window: points on a side, odd.
      out: of shape (n, 14 or 21, window * window), written.
      places: of shape (n, 64): the point of the window, -1 beyond it and beyond the zone; written.
      codes: work space, 64 words.
    """
    few = out.shape[1] == FEW_PLANES
    for i in range(len(batch.problems)):
        problem = batch.problems[i]
        zone, facts = batch.zones[problem], batch.facts[problem]
        centre = centre_of(zone, facts, batch.defenders[i], batch.picks[i])
        place_points(zone, facts, centre, turns[i], window, places[i])
        paint_board(facts, batch.boards[problem], centre, turns[i], batch.sides[i], window, out[i])
        find_codes(batch, i, few, codes)
        for p in range(popcount(zone[POINTS])):
            place = places[i, p]
            if place >= 0:
                # Erase the wall; the board's own plane stays.
                out[i, OPPOSITE, place] = 0
                out[i, LIBERTIES + 3, place] = 0
                out[i, SIZES + 3, place] = 0
                rest = codes[p]
                while rest:
                    out[i, lowest(rest), place] = 1
                    rest &= rest - ONE


@part
def centre_of(zone: Words, facts: Ints, defender: np.uint64, pick: Int) -> Int:
    """Return the stone of the target in the centre of the window."""
    # In training the window moves over the target, so that no place in it gets a meaning of its
    # own; otherwise it stays where most of the target is seen.
    block, _rim = block_at(zone, defender, lowest(zone[TARGET]))
    count = popcount(block)
    if pick >= 0:
        remaining = block
        for _ in range(pick % count):
            remaining &= remaining - ONE
        stone: np.int64 = lowest(remaining)
        return stone
    rows, columns = np.int64(0), np.int64(0)
    remaining = block
    while remaining:
        p = lowest(remaining)
        remaining &= remaining - ONE
        rows += facts[p, ROW]
        columns += facts[p, COLUMN]
    best: Int = lowest(block)
    nearest: Int = np.int64(1 << 40)
    remaining = block
    while remaining:
        p = lowest(remaining)
        remaining &= remaining - ONE
        # Times `count`, so that the mean of the stones stays a whole number.
        away = (facts[p, ROW] * count - rows) ** 2 + (facts[p, COLUMN] * count - columns) ** 2
        if away < nearest:
            best, nearest = p, away
    return best


@part
def turned(row: Int, column: Int, turn: Int, window: Int) -> Int:
    """Return the point of the window that (row, column) becomes under a symmetry."""
    if turn & 1:
        row = window - 1 - row
    if turn & 2:
        column = window - 1 - column
    if turn & 4:
        row, column = column, row
    point: Int = row * window + column
    return point


@part
def place_points(
    zone: Words, facts: Ints, centre: Int, turn: Int, window: Int, places: NDArray[np.int16]
) -> None:
    """Write the place of each point of the zone in the window, -1 if outside."""
    half = window // 2
    count = popcount(zone[POINTS])
    for p in range(64):
        places[p] = -1
        if p < count:
            row = facts[p, ROW] - facts[centre, ROW] + half
            column = facts[p, COLUMN] - facts[centre, COLUMN] + half
            if 0 <= row < window and 0 <= column < window:
                places[p] = turned(row, column, turn, window)


@part
def paint_board(
    facts: Ints,
    size: Int,
    centre: Int,
    turn: Int,
    side: Int,
    window: Int,
    out: NDArray[np.uint8],
) -> None:
    """Write the planes of a window in which all of the board is wall."""
    # As if all of the board were wall; `encode` then replaces the points of the zone.
    half = window // 2
    out[:] = 0
    first = ATTACKER_FIRST if side == ATTACKER else DEFENDER_FIRST
    for row in range(window):
        for column in range(window):
            r = facts[centre, ROW] + row - half
            c = facts[centre, COLUMN] + column - half
            if 0 <= r < size and 0 <= c < size:
                place = turned(np.int64(row), np.int64(column), turn, window)
                out[first, place] = 1
                out[OPPOSITE, place] = 1
                out[LIBERTIES + 3, place] = 1
                out[SIZES + 3, place] = 1


@part
def find_codes(batch: ZoneBatch, i: Int, few: bool, codes: Words) -> None:
    """Write the code of each point of the zone of position `i`, without the first mover.

    Args:
      few: whether to write only the reference's planes.
      codes: 64 words.
    """
    problem = batch.problems[i]
    zone, diagonals, facts = batch.zones[problem], batch.diagonals[problem], batch.facts[problem]
    attacker, defender = batch.attackers[i], batch.defenders[i]
    count = popcount(zone[POINTS])
    for p in range(count):
        codes[p] = ZERO
    target = code_blocks(zone, attacker, defender, DEFENDER, codes)
    code_blocks(zone, attacker, defender, ATTACKER, codes)
    free = zone[POINTS] & ~(attacker | defender)
    remaining = free
    while remaining:
        p = lowest(remaining)
        remaining &= remaining - ONE
        if is_eye(zone, diagonals, facts, defender, p):
            codes[p] |= plane(EYE)
    if not few:
        code_more(zone, diagonals, attacker, defender, target, codes)


@part
def code_blocks(
    zone: Words, attacker: np.uint64, defender: np.uint64, side: Int, codes: Words
) -> np.uint64:
    """Code the blocks of a side; return the target's block if the side is the defender."""
    stones = defender if side == DEFENDER else attacker
    free = zone[POINTS] & ~(attacker | defender)
    target = ZERO
    remaining = stones
    while remaining:
        block, rim = block_at(zone, stones, lowest(remaining))
        remaining &= ~block
        # Connected with the wall, a block is as safe and as large as the wall.
        liberties, size = popcount(rim & free), popcount(block)
        if side == ATTACKER and block & zone[OPEN] != ZERO:
            liberties, size = 4, 4
        code = plane(OWN if side == DEFENDER else OPPOSITE)
        code |= plane(LIBERTIES + min(max(liberties, 1), 4) - 1) | plane(SIZES + min(size, 4) - 1)
        if block & zone[TARGET] != ZERO and side == DEFENDER:
            code |= plane(TARGET_BLOCK)
            target = block
        while block:
            codes[lowest(block)] |= code
            block &= block - ONE
    return target


@part
def is_eye(zone: Words, diagonals: Words, facts: Ints, defender: np.uint64, p: Int) -> bool:
    """Return whether an empty point is an eye of one point that no diagonal can make false."""
    if zone[p] & ~defender != ZERO or zone[OPEN] & bit(p) != ZERO:
        return False
    # The attacker makes the eye false with two diagonal points, at the edge with one.
    other = popcount(diagonals[p] & ~defender) + facts[p, WALLS]
    return bool(other <= (0 if facts[p, OFF] else 1))


@part
def code_more(
    zone: Words,
    diagonals: Words,
    attacker: np.uint64,
    defender: np.uint64,
    target: np.uint64,
    codes: Words,
) -> None:
    """Code the planes beyond those of the reference."""
    points = zone[POINTS]
    free = points & ~(attacker | defender)
    _block, rim = block_at(zone, defender, lowest(target))
    liberties = rim & free
    eyes = eye_points(zone, attacker, defender)
    vital = vital_points(zone, eyes)
    full = ZERO
    # A block without a hole has the number 1.
    if euler(zone, diagonals, target) <= 0:
        full = target
    for p in range(popcount(points)):
        here = bit(p)
        code = plane(ZONE)
        if liberties & here:
            code |= plane(TARGET_LIBERTY)
        if eyes & here:
            code |= plane(POSSIBLE_EYE)
        if vital & here:
            code |= plane(NAKADE)
        if full & here:
            code |= plane(EULER)
        if free & here:
            if not playable(zone, ATTACKER, attacker, defender, p):
                code |= plane(NO_ATTACKER)
            if not playable(zone, DEFENDER, defender, attacker, p):
                code |= plane(NO_DEFENDER)
        codes[p] |= code


@part
def vital_points(zone: Words, eyes: np.uint64) -> np.uint64:
    """Return the centres of rooms of three to six points: their points with the most neighbours."""
    vital = ZERO
    rest = eyes
    while rest:
        room, _rim = block_at(zone, rest, lowest(rest))
        rest &= ~room
        # Rooms that one stone in the middle can kill have three to six points.
        if 3 <= popcount(room) <= 6:
            # The middle is the only point with the most neighbours; a tie leaves none.
            degree, middle, remaining = np.int64(1), ZERO, room
            while remaining:
                p = lowest(remaining)
                remaining &= remaining - ONE
                near = popcount(zone[p] & room)
                if near > degree:
                    degree, middle = near, bit(p)
                elif near == degree:
                    middle = ZERO
            vital |= middle
    return vital


@part
def euler(zone: Words, diagonals: Words, block: np.uint64) -> Int:
    """Return the Euler number of a block: 1 minus its holes within the zone."""
    # Vertices minus edges plus faces; each edge is met from two stones, each square from four.
    stones, sides, squares = popcount(block), np.int64(0), np.int64(0)
    remaining = block
    while remaining:
        p = lowest(remaining)
        remaining &= remaining - ONE
        sides += popcount(zone[p] & block)
        corners = diagonals[p] & block
        while corners:
            q = lowest(corners)
            corners &= corners - ONE
            if popcount(zone[p] & zone[q] & block) == 2:
                squares += 1
    number: np.int64 = stones - sides // 2 + squares // 4
    return number


@part
def playable(zone: Words, side: Int, own: np.uint64, other: np.uint64, p: Int) -> bool:
    """Return whether a side may play on an empty point, kos apart."""
    mine = own | bit(p)
    captured = captured_by(zone, side, mine, other, p)
    return bool(captured != ZERO or has_liberty(zone, side, mine, other, p))
