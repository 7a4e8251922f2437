"""Static evaluation of a position: decided on the board, or how hard it looks to prove.

A target lives unconditionally if it cannot be captured even if its owner always passes (D. B.
Benson, "Life in the game of Go", Information Sciences 10, 1976).
"""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest, popcount
from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.stack import CAPTURE, DISPROVEN, GOAL, LIFE, PROVEN, SearchArrays
from miai_go.tsumego.kernels.stones import (
    ATTACKER,
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
    target_liberties,
)


@part
def lives(zone: Words, attacker: np.uint64, defender: np.uint64, room: Words) -> bool:
    """Return whether the target lives unconditionally.

    Regions are the connected parts of the zone without stones of the defender; one that touches
    points outside the zone is the attacker's and does not count. A region is vital to a block when
    each of its empty points is a liberty of the block. Blocks without two vital regions, surrounded
    by remaining blocks only, are removed until nothing changes.

    Args:
      room: work space, 256 words.
    """
    # Find the enclosed regions; room[i] has their empty points, room[64 + i] the stones around.
    points = zone[POINTS]
    rest = points & ~defender
    empty = rest & ~attacker
    regions = np.int64(0)
    while rest:
        region, rim = block_at(zone, rest, lowest(rest))
        rest &= ~region
        if region & zone[OPEN] == ZERO:
            room[regions] = region & empty
            room[64 + regions] = rim & defender  # every stone that borders on it
            regions += 1
    # No block has two vital regions if there are not two regions.
    if regions < 2:
        return False
    # Benson: remove blocks without two vital regions until all that remain protect each other.
    alive = defender
    changed = True
    while changed:
        changed = False
        rest = alive
        while rest:
            block, rim = block_at(zone, alive, lowest(rest))
            rest &= ~block
            # A region is vital to the block while all stones around it remain (through one that
            # falls, the attacker gets out) and every empty point of it is a liberty of the block.
            vital = np.int64(0)
            for i in range(regions):
                within = room[64 + i] & ~alive == ZERO and room[64 + i] & block != ZERO
                if within and room[i] & ~rim == ZERO:
                    vital += 1
            if vital < 2:
                if block & zone[TARGET] != ZERO:
                    return False
                # What this block protected may fall now, so all are looked at again.
                alive &= ~block
                changed = True
    return True


@part
def judge(s: SearchArrays, side: Int, ban: Int, attacker: np.uint64, defender: np.uint64) -> Int:
    """Return PROVEN, DISPROVEN or 0 for a position after a move of `side`.

    The target is captured, or in atari with the attacker to move and no ban on its last liberty, or
    alive unconditionally. After a move of the attacker the last is checked only if the goal is
    life: there it is necessary, since a defender with nothing but eyes left may not pass.
    """
    # Only what is certain without a search: a wrong verdict here would be a wrong proof.
    capturing = s.task[GOAL] == CAPTURE
    if side == ATTACKER:
        if defender & s.zone[TARGET] == ZERO:
            return PROVEN if capturing else DISPROVEN
        if capturing:
            return 0
    else:
        liberties = target_liberties(s.zone, attacker, defender)
        # One liberty at most: the attacker captures next, unless a ko forbids that point.
        if liberties & (liberties - ONE) == ZERO:
            if ban == NO_BAN or bit(ban) != liberties:
                return PROVEN if capturing else DISPROVEN
            return 0
    if lives(s.zone, attacker, defender, s.room):
        return DISPROVEN if capturing else PROVEN
    return 0


@part
def outlook(s: SearchArrays, attacker: np.uint64, defender: np.uint64) -> Int:
    """Return the initial proof number of a new position."""
    if s.task[GOAL] == LIFE:
        return np.int64(1)
    eyes = popcount(eye_points(s.zone, attacker, defender))
    # The more has to be taken from the target, the longer its capture takes. Only the order of the
    # search depends on this guess, so it has to be cheap rather than right.
    number: np.int64 = 1 + eyes + 2 * popcount(target_liberties(s.zone, attacker, defender))
    return number


@part
def eye_points(zone: Words, attacker: np.uint64, defender: np.uint64) -> np.uint64:
    """Return the points where the defender could still have an eye."""
    # Attackers that are connected to the wall cannot be captured: no eye on or beside them.
    safe = attacker & zone[OPEN]
    edge = safe
    rim = ZERO
    while edge:
        near = zone[lowest(edge)]
        edge &= edge - ONE
        rim |= near
        new = near & attacker & ~safe
        safe |= new
        edge |= new
    eyes: np.uint64 = zone[POINTS] & ~(defender | safe | rim | zone[OPEN])
    return eyes
