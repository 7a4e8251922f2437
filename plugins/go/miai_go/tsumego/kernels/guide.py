"""A network that orders the search by initial proof and disproof numbers of new positions.

From the traits of a position (`traits`) a small network predicts three numbers: the odds of a
proof, and the positions that a proof or a disproof would take. The initial proof number is the
size of the proof, more if a proof is unlikely; the disproof number likewise. This changes the order
of the search, not what is proved. Positions in the table keep their numbers.

Initial numbers from an evaluation are known to improve df-pn (Nagai and Imai 1999), also with a
trained network (Gao, Müller and Hayward 2017).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.stack import (
    CHILD_BAN,
    COUNT,
    DN,
    NEW,
    OF_ATTACKER,
    OF_DEFENDER,
    PN,
    SIDE,
    Ints,
    SearchArrays,
)
from miai_go.tsumego.kernels.stones import Int
from miai_go.tsumego.kernels.traits import count_traits

Floats = NDArray[np.float32]

ODDS, PROOF, DISPROOF = range(3)
"""Outputs: log odds of a proof, log2 of the positions of a proof, and of a disproof."""
OUTPUTS = 3

DOUBT = 0.5
"""Powers of two by which a number grows per unit of the log odds against it."""

MAX_POWER = 18.0
"""Log2 of the maximum initial number, far below the maximum number."""


class Guide(NamedTuple):
    """A network and its work space.

    Attributes:
      asked: int64 of shape (1,): whether the search consults it.
      linear: float32 of shape (2, TRAITS, OUTPUTS), by side to move.
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
def advise(s: SearchArrays, guide: Guide, level: Int) -> None:
    """Set the initial numbers of a node's new children by the network."""
    # The network is as small as it is because it is asked about every new position: with it the
    # search makes about two million a second.
    after = 1 - s.levels[level, SIDE]
    for i in range(s.levels[level, COUNT]):
        child, stones = s.children[level, i], s.child_sets[level, i]
        if child[NEW] == 0:
            continue  # decided, or with numbers from the table
        count_traits(
            s.zone, stones[OF_ATTACKER], stones[OF_DEFENDER], child[CHILD_BAN], guide.traits
        )
        odds, proof, disproof = predict(guide, after)
        child[PN] = number_of(proof + DOUBT * max(-float(odds), 0.0))
        child[DN] = number_of(disproof + DOUBT * max(float(odds), 0.0))


@part
def predict(guide: Guide, side: Int) -> tuple[np.float32, np.float32, np.float32]:
    """Return the network's outputs for the traits, with `side` to move; see `ODDS`."""
    traits, units = guide.traits, guide.units
    odds, proof, disproof = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for j in range(len(units)):
        units[j] = np.float32(0.0)
    for k in range(len(traits)):
        x = traits[k]  # one pass over the traits feeds both layers
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
    """Return two to a power, limited to the range of initial numbers."""
    # At least 1: a number of 0 would pass for a proof.
    return np.int64(2.0 ** min(max(float(power), 0.0), MAX_POWER))
