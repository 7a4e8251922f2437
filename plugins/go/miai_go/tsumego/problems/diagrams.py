"""Small diagrams of fights, and their placement on a board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np

from miai_go.errors import ProblemError
from miai_go.rules.symmetry import point_tables
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.zones import ATTACKER, DEFENDER

Point = tuple[int, int]
"""Row, counted upwards, and column; (0, 0) is the corner, if there is one."""

_MARGIN: Final = 2
"""Free rows and columns around a diagram, where the wall needs liberties."""


class Placement(Enum):
    """Edges of the board that a diagram touches."""

    CENTRE = "centre"
    SIDE = "side"
    CORNER = "corner"


@dataclass(frozen=True, slots=True)
class Diagram:
    """Stones of a fight, independent of the board.

    Attributes:
      placement: on a SIDE row 0 is the first line; in a CORNER so is column 0.
      stones: the side, 0 attacker or 1 defender, of each cell with a stone.
      target: a cell of the target.
    """

    placement: Placement
    stones: Mapping[Point, int] = field(hash=False)
    target: Point

    def place(
        self, size: int, *, defender: int = 1, symmetry: int = 0, shift: Point | None = None
    ) -> Problem:
        """Return the diagram on a board.

        Args:
          size: points on a side.
          defender: the defender's colour, 1 black, 2 white.
          symmetry: number of the symmetry; see `miai_go.rules.symmetry`.
          shift: rows and columns to move the diagram by; by default as near to the middle of the
            board as the placement allows.

        Raises:
          ProblemError: the board is too small.
        """
        up, right = self._checked_shift(size, shift)
        stones = np.zeros(size * size, np.int8)
        table = point_tables(size)[symmetry]
        for (row, column), side in self.stones.items():
            r, c = row + up, column + right
            if not (0 <= r < size and 0 <= c < size):
                raise _too_small(size)
            stones[table[r * size + c]] = defender if side == DEFENDER else 3 - defender
        target = (self.target[0] + up) * size + self.target[1] + right
        return Problem(size=size, stones=stones, target=int(table[target]))

    def room(self, size: int) -> tuple[range, range]:
        """Return the possible shifts by rows and by columns, empty if the diagram does not fit."""
        rows, columns = _extent(r for r, _ in self.stones), _extent(c for _, c in self.stones)
        up = range(1) if self.placement != Placement.CENTRE else _free(rows, size)
        right = range(1) if self.placement == Placement.CORNER else _free(columns, size)
        if self.placement != Placement.CENTRE and rows[1] + _MARGIN > size:
            up = range(0)
        if self.placement == Placement.CORNER and columns[1] + _MARGIN > size:
            right = range(0)
        return up, right

    def _checked_shift(self, size: int, shift: Point | None) -> Point:
        up, right = self.room(size)
        if not up or not right:
            raise _too_small(size)
        if shift is None:
            return up[len(up) // 2], right[len(right) // 2]
        if shift[0] not in up or shift[1] not in right:
            raise ProblemError(f"the diagram cannot be moved by {shift} on a {size}x{size} board")
        return shift


def surround(
    wall: Iterable[Point],
    space: Iterable[Point],
    *,
    placement: Placement,
    inside: Iterable[Point] = (),
) -> Diagram:
    """Return the defender's stones and their empty points, walled in by the attacker.

    Args:
      wall: the defender's stones; the target is the rightmost of the highest.
      space: the empty cells within the attacker's wall.
      inside: cells of the space with stones of the attacker.
    """
    own = set(wall)
    stones = dict.fromkeys(rim_of(own | set(space), placement) | set(inside), ATTACKER)
    return Diagram(placement, stones | dict.fromkeys(own, DEFENDER), max(own))


def enclose(
    cells: Iterable[Point], *, placement: Placement, outside: int = 0, inside: Iterable[Point] = ()
) -> Diagram:
    """Return an eye space in a solid wall of the defender, itself in a solid wall of the attacker.

    Args:
      outside: number of outside liberties of the defender's wall.
      inside: cells of the eye space with stones of the attacker.

    Raises:
      ProblemError: there is no room for that number of liberties.
    """
    space = set(cells)
    wall = rim_of(space, placement)
    free = _apart(rim_of(space | wall, placement), wall, outside)
    return surround(wall, space | free, placement=placement, inside=inside)


def around(cell: Point) -> Iterator[Point]:
    """Yield the eight cells around a cell."""
    for row in (-1, 0, 1):
        for column in (-1, 0, 1):
            if row or column:
                yield cell[0] + row, cell[1] + column


def beside(cell: Point) -> Iterator[Point]:
    """Yield the four neighbours of a cell."""
    for row, column in ((-1, 0), (0, -1), (0, 1), (1, 0)):
        yield cell[0] + row, cell[1] + column


def on_board(cell: Point, placement: Placement) -> bool:
    """Return whether a cell is on the board, as far as the placement determines that."""
    low = placement == Placement.CENTRE or cell[0] >= 0
    return low and (placement != Placement.CORNER or cell[1] >= 0)


def rim_of(cells: set[Point], placement: Placement) -> set[Point]:
    """Return the cells of the board around a set, diagonal ones included."""
    return {n for cell in cells for n in around(cell) if on_board(n, placement)} - cells


def _apart(rim: set[Point], wall: set[Point], count: int) -> set[Point]:
    """Return `count` cells of the rim that touch the wall, far from each other."""
    chosen: list[Point] = []
    for cell in sorted(rim):
        touches = any(near in wall for near in beside(cell))
        far = all(max(abs(cell[0] - r), abs(cell[1] - c)) > _MARGIN for r, c in chosen)
        if touches and far and len(chosen) < count:
            chosen.append(cell)
    if len(chosen) < count:
        raise ProblemError(f"the wall has no room for {count} separate liberties")
    return set(chosen)


def _too_small(size: int) -> ProblemError:
    return ProblemError(f"the diagram does not fit on a {size}x{size} board; use a larger one")


def _extent(values: Iterable[int]) -> tuple[int, int]:
    listed = list(values)
    return min(listed), max(listed) + 1


def _free(extent: tuple[int, int], size: int) -> range:
    """Return the shifts that leave a margin on both sides."""
    return range(_MARGIN - extent[0], size - _MARGIN - extent[1] + 1)
