"""One number for all copies of a position: moved, turned, mirrored or with the colours exchanged.

A position is what is in its zone, which of its stones are the target, what lies next to the zone
(wall, or the edge of the board), and who moves first. Attacker and defender take the colours'
place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.zones import Zone

_EMPTY, _ATTACKER, _DEFENDER, _TARGET, _WALL, _EDGE = range(6)
_KINDS: Final = 6
_STEPS: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))
_Words = NDArray[np.uint64]


def canonical_keys(
    zone: Zone,
    attackers: Iterable[int],
    defenders: Iterable[int],
    blocks: Iterable[int],
    sides: Iterable[int],
) -> _Words:
    """Return a key of 64 bits for each position of a zone, uint64 of shape (n,).

    Args:
      attackers, defenders, blocks: as sets of points of the zone: the stones, and those of the
        defender's that are the target.
      sides: who moves first.
    """
    inside = np.array([divmod(p, zone.size) for p in zone.points], np.int64)
    rim = _rim(zone)
    around = np.array([cell for cell, _kind in rim], np.int64).reshape(-1, 2)
    kinds = np.array([kind for _cell, kind in rim], np.int64)
    values = _values(len(inside), attackers, defenders, blocks)
    best: _Words | None = None
    for turn in range(8):
        rows, columns = _turned(np.concatenate((inside, around)), turn)
        table = _drawn(rows, columns)
        own = table[np.arange(len(inside)), values].sum(1, dtype=np.uint64)
        total = own + table[np.arange(len(inside), len(rows)), kinds].sum(dtype=np.uint64)
        best = total if best is None else np.minimum(best, total)
    assert best is not None
    mover = np.fromiter(sides, np.uint64)
    return scrambled(best + mover * np.uint64(0xD6E8FEB86659FD93))


def _rim(zone: Zone) -> list[tuple[tuple[int, int], int]]:
    """Return the points next to the zone, each a wall or beyond the edge of the board."""
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
    """Return what is on each point, int64 of shape (n, points)."""
    bits = np.arange(points, dtype=np.uint64)

    def has(sets: Iterable[int]) -> NDArray[np.bool_]:
        words = np.fromiter(sets, np.uint64)
        return (words[:, None] >> bits & np.uint64(1)).astype(bool)

    stones = np.where(has(attackers), _ATTACKER, np.where(has(defenders), _DEFENDER, _EMPTY))
    return np.where(has(blocks), _TARGET, stones)


def _turned(cells: NDArray[np.int64], turn: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns under a symmetry, moved so that the least are 0."""
    rows, columns = cells[:, 0], cells[:, 1]
    if turn & 1:
        rows = -rows
    if turn & 2:
        columns = -columns
    if turn & 4:
        rows, columns = columns, rows
    return rows - rows.min(), columns - columns.min()


def _drawn(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> _Words:
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
