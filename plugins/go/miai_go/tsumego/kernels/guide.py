"""A network's advice to the search: with which numbers a new position begins.

The surer the network is that the target is safe there, the larger the proof number and the smaller
the disproof number. What is proved does not change, only what is looked at first. Positions that
the table knows keep their numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.net import evaluate, prepare
from miai_go.tsumego.kernels.planes import NEAREST, centre_of
from miai_go.tsumego.kernels.stones import Int, Words

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


class Guide(NamedTuple):
    """A network, what it needs to know of a zone, and where it works.

    Attributes:
      settings: int64 of shape (4,): whether it is asked, points on a side of the window, whether
        the network takes the reference's planes alone, and by how many powers of two the numbers of
        a position grow or shrink where it is sure.
      diagonals, facts: of the zone; see `miai_go.tsumego.kernels.planes`.
      places: int16 of shape (2, 64); bases: of shape (2, width): for both first movers.
      first, inner, biases, value, policy, policy_bias: the network; see `net.evaluate`.
      codes, room, logits: work space.
    """

    settings: Ints
    diagonals: Words
    facts: Ints
    places: NDArray[np.int16]
    bases: Floats
    first: Floats
    inner: Floats
    biases: Floats
    value: Floats
    policy: Floats
    policy_bias: Floats
    codes: Words
    room: Floats
    logits: Floats


ASKED, WINDOW, FEW, WEIGHT = range(4)


@kernel
def prepare_guide(zone: Words, guide: Guide, board: int, defender: np.uint64, bias: Floats) -> None:
    """Sum what the surroundings of a zone give to the network, for both first movers.

    Args:
      board: points on a side of the board.
      defender: the stones by which the window is placed.
      bias: of the first layer.
    """
    centre = centre_of(zone, guide.facts, defender, np.int64(NEAREST))
    for side in range(2):
        prepare(
            zone,
            guide.facts,
            np.int64(board),
            centre,
            np.int64(side),
            guide.settings[WINDOW],
            guide.first,
            bias,
            guide.places[side],
            guide.bases[side],
        )


@part
def safety(zone: Words, guide: Guide, attacker: np.uint64, defender: np.uint64, side: Int) -> float:
    """Return how sure the network is that the target is safe, from -1 to 1, `side` to move."""
    return evaluate(
        zone,
        guide.diagonals,
        guide.facts,
        attacker,
        defender,
        guide.settings[WINDOW],
        guide.settings[FEW] != 0,
        guide.places[side],
        guide.bases[side],
        guide.first,
        guide.inner,
        guide.biases,
        guide.value,
        guide.policy,
        guide.policy_bias,
        guide.codes,
        guide.room,
        guide.logits,
    )


@part
def scaled(number: float, factor: float) -> Int:
    """Return a number times a factor, at least 1."""
    return np.int64(max(number * factor, 1.0))
