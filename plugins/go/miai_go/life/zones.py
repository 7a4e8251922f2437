"""The zone of a problem: the points on which the life of a block is fought out.

Boards from SGF files, for questions about all blocks on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.errors import ProblemError
from miai_go.life.kernels import stones as kernels
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import GoParameters
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_file

ATTACKER: Final = 0
DEFENDER: Final = 1

MAX_ZONE_POINTS: Final = 63
"""Points of a zone at most: a position of it is one word for each side."""

_SAFE_LIBERTIES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """Where a block lives or dies. Points of the zone are numbered in the order of `points`.

    Attributes:
      size: points on a side of the board.
      stones: the whole board, int8 of shape (size * size,), row by row from A1: 0 empty, 1 black,
        2 white. Outside of the zone nothing changes.
      points: points of the board that the zone has, ascending.
      target: a stone of the target, as a point of the board.
      defender: the colour of the target, 1 black, 2 white.
      words: for the kernels, uint64 of shape (67,); see `miai_go.life.kernels.stones`.
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
        """How many points of the zone are empty."""
        return len(self.points) - (self.attackers | self.defenders).bit_count()

    def color(self, side: int) -> int:
        """Return the stones of a side, 1 black or 2 white."""
        return self.defender if side == DEFENDER else self.attacker

    def number(self, point: int) -> int:
        """Return the number in the zone of a point of the board; `size * size` is the pass.

        Raises:
          ValueError: the point is not in the zone.
        """
        return int(kernels.PASS) if point == self.size**2 else self.points.index(point)

    def point(self, number: int) -> int:
        """Return the point of the board of a number in the zone, `size * size` for the pass."""
        return self.size**2 if number == kernels.PASS else self.points[number]

    def sets_of(self, stones: ArrayLike) -> tuple[int, int]:
        """Return the attacker's and the defender's stones on a board, as sets of the zone."""
        board = np.asarray(stones).reshape(-1)
        attackers = sum(1 << i for i, p in enumerate(self.points) if board[p] == self.attacker)
        defenders = sum(1 << i for i, p in enumerate(self.points) if board[p] == self.defender)
        return attackers, defenders

    def board(self, attackers: int, defenders: int) -> NDArray[np.int8]:
        """Return the whole board with these stones in the zone, int8 of shape (size * size,)."""
        out = self.stones.copy()
        for i, point in enumerate(self.points):
            out[point] = self.attacker * (attackers >> i & 1) + self.defender * (defenders >> i & 1)
        return out


def find_zone(stones: ArrayLike, target: int) -> Zone:
    """Find the zone of a target.

    From the target all points are reached, diagonally too, that are empty or the defender's. The
    attacker's blocks that touch them are the wall: those with two liberties or more beyond are
    safe and stay for ever. The others may be captured: they are of the zone, and so are their
    liberties beyond. What lies further out is held to be the attacker's.

    Args:
      stones: the board, shape (size, size) or (size * size,), 0 empty, 1 black, 2 white.
      target: a point of the block that is asked about.

    Raises:
      ProblemError: there is no stone, no safe wall, or the zone is open or larger than 63 points.
    """
    return _Finder(np.asarray(stones, np.int8).reshape(-1), target).zone()


class _Finder:
    def __init__(self, stones: NDArray[np.int8], target: int) -> None:
        self._stones = stones
        self._size = round(len(stones) ** 0.5)
        if self._size**2 != len(stones):
            raise ProblemError(f"a board of {len(stones)} points is no square")
        if not 0 <= target < len(stones) or stones[target] == EMPTY:
            raise ProblemError(f"there is no stone at {self._name(target)}, the target")
        self._target = target
        self._defender = int(stones[target])
        self._attacker = BLACK_STONE + WHITE_STONE - self._defender

    def zone(self) -> Zone:
        block = self._block(self._target)
        if not self._liberties(block):
            raise ProblemError(f"the target at {self._name(self._target)} has no liberty")
        reached = self._reached()
        self._check_size(reached)
        inside, walls = self._with_inner_blocks(reached)
        self._check_size(inside)
        if not walls:
            raise ProblemError(
                f"no block of the attacker around {self._name(self._target)} is safe: the wall "
                f"needs {_SAFE_LIBERTIES} liberties beyond"
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

    def _check_size(self, points: Iterable[int]) -> None:
        count = len(set(points))
        if count > MAX_ZONE_POINTS:
            raise ProblemError(
                f"the zone around {self._name(self._target)} has {count} points, more than "
                f"{MAX_ZONE_POINTS}: is the wall open?"
            )

    def _reached(self) -> set[int]:
        """Return what is reached from the target over empty points and the defender's stones."""
        found, edge = {self._target}, [self._target]
        while edge:
            for p in self._around(edge.pop()):
                if p not in found and self._stones[p] != self._attacker:
                    found.add(p)
                    edge.append(p)
        return found

    def _with_inner_blocks(self, reached: set[int]) -> tuple[set[int], list[set[int]]]:
        """Return the zone with the blocks that may be captured, and the blocks that may not."""
        inside, walls, known = set(reached), [], set()
        edge = list(reached)
        while edge:
            for p in self._near(edge.pop()):
                if self._stones[p] != self._attacker or p in known:
                    continue
                block = self._block(p)
                known |= block
                beyond = self._liberties(block) - reached
                if len(beyond) >= _SAFE_LIBERTIES:
                    walls.append(block)
                    continue
                self._check_enclosed(block | beyond, inside | block, p)
                inside |= block | beyond
                edge.extend(beyond)
        return inside, walls

    def _check_enclosed(self, opened: set[int], inside: set[int], p: int) -> None:
        """Check that no stone of the defender is joined where a block is taken."""
        for q in opened:
            for n in self._near(q):
                if n not in inside and self._stones[n] == self._defender:
                    raise ProblemError(
                        f"the wall is open: its block at {self._name(p)} can be captured, which "
                        f"connects the target with {self._name(n)}"
                    )

    def _words(self, points: tuple[int, ...], inside: set[int]) -> NDArray[np.uint64]:
        number = {point: i for i, point in enumerate(points)}
        words = np.zeros(kernels.ZONE_WORDS, np.uint64)
        for i, point in enumerate(points):
            near = [number[q] for q in self._near(point) if q in inside]
            words[i] = sum(1 << q for q in near)
            outside = [q for q in self._near(point) if q not in inside]
            if any(self._stones[q] != self._defender for q in outside):
                words[kernels.OPEN] |= np.uint64(1 << i)
        words[kernels.POINTS] = np.uint64((1 << len(points)) - 1)
        words[kernels.TARGET] = np.uint64(1 << number[self._target])
        return words

    def _set(self, points: tuple[int, ...], color: int) -> int:
        return sum(1 << i for i, p in enumerate(points) if self._stones[p] == color)

    def _block(self, point: int) -> set[int]:
        found, edge = {point}, [point]
        while edge:
            for p in self._near(edge.pop()):
                if p not in found and self._stones[p] == self._stones[point]:
                    found.add(p)
                    edge.append(p)
        return found

    def _liberties(self, block: set[int]) -> set[int]:
        return {q for p in block for q in self._near(p) if self._stones[q] == EMPTY}

    def _near(self, point: int) -> Iterator[int]:
        row, column = divmod(point, self._size)
        for r, c in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
            if 0 <= r < self._size and 0 <= c < self._size:
                yield r * self._size + c

    def _around(self, point: int) -> Iterator[int]:
        row, column = divmod(point, self._size)
        for r in range(max(row - 1, 0), min(row + 2, self._size)):
            for c in range(max(column - 1, 0), min(column + 2, self._size)):
                if (r, c) != (row, column):
                    yield r * self._size + c

    def _name(self, point: int) -> str:
        return vertex(point, self._size) if point < self._size**2 else str(point)


def board_of(file: Path, *, moves: int = 0) -> NDArray[np.int8]:
    """Return the board of the first game of a file, after so many moves of its main line.

    Returns:
      int8 of shape (size, size), row 0 lowest, 0 empty, 1 black, 2 white.

    Raises:
      SgfError: it cannot be read, or has fewer moves.
    """
    game = read_file(file)[0]
    line = game.main_line()
    if moves > len(line.actions):
        raise SgfError(
            f"has {len(line.actions)} moves, not {moves}: give fewer with --moves",
            source=str(file),
        )
    played = GoGame(GoParameters.model_validate(game.parameters(line, komi=0.5)))
    return game.replay(played, line, plies=moves).board.stones()
