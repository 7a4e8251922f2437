"""Arrays of the search: the levels on the path to a node, and the children of each.

The stack is kept in arrays, so that the search can pause at any node and continue.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_go.life.kernels import part
from miai_go.life.kernels.stones import ATTACKER, ONE, Int, Words
from miai_go.life.kernels.table import digest, scramble, turn_of

Ints = NDArray[np.int64]

CAPTURE, LIFE = 0, 1
NO_MASTER = -1

# `task`: what is asked.
GOAL, MASTER = 0, 1
TASK_WORDS = 2

# `tally`: where the search stands.
LEVEL, MADE, ENTERED, STOP = 0, 1, 2, 3
TALLY_WORDS = 4

# Columns of `levels`, (levels, LEVEL_WORDS): one node on the way.
SIDE, BAN, COUNT, TP, TD, AT, BEGUN, TAKEN = range(8)
LEVEL_WORDS = 8

# Columns of `sets`, (levels, SET_WORDS) of uint64: its stones, and the digest of the way to it.
OF_ATTACKER, OF_DEFENDER, WAY = range(3)
SET_WORDS = 3

# Columns of `children`, (levels, CHILDREN, CHILD_WORDS), and of `child_sets`, (.., .., 2).
MOVE, PN, DN, LEAST, CHILD_BAN, TOOK, NEW = range(7)
CHILD_WORDS = 7
CHILDREN = 64

INFINITE = np.int64(1 << 30)
"""Proof number of disproven nodes, and disproof number of proven nodes, only."""
MOST = INFINITE - 1
"""Maximum of sums of numbers, below infinity and thresholds of infinity."""
NOWHERE = np.int64(0xFFFF)
"""Level that a disproof without dependence on the path has: below all others."""

PAUSED, PROVEN, DISPROVEN, TOO_DEEP = 0, 1, 2, 3


@part
def reaches(task: Ints, side: Int) -> bool:
    """Return whether a side is the reacher."""
    return bool((side == ATTACKER) == (task[GOAL] == CAPTURE))


@part
def way_below(levels: Ints, sets: Words, level: Int) -> np.uint64:
    """Return the digest of the path to the children of a node."""
    turn = turn_of(levels[level, SIDE], levels[level, BAN])
    here = digest(sets[level, OF_ATTACKER], sets[level, OF_DEFENDER], turn)
    return scramble(sets[level, WAY] ^ here) + ONE


@part
def met(
    levels: Ints,
    sets: Words,
    level: Int,
    side: Int,
    ban: Int,
    attacker: np.uint64,
    defender: np.uint64,
) -> Int:
    """Return the level of a position on the path, -1 if it is not there."""
    for above in range(level, -1, -1):
        same = sets[above, OF_ATTACKER] == attacker and sets[above, OF_DEFENDER] == defender
        if same and levels[above, SIDE] == side and levels[above, BAN] == ban:
            return above
    return -1
