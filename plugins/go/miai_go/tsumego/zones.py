"""The zone of a problem: the points that decide whether a block lives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.errors import ProblemError
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE
from miai_go.rules.chains import chain_at, diagonals, flood, liberties_of, neighbours
from miai_go.rules.coordinates import vertex
from miai_go.tsumego.kernels import stones as kernels

ATTACKER: Final = 0
DEFENDER: Final = 1

MAX_ZONE_POINTS: Final = 63
"""Maximum number of points in a zone: a position has one 64-bit word for each side."""

# With one liberty outside, the defender could capture the wall in one move there, and with it get
# out; with two the attacker has time to answer.
_SAFE_LIBERTIES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """Where a block lives or dies. Points of the zone are numbered in the order of `points`.

    Attributes:
      size: points on a side of the board.
      stones: the whole board, int8 of shape (size * size,), row by row from A1: 0 empty, 1 black,
        2 white. Nothing changes outside the zone.
      points: the zone's points of the board, ascending.
      target: a stone of the target, as a point of the board.
      defender: the colour of the target, 1 black, 2 white.
      words: for the kernels, uint64 of shape (67,); see `miai_go.tsumego.kernels.stones`.
      attackers, defenders: the stones of both sides in the zone, as sets of its points.
    """

    size: int
    stones: NDArray[np.int8]
    points: tuple[int, ...]
    target: int
    defender: int
    words: NDArray[np.uint64] = field(repr=False)
    attackers: int
    defenders: int

    @property
    def attacker(self) -> int:
        """The colour of the attacker, 1 black, 2 white."""
        return 3 - self.defender

    @property
    def empty(self) -> int:
        """Number of empty points in the zone."""
        return len(self.points) - (self.attackers | self.defenders).bit_count()

    def color(self, side: int) -> int:
        """Return the stones of a side, 1 black or 2 white."""
        return self.defender if side == DEFENDER else self.attacker

    def number(self, point: int) -> int:
        """Return the zone's number of a point of the board; `size * size` is the pass.

        Raises:
          ValueError: the point is not in the zone.
        """
        return int(kernels.PASS) if point == self.size**2 else self.points.index(point)

    def point(self, number: int) -> int:
        """Return the point of the board with a number in the zone; `size * size` is the pass."""
        return self.size**2 if number == kernels.PASS else self.points[number]


def find_zone(stones: ArrayLike, target: int) -> Zone:
    """Find the zone of a target.

    The zone contains every point that is connected to the target, diagonally too, through empty
    points and the defender's stones. Blocks of the attacker that touch these points are walls: with
    at least two liberties beyond, a wall is safe and stays for ever; otherwise it may be captured,
    and belongs to the zone with its liberties. Everything further out counts as the attacker's.

    Args:
      stones: the board, shape (size, size) or (size * size,), 0 empty, 1 black, 2 white.
      target: a point of the target block.

    Raises:
      ProblemError: the target is empty, no wall is safe, or the zone is open or larger than 63
        points.
    """
    return _Finder(np.asarray(stones, np.int8).ravel(), target).zone()


class _Finder:
    def __init__(self, stones: NDArray[np.int8], target: int) -> None:
        self._stones = stones
        self._size = round(len(stones) ** 0.5)
        if self._size**2 != len(stones):
            raise ProblemError(f"a board of {len(stones)} points is not square")
        if not 0 <= target < len(stones) or stones[target] == EMPTY:
            raise ProblemError(f"there is no stone at {self._name(target)}, the target")
        self._target = target
        self._defender = int(stones[target])
        self._attacker = BLACK_STONE + WHITE_STONE - self._defender

    def zone(self) -> Zone:
        if not self._liberties(self._chain(self._target)):
            raise ProblemError(f"the target at {self._name(self._target)} has no liberty")
        reached = self._reached()
        self._check_size(reached)
        inside, walls = self._with_inner_blocks(reached)
        self._check_size(inside)
        if not walls:
            raise ProblemError(
                f"no block of the attacker around {self._name(self._target)} is safe: the wall "
                f"needs {_SAFE_LIBERTIES} liberties outside the zone"
            )
        points = tuple(sorted(inside))
        return Zone(
            size=self._size,
            stones=self._stones,
            points=points,
            target=self._target,
            defender=self._defender,
            words=self._words(points, inside),
            attackers=self._set(points, self._attacker),
            defenders=self._set(points, self._defender),
        )

    def _check_size(self, points: set[int]) -> None:
        if len(points) > MAX_ZONE_POINTS:
            raise ProblemError(
                f"the zone around {self._name(self._target)} has {len(points)} points, more than "
                f"{MAX_ZONE_POINTS}: is the wall open?"
            )

    def _reached(self) -> set[int]:
        """Return what is connected to the target by empty points and the defender's stones."""
        # Diagonally too: where two stones of the attacker touch at a corner only, the defender may
        # cut, and play goes on behind them.
        attackers = self._stones == self._attacker

        def around(point: int) -> Iterator[int]:
            near = (*neighbours(point, self._size), *diagonals(point, self._size))
            return (p for p in near if not attackers[p])

        return flood(self._target, around)

    def _with_inner_blocks(self, reached: set[int]) -> tuple[set[int], list[set[int]]]:
        """Return the zone including the blocks that may be captured, and the safe walls."""
        inside, walls, seen = set(reached), [], set()
        edge = list(reached)
        while edge:
            for p in neighbours(edge.pop(), self._size):
                if self._stones[p] != self._attacker or p in seen:
                    continue
                block = self._chain(p)
                seen |= block
                beyond = self._liberties(block) - reached
                # A safe wall ends the zone: it stays out, and so does all that lies behind it.
                if len(beyond) >= _SAFE_LIBERTIES:
                    walls.append(block)
                    continue
                # A block that may be captured belongs to the fight, with the liberties by which it
                # could be saved; the search for walls goes on from there.
                self._check_enclosed(block | beyond, inside | block, p)
                inside |= block | beyond
                edge.extend(beyond)
        return inside, walls

    def _check_enclosed(self, opened: set[int], inside: set[int], p: int) -> None:
        """Check that capturing a block does not connect the target with more stones."""
        for q in opened:
            for n in neighbours(q, self._size):
                if n not in inside and self._stones[n] == self._defender:
                    raise ProblemError(
                        f"the wall is open: its block at {self._name(p)} can be captured, which "
                        f"connects the target with {self._name(n)}"
                    )

    def _words(self, points: tuple[int, ...], inside: set[int]) -> NDArray[np.uint64]:
        number = {point: i for i, point in enumerate(points)}
        words = np.zeros(kernels.ZONE_WORDS, np.uint64)
        for i, point in enumerate(points):
            near = neighbours(point, self._size)
            words[i] = sum(1 << number[q] for q in near if q in inside)
            # Points off the board are nobody's, so the edge does not open a point.
            outside = [q for q in near if q not in inside]
            if any(self._stones[q] != self._defender for q in outside):
                words[kernels.OPEN] |= np.uint64(1 << i)
        words[kernels.POINTS] = np.uint64((1 << len(points)) - 1)
        words[kernels.TARGET] = np.uint64(1 << number[self._target])
        return words

    def _set(self, points: tuple[int, ...], color: int) -> int:
        return sum(1 << i for i, p in enumerate(points) if self._stones[p] == color)

    def _chain(self, point: int) -> set[int]:
        return chain_at(self._stones, point, self._size)

    def _liberties(self, block: set[int]) -> set[int]:
        return liberties_of(self._stones, block, self._size)

    def _name(self, point: int) -> str:
        return vertex(point, self._size) if point < self._size**2 else str(point)
