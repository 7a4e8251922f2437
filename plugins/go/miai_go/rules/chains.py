"""Chains, liberties and regions of a board given as an array, for code that is not compiled.

`Board` finds chains faster, and only on positions in which every chain has a liberty.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from miai_go.rules.board import EMPTY

FlatStones = NDArray[np.int8] | Sequence[int]
"""What lies on each point, row by row from A1: 0 empty, 1 black, 2 white."""

_P = TypeVar("_P", bound=Hashable)


@cache
def neighbours(point: int, size: int) -> tuple[int, ...]:
    """Return the points beside a point, ascending; none on a board of one point."""
    row, column = divmod(point, size)
    steps = ((row > 0, -size), (column > 0, -1), (column < size - 1, 1), (row < size - 1, size))
    return tuple(point + step for inside, step in steps if inside)


@cache
def diagonals(point: int, size: int) -> tuple[int, ...]:
    """Return the diagonal neighbours of a point, ascending."""
    row, column = divmod(point, size)
    corners = [(r, c) for r in (row - 1, row + 1) for c in (column - 1, column + 1)]
    return tuple(r * size + c for r, c in corners if 0 <= r < size and 0 <= c < size)


def flood(start: _P, around: Callable[[_P], Iterable[_P]]) -> set[_P]:
    """Return everything that is reached from `start` by steps to what `around` returns."""
    region, edge = {start}, [start]
    while edge:
        new = set(around(edge.pop())) - region
        region |= new
        edge += new
    return region


def connected_parts(points: Iterable[_P], around: Callable[[_P], Iterable[_P]]) -> list[set[_P]]:
    """Return points in connected parts, in no particular order."""
    remaining = set(points)

    def inside(point: _P) -> set[_P]:
        return remaining.intersection(around(point))

    parts = []
    while remaining:
        part = flood(remaining.pop(), inside)
        remaining.difference_update(part)
        parts.append(part)
    return parts


def chain_at(stones: FlatStones, point: int, size: int) -> set[int]:
    """Return the points of the chain on `point`; on an empty point, its empty region."""
    color = stones[point]
    return flood(point, lambda stone: (p for p in neighbours(stone, size) if stones[p] == color))


def liberties_of(stones: FlatStones, chain: Iterable[int], size: int) -> set[int]:
    """Return the empty points beside a chain."""
    return {p for stone in chain for p in neighbours(stone, size) if stones[p] == EMPTY}


def chains_of(stones: FlatStones, size: int) -> Iterator[set[int]]:
    """Yield the points of each chain, the chains by their lowest point."""
    visited: set[int] = set()
    for point in np.flatnonzero(stones).tolist():
        if point not in visited:
            chain = chain_at(stones, point, size)
            visited |= chain
            yield chain


def captured_stone(stones: FlatStones, size: int) -> int | None:
    """Return the lowest stone of a chain without a liberty; None if every chain has one."""
    chains = chains_of(stones, size)
    return next((min(chain) for chain in chains if not liberties_of(stones, chain, size)), None)


def fills_eye(stones: FlatStones, point: int, own: int) -> bool:
    """Return whether an empty point is an eye of a colour, as light playouts define eyes.

    All neighbours must be stones of that colour, and at most one diagonal point the opponent's; at
    the edge, none.
    """
    size = int(len(stones) ** 0.5)
    if any(stones[other] != own for other in neighbours(point, size)):
        return False
    corners = diagonals(point, size)
    hostile = sum(stones[corner] == 3 - own for corner in corners)
    return bool(hostile + (len(corners) < 4) < 2)
