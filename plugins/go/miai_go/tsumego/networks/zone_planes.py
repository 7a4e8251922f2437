"""Positions of a zone as planes for networks, and where the points of the zone are in them.

The window is 11 points on a side, centred on the target. Zones of 20 points fit into it, apart from
rare long ones, whose ends are cut off, and the reference's network stays below 400 kilobytes at
five bits per weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.tsumego.kernels import FAMILY, stones
from miai_go.tsumego.kernels import planes as kernels
from miai_go.tsumego.zones import Zone

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

WINDOW: Final = 11
MOST_WINDOW: Final = 25
NEAREST: Final = kernels.NEAREST

REFERENCE: Final = "reference"
EXTENDED: Final = "extended"
PLANE_SETS: Final = {REFERENCE: kernels.FEW_PLANES, EXTENDED: kernels.PLANES}
"""How many planes each set has."""


class PlaneLayout(NamedTuple):
    """The facts about zones from which planes are made, one row per zone.

    Attributes:
      words: uint64 of shape (zones, 67), see `miai_go.tsumego.kernels.stones`.
      diagonals: uint64 of shape (zones, 64).
      facts: int64 of shape (zones, 64, 4): row, column, diagonal neighbours beyond the zone and
        off the board.
      boards: points on a side of the board, int64 of shape (zones,).
    """

    words: NDArray[np.uint64]
    diagonals: NDArray[np.uint64]
    facts: NDArray[np.int64]
    boards: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Positions as a network sees them.

    Attributes:
      planes: uint8 of shape (n, planes, window, window).
      places: int16 of shape (n, 64): the point of the window at which each point of the zone is,
        -1 for none.
    """

    planes: NDArray[np.uint8]
    places: NDArray[np.int16]


def layout_of(words: NDArray[np.uint64], points: ArrayLike, boards: ArrayLike) -> PlaneLayout:
    """Return the layout of zones.

    Args:
      words: uint64 of shape (zones, 67).
      points: of shape (zones, 63), the points of each zone on its board, padded with -1.
      boards: points on a side of each board.
    """
    load_planes()
    numbers = np.asarray(points, np.int64)
    sizes = np.ascontiguousarray(boards, np.int64)
    count = len(words)
    facts = np.zeros((count, 64, kernels.FACTS), np.int64)
    rows, columns = np.divmod(np.maximum(numbers, 0), sizes[:, None])
    facts[:, : numbers.shape[1], kernels.ROW] = rows
    facts[:, : numbers.shape[1], kernels.COLUMN] = columns
    diagonals = np.zeros((count, 64), np.uint64)
    own = np.ascontiguousarray(words)
    for i in range(count):
        kernels.lay_out(own[i], int(sizes[i]), facts[i], diagonals[i])
    return PlaneLayout(own, diagonals, facts, sizes)


def layout_of_zones(zones: Sequence[Zone]) -> PlaneLayout:
    """Return the layout of zones that were found on boards."""
    points = np.full((len(zones), 63), -1, np.int64)
    for i, zone in enumerate(zones):
        points[i, : len(zone.points)] = zone.points
    words = np.stack([zone.words for zone in zones])
    return layout_of(words, points, [zone.size for zone in zones])


def encode(
    layout: PlaneLayout,
    problems: ArrayLike,
    attackers: ArrayLike,
    defenders: ArrayLike,
    sides: ArrayLike,
    *,
    planes: str = EXTENDED,
    window: int = WINDOW,
    picks: ArrayLike | None = None,
    turns: ArrayLike | None = None,
) -> Views:
    """Return n positions as planes.

    Args:
      problems: which zone of the layout each position is of, of shape (n,).
      attackers, defenders: stones as sets of points of the zone, of shape (n,).
      sides: who moves first, 0 the attacker, 1 the defender.
      planes: a name of `PLANE_SETS`.
      window: points on a side, odd.
      picks: which stone of the target is in the middle, modulo their number; default: the one
        nearest to its middle.
      turns: symmetry of each, numbered as in `miai_go.rules.symmetry`; default: none.
    """
    batch = kernel_batch(layout, problems, attackers, defenders, sides, picks)
    count = len(batch.problems)
    out = np.empty((count, PLANE_SETS[planes], window, window), np.uint8)
    places = np.empty((count, 64), np.int16)
    kernels.encode(
        batch,
        np.zeros(count, np.int64) if turns is None else np.ascontiguousarray(turns, np.int64),
        window,
        out.reshape(count, -1, window * window),
        places,
        np.empty(64, np.uint64),
    )
    return Views(out, places)


def kernel_batch(
    layout: PlaneLayout,
    problems: ArrayLike,
    attackers: ArrayLike,
    defenders: ArrayLike,
    sides: ArrayLike,
    picks: ArrayLike | None = None,
) -> kernels.ZoneBatch:
    """Return the positions of `encode` as kernels take them."""
    numbers = np.ascontiguousarray(problems, np.int64)
    return kernels.ZoneBatch(
        *layout,
        numbers,
        np.ascontiguousarray(attackers, np.uint64),
        np.ascontiguousarray(defenders, np.uint64),
        np.ascontiguousarray(sides, np.int64),
        np.full(len(numbers), NEAREST) if picks is None else np.ascontiguousarray(picks, np.int64),
    )


def tiny_layout() -> PlaneLayout:
    """Return the layout of a zone of one point, for loading kernels."""
    words = np.zeros((1, stones.ZONE_WORDS), np.uint64)
    words[0, [stones.POINTS, stones.TARGET]] = 1
    facts = np.zeros((1, 64, kernels.FACTS), np.int64)
    return PlaneLayout(words, np.zeros((1, 64), np.uint64), facts, np.ones(1, np.int64))


@cache
def load_planes() -> None:
    """Load the kernels, or compile them, before a clock runs."""
    layout = tiny_layout()
    one, none = np.ones(1, np.uint64), np.zeros(1, np.uint64)
    with FAMILY.compiling("tsumego-planes"):
        kernels.lay_out(layout.words[0], 1, layout.facts[0], layout.diagonals[0])
        encode(layout, [0], none, one, [0], window=3)
        kernels.target_blocks(layout.words[0], one, none.copy())
