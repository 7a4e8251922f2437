"""Keys of positions in zones, equal under translation, symmetry and exchange of colours.

The colours are left out: stones are the attacker's or the defender's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.rules.chains import chain_at
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.tsumego.kernels.stones import OPEN
from miai_go.tsumego.zones import Zone

_EMPTY, _ATTACKER, _DEFENDER, _TARGET, _WALL, _EDGE = range(6)
_KINDS: Final = 6
_STEPS: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))
_Words = NDArray[np.uint64]


class CanonicalForm:
    """Keys of the starting position of a zone, by which equal problems are recognised.

    Attributes:
      shape: the key of the zone's outline and of its contact to points outside, 64 bits.
      key: that of these, the stones of both sides and the target, 64 bits.
    """

    def __init__(self, zone: Zone) -> None:
        points = _cells(zone)
        bits = np.arange(len(points), dtype=np.uint64)
        touches = (zone.words[OPEN] >> bits & np.uint64(1)).astype(bool)
        stones = zone.stones[list(zone.points)]
        marks = np.where(stones == zone.attacker, _ATTACKER, np.where(stones, _DEFENDER, _EMPTY))
        marks[np.isin(zone.points, list(chain_at(zone.stones, zone.target, zone.size)))] = _TARGET
        # A point that touches the outside is listed twice, the second time as a wall: which of its
        # neighbours are wall, and which beyond the edge, makes no difference to play.
        cells = np.concatenate((points, points[touches]))
        walls = np.full(touches.sum(), _WALL)
        contents = [np.concatenate((kinds, walls)) for kinds in (np.zeros_like(marks), marks)]
        self.shape, self.key = _least_sums(cells, np.stack(contents)).tolist()


def canonical_keys(
    zone: Zone,
    attackers: Iterable[int],
    defenders: Iterable[int],
    blocks: Iterable[int],
    sides: Iterable[int],
) -> _Words:
    """Return a key for each position of a zone, uint64 of shape (n,).

    A key covers the stones, the target block, the points next to the zone and the first mover.

    Args:
      attackers, defenders, blocks: both sides' stones and the target block, as sets of points of
        the zone.
      sides: first movers.
    """
    inside, rim = _cells(zone), _rim(zone)
    around = np.array([cell for cell, _kind in rim], np.int64).reshape(-1, 2)
    values = _values(len(inside), attackers, defenders, blocks)
    kinds = np.array([kind for _cell, kind in rim], np.int64)
    contents = np.hstack((values, np.tile(kinds, (len(values), 1))))
    mover = np.fromiter(sides, np.uint64)
    sums = _least_sums(np.concatenate((inside, around)), contents)
    return scrambled(sums + mover * np.uint64(0xD6E8FEB86659FD93))


def _cells(zone: Zone) -> NDArray[np.int64]:
    """Return row and column of the zone's points, int64 of shape (points, 2)."""
    return np.array([divmod(p, zone.size) for p in zone.points], np.int64)


def _rim(zone: Zone) -> list[tuple[tuple[int, int], int]]:
    """Return the points next to the zone and what they are, wall or beyond the edge."""
    own = {divmod(p, zone.size) for p in zone.points}
    around = {(r + dr, c + dc) for r, c in own for dr, dc in _STEPS} - own
    kinds = []
    for r, c in sorted(around):
        beyond = not (0 <= r < zone.size and 0 <= c < zone.size)
        kinds.append(((r, c), _EDGE if beyond else _WALL))
    return kinds


def _values(
    points: int, attackers: Iterable[int], defenders: Iterable[int], blocks: Iterable[int]
) -> NDArray[np.int64]:
    """Return the content of each point, int64 of shape (n, points)."""
    bits = np.arange(points, dtype=np.uint64)

    def has(sets: Iterable[int]) -> NDArray[np.bool_]:
        words = np.fromiter(sets, np.uint64)
        return (words[:, None] >> bits & np.uint64(1)).astype(bool)

    stones = np.where(has(attackers), _ATTACKER, np.where(has(defenders), _DEFENDER, _EMPTY))
    return np.where(has(blocks), _TARGET, stones)


def _least_sums(cells: NDArray[np.int64], contents: NDArray[np.int64]) -> _Words:
    """Return for each row of contents, of shape (n, cells), the least sum of all symmetries."""
    # One random word for each place and content, summed: the sum does not depend on the order of
    # cells, so that no symmetry needs sorting (A. Zobrist, 1970). Sums wrap around at 64 bits.
    best: _Words | None = None
    for turn in range(SYMMETRIES):
        words = _random_words(*_turned(cells, turn))
        sums = words[np.arange(len(cells)), contents].sum(1, dtype=np.uint64)
        best = sums if best is None else np.minimum(best, sums)
    assert best is not None
    return best


def _turned(cells: NDArray[np.int64], turn: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns under a symmetry, translated to begin at 0."""
    rows, columns = cells[:, 0], cells[:, 1]
    if turn & 1:
        rows = -rows
    if turn & 2:
        columns = -columns
    if turn & 4:
        rows, columns = columns, rows
    return rows - rows.min(), columns - columns.min()


def _random_words(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> _Words:
    """Return a random word for each cell and kind, uint64 of shape (cells, kinds)."""
    cell: _Words = ((rows * 64 + columns) * _KINDS)[:, None].astype(np.uint64)
    kinds: _Words = np.arange(_KINDS, dtype=np.uint64)
    return scrambled(cell + kinds)


def scrambled(words: _Words) -> _Words:
    """Return SplitMix64's digests."""
    z = words + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: _Words = z ^ (z >> np.uint64(31))
    return mixed
