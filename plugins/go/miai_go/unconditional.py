"""Unconditional life on the whole board: what is safe even if its owner always passes.

D. B. Benson, "Life in the game of Go", Information Sciences 10 (1976). `tsumego.kernels.life` asks
the same of one target in a zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from miai_go.board import EMPTY
from miai_go.scoring import Stones, neighbours


@dataclass(frozen=True, slots=True)
class Safe:
    """What a player keeps whatever the opponent plays, though he himself only passes.

    Attributes:
      stones: points of his chains that can never be captured, ascending.
      eyes: single points that these surround; they stay his territory, ascending.
      shared: regions of two points or more that these surround in which one empty point at least,
        beside such a chain, can never be the opponent's.
    """

    stones: tuple[int, ...]
    eyes: tuple[int, ...]
    shared: int

    def least_lead(self, points: int) -> int:
        """Return by how much area, komi aside, he leads at least in the end.

        Args:
          points: of the board.
        """
        own = len(self.stones) + len(self.eyes)
        return own - (points - own - self.shared)


@dataclass(slots=True)
class _Region:
    """A part of the board without stones of the player.

    `chains` are the numbers of his chains round it, `vital` those to which it is a sure liberty.
    """

    points: list[int]
    chains: frozenset[int]
    vital: frozenset[int]


def find_safe(stones: Stones, color: int, *, suicide: bool) -> Safe:
    """Return what is safe for a player.

    A region surrounded by his chains is vital to one of them when the opponent, who has to leave a
    point of it empty, can leave none that is not beside that chain: when all of its empty points
    are, or where suicide may empty it again all of its points. Chains with two vital regions each,
    surrounded by such chains alone, are safe.

    Args:
      stones: what lies on each point, int8 of shape (size, size): 0 empty, 1 black, 2 white.
      color: of the player, 0 for Black.
      suicide: whether the opponent may take his own stones off.
    """
    flat: list[int] = stones.reshape(-1).tolist()
    around = _neighbours(len(stones))
    own = color + 1
    chains = _parts([p for p, what in enumerate(flat) if what == own], around)
    chain_of = {point: number for number, points in enumerate(chains) for point in points}
    areas = _parts([p for p, what in enumerate(flat) if what != own], around)
    regions = [_region(area, flat, chain_of, around, suicide=suicide) for area in areas]
    alive = set(range(len(chains)))
    while True:
        regions = [r for r in regions if r.chains <= alive]
        eyes = {number: sum(number in r.vital for r in regions) for number in alive}
        left = {number for number, count in eyes.items() if count >= 2}
        if left == alive:
            break
        alive = left
    vital = [region for region in regions if region.vital]
    return Safe(
        stones=tuple(sorted(point for number in alive for point in chains[number])),
        eyes=tuple(sorted(r.points[0] for r in vital if len(r.points) == 1)),
        shared=sum(len(region.points) > 1 for region in vital),
    )


def _region(
    points: list[int],
    flat: Sequence[int],
    chain_of: dict[int, int],
    around: Sequence[Sequence[int]],
    *,
    suicide: bool,
) -> _Region:
    beside = [frozenset(chain_of[q] for q in around[p] if q in chain_of) for p in points]
    last = [found for p, found in zip(points, beside, strict=True) if suicide or flat[p] == EMPTY]
    vital = frozenset.intersection(*last) if last else frozenset[int]()
    return _Region(points, frozenset[int]().union(*beside), vital)


def _parts(points: Iterable[int], around: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return points in connected parts."""
    left = set(points)
    parts = []
    while left:
        part = [left.pop()]
        for point in part:
            found = left.intersection(around[point])
            left -= found
            part += found
        parts.append(part)
    return parts


@cache
def _neighbours(size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(neighbours(point, size)) for point in range(size * size))
