"""Stones of a zone: a position is two words, with one bit per point for each side.

A zone has at most 63 points, numbered from 0. `near[p]` is the set of the neighbours of `p` within
the zone. Points of the set `open` touch points outside the zone, which are the attacker's: an
attacker's stone there always has a liberty.

Sides are 0, the attacker, and 1, the defender. A ban is the point that a ko forbids to the side to
move, -1 for none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_go.tsumego.kernels import inlined, part

Int = int | np.signedinteger[Any]
Words = NDArray[np.uint64]

U64 = np.uint64
ONE, ZERO = np.uint64(1), np.uint64(0)

ATTACKER, DEFENDER = np.int64(0), np.int64(1)
NO_BAN = np.int64(-1)
# The number that no point has, since zones have at most 63 of them.
PASS = np.int64(63)

# Words of a zone beside `near`: see `miai_go.tsumego.zones.Zone`.
POINTS, OPEN, TARGET = 64, 65, 66
ZONE_WORDS = 67


@inlined
def bit(p: Int) -> np.uint64:
    """Return the set of one point."""
    shifted: np.uint64 = ONE << U64(p)
    return shifted


@part
def block_at(zone: Words, stones: np.uint64, p: Int) -> tuple[np.uint64, np.uint64]:
    """Return the block of `stones` that contains `p`, and all neighbours of its points."""
    # Flood a set at a time: the words of near points are ORed, so no list of points is needed.
    block = bit(p)
    edge = block
    rim = ZERO
    while edge:
        q = lowest(edge)
        edge &= edge - ONE
        near = zone[q]
        rim |= near
        new = near & stones & ~block
        block |= new
        edge |= new
    return block, rim


@part
def captured_by(zone: Words, side: Int, own: np.uint64, other: np.uint64, p: Int) -> np.uint64:
    """Return the stones of `other` that a move of `side` at `p` captures.

    `own` already includes the stone at `p`.
    """
    # Only blocks beside the new stone can lose their last liberty by it.
    empty = zone[POINTS] & ~(own | other)
    rest = zone[p] & other
    out = ZERO
    while rest:
        block, rim = block_at(zone, other, lowest(rest))
        rest &= ~block
        free = (rim & empty) != ZERO
        if side == DEFENDER:
            free |= (block & zone[OPEN]) != ZERO  # walls have liberties outside the zone
        if not free:
            out |= block
    return out


@part
def has_liberty(zone: Words, side: Int, own: np.uint64, other: np.uint64, p: Int) -> bool:
    """Return whether the block of `side` at `p` has a liberty."""
    block, rim = block_at(zone, own, p)
    # Stones at open points are connected with the wall, which is never captured.
    free = (rim & zone[POINTS] & ~(own | other)) != ZERO
    if side == ATTACKER:
        free |= (block & zone[OPEN]) != ZERO
    return bool(free)


@part
def target_liberties(zone: Words, attacker: np.uint64, defender: np.uint64) -> np.uint64:
    """Return the liberties of the target, which must be on the board."""
    _block, rim = block_at(zone, defender, lowest(zone[TARGET]))
    liberties: np.uint64 = rim & zone[POINTS] & ~(attacker | defender)
    return liberties


@part
def ban_after(
    zone: Words, side: Int, own: np.uint64, other: np.uint64, p: Int, captured: np.uint64
) -> Int:
    """Return the ban after a move of `side` at `p`; `own` and `other` are after the move."""
    # A ko: one stone takes one stone, has no friend beside it and no other liberty.
    if captured == ZERO or captured & (captured - ONE) != ZERO or zone[p] & own != ZERO:
        return NO_BAN
    # Connected with the wall outside, the stone is not alone.
    if side == ATTACKER and bit(p) & zone[OPEN] != ZERO:
        return NO_BAN
    # With a liberty more, playing back at the captured point takes nothing.
    if zone[p] & zone[POINTS] & ~(own | other) != captured:
        return NO_BAN
    ban: np.int64 = lowest(captured)
    return ban
