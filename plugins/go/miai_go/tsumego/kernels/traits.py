"""Traits of a position that are quick to count and indicate how hard it is to prove or disprove.

Everything is counted within the zone. *Hostile* points are next to the attacker's stones or to
points outside the zone; an *eye point* is one where the defender could still have an eye.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.judging import eye_points
from miai_go.tsumego.kernels.stones import (
    NO_BAN,
    ONE,
    OPEN,
    POINTS,
    TARGET,
    ZERO,
    Int,
    Words,
    bit,
    block_at,
)

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

# Of the target and of points:
# ALWAYS is 1, which gives the linear layer its bias.
ALWAYS, LIBERTIES, EYES, EMPTY, SIZE, OTHER_STONES, HOSTILE_STONES = range(7)
NEXT_LIBERTIES, QUIET, QUIET_LIBERTIES, SURE_EYES = range(7, 11)
# Of other blocks:
OTHERS, OTHERS_IN_ATARI, OTHERS_JOINED, INNER, INNER_IN_ATARI, INNER_OF_TWO = range(11, 17)
BANNED = 17
# Of rooms:
EYE_SPACES, LARGEST_SPACE, HOSTILE_EYES, REGIONS, VITAL_REGIONS = range(18, 23)
# Of the target again, whether it has this number of liberties:
# Danger does not grow evenly with fewer liberties, so a linear layer needs these beside their
# number.
ONE_LIBERTY, TWO_LIBERTIES, THREE_LIBERTIES = range(23, 26)
TRAITS = 26


@part
def count_traits(
    zone: Words, attacker: np.uint64, defender: np.uint64, ban: Int, out: Floats
) -> None:
    """Count the traits of a position with the target on the board.

    Args:
      out: of shape (TRAITS,), written.
    """
    empty = zone[POINTS] & ~(attacker | defender)
    block, rim = block_at(zone, defender, lowest(zone[TARGET]))
    eyes = eye_points(zone, attacker, defender)
    hostile = beside(zone, attacker) | zone[OPEN]
    out[ALWAYS] = 1.0
    out[EYES] = popcount(eyes)
    out[EMPTY] = popcount(empty)
    out[SIZE] = popcount(block)
    out[OTHER_STONES] = popcount(defender & ~block)
    out[HOSTILE_STONES] = popcount(attacker)
    out[QUIET] = popcount(empty & ~hostile)
    out[HOSTILE_EYES] = popcount(eyes & hostile)
    out[SURE_EYES] = sure_eyes(zone, block, eyes & rim)
    out[BANNED] = 1.0 if ban != NO_BAN else 0.0
    count_liberties(zone, rim & empty, empty, hostile, out)
    count_friends(zone, defender & ~block, empty, rim & empty, out)
    count_inner(zone, attacker, empty, out)
    count_rooms(zone, defender, eyes, empty, rim, out)


@part
def beside(zone: Words, points: np.uint64) -> np.uint64:
    """Return all neighbours of a set of points."""
    near = ZERO
    while points:
        near |= zone[lowest(points)]
        points &= points - ONE
    return near


@part
def few(points: np.uint64) -> Int:
    """Return the number of points in a set, at most 4."""
    # No trait tells four from more, so counting ends there.
    count = np.int64(0)
    while points and count < 4:
        points &= points - ONE
        count += 1
    return count


@part
def sure_eyes(zone: Words, block: np.uint64, eyes: np.uint64) -> Int:
    """Return the number of points whose neighbours are all stones of a block."""
    sure = np.int64(0)
    while eyes:
        p = lowest(eyes)
        eyes &= eyes - ONE
        if zone[p] & ~block == ZERO and bit(p) & zone[OPEN] == ZERO:
            sure += 1
    return sure


@part
def count_liberties(
    zone: Words, liberties: np.uint64, empty: np.uint64, hostile: np.uint64, out: Floats
) -> None:
    """Count the target's liberties, and the empty points one step further."""
    out[LIBERTIES] = popcount(liberties)
    out[NEXT_LIBERTIES] = popcount(beside(zone, liberties) & empty & ~liberties)
    out[QUIET_LIBERTIES] = popcount(liberties & ~hostile)
    count = few(liberties)
    out[ONE_LIBERTY] = 1.0 if count <= 1 else 0.0
    out[TWO_LIBERTIES] = 1.0 if count == 2 else 0.0
    out[THREE_LIBERTIES] = 1.0 if count == 3 else 0.0


@part
def count_friends(
    zone: Words, remaining: np.uint64, empty: np.uint64, liberties: np.uint64, out: Floats
) -> None:
    """Count the defender's other blocks: all, in atari, with two liberties of the target's."""
    others, atari, joined = np.int64(0), np.int64(0), np.int64(0)
    while remaining:
        block, rim = block_at(zone, remaining, lowest(remaining))
        remaining &= ~block
        others += 1
        atari += few(rim & empty) <= 1
        # If the attacker takes one of two common liberties, the defender connects at the other.
        joined += few(rim & liberties) >= 2
    out[OTHERS] = others
    out[OTHERS_IN_ATARI] = atari
    out[OTHERS_JOINED] = joined


@part
def count_inner(zone: Words, remaining: np.uint64, empty: np.uint64, out: Floats) -> None:
    """Count the attacker's blocks that may be captured: all, in atari, with two liberties."""
    inner, atari, two = np.int64(0), np.int64(0), np.int64(0)
    while remaining:
        block, rim = block_at(zone, remaining, lowest(remaining))
        remaining &= ~block
        # Connected with the wall, it cannot be captured.
        if block & zone[OPEN] != ZERO:
            continue
        count = few(rim & empty)
        inner += 1
        atari += count <= 1
        two += count == 2
    out[INNER] = inner
    out[INNER_IN_ATARI] = atari
    out[INNER_OF_TWO] = two


@part
def count_rooms(
    zone: Words, defender: np.uint64, eyes: np.uint64, empty: np.uint64, rim: np.uint64, out: Floats
) -> None:
    """Count connected eye points, and regions that the defender encloses (see `judging`).

    Args:
      rim: all neighbours of the target; a region is vital if its empty points are among them.
    """
    spaces, largest = np.int64(0), np.int64(0)
    remaining = eyes
    while remaining:
        space, _near = block_at(zone, eyes, lowest(remaining))
        remaining &= ~space
        spaces += 1
        largest = max(largest, popcount(space))
    regions, vital = np.int64(0), np.int64(0)
    rest = zone[POINTS] & ~defender
    while rest:
        region, _near = block_at(zone, rest, lowest(rest))
        rest &= ~region
        if region & zone[OPEN] == ZERO:
            regions += 1
            vital += region & empty & ~rim == ZERO
    out[EYE_SPACES] = spaces
    out[LARGEST_SPACE] = largest
    out[REGIONS] = regions
    out[VITAL_REGIONS] = vital


@kernel
def traits_of_all(zone: Words, attackers: Words, defenders: Words, bans: Ints, out: Floats) -> None:
    """Count the traits of n positions of a zone; `out` is of shape (n, TRAITS), written."""
    for i in range(len(bans)):
        count_traits(zone, attackers[i], defenders[i], bans[i], out[i])
