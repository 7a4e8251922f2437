"""Unconditional life: a target that cannot be captured even if its owner always passes.

D. B. Benson, "Life in the game of Go", Information Sciences 10 (1976).
"""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest
from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.stones import OPEN, POINTS, TARGET, ZERO, Words, block_at


@part
def lives(zone: Words, attacker: np.uint64, defender: np.uint64, room: Words) -> bool:
    """Say whether the target lives unconditionally.

    Regions are the connected parts of the zone without stones of the defender; one that touches
    what is beyond the zone is the attacker's and encloses nothing. A region is vital to a block
    when each of its empty points is a liberty of the block. Blocks without two vital regions whose
    other blocks remain are struck out until nothing changes.

    Args:
      room: work space, 256 words.
    """
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
    if regions < 2:
        return False
    alive = defender
    struck = True
    while struck:
        struck = False
        left = alive
        while left:
            block, rim = block_at(zone, alive, lowest(left))
            left &= ~block
            vital = np.int64(0)
            for i in range(regions):
                within = room[64 + i] & ~alive == ZERO and room[64 + i] & block != ZERO
                if within and room[i] & ~rim == ZERO:
                    vital += 1
            if vital < 2:
                if block & zone[TARGET] != ZERO:
                    return False
                alive &= ~block
                struck = True
    return True
