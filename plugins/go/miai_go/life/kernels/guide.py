"""A network's advice to the search: with which numbers a new position begins.

From the traits of a position (`traits`) a small network foretells three things: the odds that it is
proved, and how many positions a proof, or a disproof, would take. The proof number begins at the
size of the proof, more where a proof is unlikely, the disproof number likewise. What is proved does
not change, only what is looked at first. Positions that the table knows keep their numbers.

That sizes learnt from searches make better beginnings than ones does so for trees in general (df-pn
with evaluation: Nagai and Imai 1999; a network that was trained: Gao, Müller and Hayward 2017).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.life.kernels import part
from miai_go.life.kernels.stack import (
    CHILD_BAN,
    COUNT,
    DN,
    NEW,
    OF_ATTACKER,
    OF_DEFENDER,
    PN,
    SIDE,
    Ints,
)
from miai_go.life.kernels.stones import Int, Words
from miai_go.life.kernels.traits import count_traits

Floats = NDArray[np.float32]

ODDS, PROOF, DISPROOF = range(3)
"""What a network foretells: log odds of a proof, log2 of the positions of a proof, a disproof."""
OUTPUTS = 3

DOUBT = 0.5
"""Powers of two by which a number grows for each unit of the log odds against it."""

MOST_POWER = 18.0
"""Numbers begin at most at two to the power of this, far below what they may grow to."""


class Guide(NamedTuple):
    """A network, and where it works.

    Attributes:
      asked: int64 of shape (1,): whether it is asked at all.
      linear: float32 of shape (2, TRAITS, OUTPUTS), for either side to move.
      inner: of shape (2, TRAITS, width), to a hidden layer; outer: of shape (2, width, OUTPUTS).
      traits: of shape (TRAITS,), work space; units: of shape (width,), work space.
    """

    asked: Ints
    linear: Floats
    inner: Floats
    outer: Floats
    traits: Floats
    units: Floats


@part
def advise(
    zone: Words, guide: Guide, levels: Ints, children: Ints, child_sets: Words, level: Int
) -> None:
    """Let the network say how hard the new children of a node are to prove and to disprove."""
    after = 1 - levels[level, SIDE]
    for i in range(levels[level, COUNT]):
        if children[level, i, NEW] == 0:
            continue
        attacker = child_sets[level, i, OF_ATTACKER]
        defender = child_sets[level, i, OF_DEFENDER]
        count_traits(zone, attacker, defender, children[level, i, CHILD_BAN], guide.traits)
        odds, proof, disproof = foretold(guide, after)
        children[level, i, PN] = number_of(proof + DOUBT * max(-float(odds), 0.0))
        children[level, i, DN] = number_of(disproof + DOUBT * max(float(odds), 0.0))


@part
def foretold(guide: Guide, side: Int) -> tuple[np.float32, np.float32, np.float32]:
    """Return what the network makes of the traits, `side` to move; see `ODDS`."""
    traits, units = guide.traits, guide.units
    odds, proof, disproof = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for j in range(len(units)):
        units[j] = np.float32(0.0)
    for k in range(len(traits)):
        x = traits[k]
        odds += x * guide.linear[side, k, ODDS]
        proof += x * guide.linear[side, k, PROOF]
        disproof += x * guide.linear[side, k, DISPROOF]
        for j in range(len(units)):
            units[j] += x * guide.inner[side, k, j]
    for j in range(len(units)):
        x = max(units[j], np.float32(0.0))
        odds += x * guide.outer[side, j, ODDS]
        proof += x * guide.outer[side, j, PROOF]
        disproof += x * guide.outer[side, j, DISPROOF]
    return odds, proof, disproof


@part
def number_of(power: float | np.floating[Any]) -> Int:
    """Return two to a power, from 1 to the most."""
    return np.int64(2.0 ** min(max(float(power), 0.0), MOST_POWER))
