"""What a position is by itself: decided as it stands, or how hard it looks to prove."""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest, popcount
from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.life import lives
from miai_go.tsumego.kernels.stack import CAPTURE, DISPROVEN, GOAL, LIFE, PROVEN, Ints
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
    target_liberties,
)


@part
def judge(
    zone: Words,
    task: Ints,
    side: Int,
    ban: Int,
    attacker: np.uint64,
    defender: np.uint64,
    room: Words,
) -> Int:
    """Return PROVEN, DISPROVEN or 0 for a position that `side` has just made.

    The target is gone, or in atari with the attacker to move and no ban on its last liberty, or it
    lives unconditionally. After a move of the attacker's that last is asked only where life is the
    goal: it must be seen there, since who lives and has nothing left but eyes may not pass.
    """
    capturing = task[GOAL] == CAPTURE
    if side == ATTACKER:
        if defender & zone[TARGET] == ZERO:
            return PROVEN if capturing else DISPROVEN
        if capturing:
            return 0
    else:
        liberties = target_liberties(zone, attacker, defender)
        if liberties & (liberties - ONE) == ZERO:
            if ban == NO_BAN or bit(ban) != liberties:
                return PROVEN if capturing else DISPROVEN
            return 0
    if lives(zone, attacker, defender, room):
        return DISPROVEN if capturing else PROVEN
    return 0


@part
def outlook(zone: Words, task: Ints, attacker: np.uint64, defender: np.uint64) -> Int:
    """Return the proof number of a position that nothing is known of."""
    if task[GOAL] == LIFE:
        return np.int64(1)
    eyes = popcount(eye_points(zone, attacker, defender))
    hard: np.int64 = 1 + eyes + 2 * popcount(target_liberties(zone, attacker, defender))
    return hard


@part
def eye_points(zone: Words, attacker: np.uint64, defender: np.uint64) -> np.uint64:
    """Return the points where the defender could have an eye yet."""
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
