"""The arrays of the search: the nodes on the path, and the children of each.

The stack is kept in arrays, so that the search can pause at any node and continue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.stones import ATTACKER, ONE, Int, Words
from miai_go.tsumego.kernels.transpositions import digest, scramble, turn_of

Ints = NDArray[np.int64]

CAPTURE, LIFE = 0, 1
NO_MASTER = -1

# Words of `task` and of `tally`, columns of `levels`, `sets` and `children`; see `SearchArrays`.
GOAL, MASTER = 0, 1
LEVEL, MADE, ENTERED, STOP = 0, 1, 2, 3
TALLY_WORDS = 4
SIDE, BAN, COUNT, TP, TD, AT, BEGUN, TAKEN = range(8)
LEVEL_WORDS = 8
OF_ATTACKER, OF_DEFENDER, PATH = range(3)
SET_WORDS = 3
MOVE, PN, DN, DEPENDS, CHILD_BAN, TOOK, NEW = range(7)
CHILD_WORDS = 7
# A move for each of 63 points, and the pass.
CHILDREN = 64

# Below 32 bits, since the table packs both numbers into one word.
INFINITE = np.int64(1 << 30)
"""Proof number of disproven nodes, and disproof number of proven nodes, only."""
MAX_SUM = INFINITE - 1
"""Maximum of sums of numbers, below infinity and thresholds of infinity."""
NOWHERE = np.int64(0xFFFF)
"""Level on which a disproof depends that holds on every path: below all others."""

PAUSED, PROVEN, DISPROVEN, TOO_DEEP = 0, 1, 2, 3


class SearchArrays(NamedTuple):
    """The arrays of a search.

    Attributes:
      zone: the words of the zone; see `miai_go.tsumego.zones.Zone`.
      task: int64 of shape (2,): GOAL and MASTER, what is asked.
      table: the transposition table; see `transpositions`.
      tally: int64 of shape (TALLY_WORDS,): the current level, counts and the limit.
      levels: int64 of shape (levels, LEVEL_WORDS): the nodes on the path.
      sets: uint64 of shape (levels, SET_WORDS): their stones, and digests of the path to them.
      children: int64 of shape (levels, CHILDREN, CHILD_WORDS): the children of each.
      child_sets: uint64 of shape (levels, CHILDREN, 2): the stones of these.
      room: uint64 of shape (256,), work space.
    """

    zone: Words
    task: Ints
    table: Words
    tally: Ints
    levels: Ints
    sets: Words
    children: Ints
    child_sets: Words
    room: Words


@part
def reaches(s: SearchArrays, side: Int) -> bool:
    """Return whether a side is the reacher."""
    return bool((side == ATTACKER) == (s.task[GOAL] == CAPTURE))


@part
def path_below(s: SearchArrays, level: Int) -> np.uint64:
    """Return the digest of the path to the children of a node."""
    # Each digest contains the one above, so that it stands for all positions of the path in their
    # order.
    turn = turn_of(s.levels[level, SIDE], s.levels[level, BAN])
    here = digest(s.sets[level, OF_ATTACKER], s.sets[level, OF_DEFENDER], turn)
    return scramble(s.sets[level, PATH] ^ here) + ONE


@part
def level_of(
    s: SearchArrays, level: Int, side: Int, ban: Int, attacker: np.uint64, defender: np.uint64
) -> Int:
    """Return the level at which a position occurs on the path, -1 if it does not."""
    # From the node upwards: most repetitions are kos, a few plies back.
    for above in range(level, -1, -1):
        same = s.sets[above, OF_ATTACKER] == attacker and s.sets[above, OF_DEFENDER] == defender
        if same and s.levels[above, SIDE] == side and s.levels[above, BAN] == ban:
            return above
    return -1
