"""Small drawings of fights, and how they come onto a board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.life.problems import Problem
from miai_go.life.zones import ATTACKER, DEFENDER
from miai_go.rules.symmetry import point_tables

Cell = tuple[int, int]
"""Row and column, the row counted upwards; (0, 0) is the corner where there is one."""

_MARKS: Final = {"X": DEFENDER, "O": ATTACKER}
_MARGIN: Final = 2
"""Rows and columns beyond a drawing: the wall needs liberties there."""


class Placement(Enum):
    """Which edges of the board a drawing touches."""

    CENTRE = "centre"
    SIDE = "side"
    CORNER = "corner"


@dataclass(frozen=True, slots=True)
class Diagram:
    """Stones of a fight, wherever on a board.

    Attributes:
      placement: on a SIDE row 0 is the first line; in a CORNER column 0 is one too.
      stones: the side, 0 attacker and 1 defender, of each cell that has a stone.
      target: a cell of the target.
    """

    placement: Placement
    stones: Mapping[Cell, int] = field(hash=False)
    target: Cell

    def place(
        self, size: int, *, defender: int = 1, symmetry: int = 0, shift: Cell | None = None
    ) -> Problem:
        """Return it on a board.

        Args:
          size: points on a side.
          defender: the defender's colour, 1 black, 2 white.
          symmetry: which of the eight; see `miai_go.rules.symmetry`.
          shift: rows and columns that it is moved by where the placement leaves that open; by
            default it stands as near to the middle as it can.

        Raises:
          ProblemError: the board is too small.
        """
        up, right = self._shift(size, shift)
        stones = np.zeros(size * size, np.int8)
        table = point_tables(size)[symmetry]
        for (row, column), side in self.stones.items():
            r, c = row + up, column + right
            if not (0 <= r < size and 0 <= c < size):
                raise ProblemError(
                    f"the drawing does not fit on a board of {size}x{size}: take a larger one"
                )
            stones[table[r * size + c]] = defender if side == DEFENDER else 3 - defender
        target = (self.target[0] + up) * size + self.target[1] + right
        return Problem(size=size, stones=stones, target=int(table[target]))

    def room(self, size: int) -> tuple[range, range]:
        """Return by how many rows and columns it can be moved; empty where it does not fit."""
        rows, columns = _extent(r for r, _ in self.stones), _extent(c for _, c in self.stones)
        up = range(1) if self.placement != Placement.CENTRE else _free(rows, size)
        right = range(1) if self.placement == Placement.CORNER else _free(columns, size)
        if self.placement != Placement.CENTRE and rows[1] + _MARGIN > size:
            up = range(0)
        if self.placement == Placement.CORNER and columns[1] + _MARGIN > size:
            right = range(0)
        return up, right

    def _shift(self, size: int, shift: Cell | None) -> Cell:
        up, right = self.room(size)
        if not up or not right:
            raise ProblemError(
                f"the drawing does not fit on a board of {size}x{size}: take a larger one"
            )
        if shift is None:
            return up[len(up) // 2], right[len(right) // 2]
        if shift[0] not in up or shift[1] not in right:
            raise ProblemError(f"a drawing cannot be moved by {shift} on a board of {size}x{size}")
        return shift


def drawn(text: str, *, placement: Placement) -> Diagram:
    """Return a drawing from text, its lowest row the last line.

    `X` is the defender, the first of them from the top the target, `O` the attacker, everything
    else empty.
    """
    lines = text.strip("\n").splitlines()
    stones = {
        (len(lines) - 1 - i, j): _MARKS[mark]
        for i, line in enumerate(lines)
        for j, mark in enumerate(line.split())
        if mark in _MARKS
    }
    target = next(cell for cell, side in stones.items() if side == DEFENDER)
    return Diagram(placement, stones, target)


def surround(
    wall: Iterable[Cell],
    space: Iterable[Cell],
    *,
    placement: Placement,
    inside: Iterable[Cell] = (),
) -> Diagram:
    """Return stones of the defender and the empty points at them, walled in by the attacker.

    Args:
      wall: the defender's stones; the target is the highest, of these the rightmost.
      space: what is empty within the attacker's wall.
      inside: cells of the space that hold stones of the attacker.
    """
    own = set(wall)
    stones = dict.fromkeys(rim_of(own | set(space), placement) | set(inside), ATTACKER)
    return Diagram(placement, stones | dict.fromkeys(own, DEFENDER), max(own))


def enclose(
    cells: Iterable[Cell],
    *,
    placement: Placement,
    outside: int = 0,
    inside: Iterable[Cell] = (),
    cut: Iterable[Cell] = (),
) -> Diagram:
    """Return an eye space in a solid wall of the defender, in a solid wall of the attacker.

    Args:
      outside: liberties that the defender's wall has on the outside.
      inside: cells of the eye space that hold stones of the attacker.
      cut: cells of the defender's wall that hold stones of the attacker.

    Raises:
      ProblemError: there is no room for so many liberties.
    """
    space, cuts = set(cells), set(cut)
    wall = rim_of(space, placement) - cuts
    free = _apart(rim_of(space | wall, placement) - cuts, wall, outside)
    return surround(wall, space | free, placement=placement, inside=inside)


def around(cell: Cell) -> Iterator[Cell]:
    """Yield the eight cells around one."""
    for row in (-1, 0, 1):
        for column in (-1, 0, 1):
            if row or column:
                yield cell[0] + row, cell[1] + column


def beside(cell: Cell) -> Iterator[Cell]:
    """Yield the four neighbours of a cell."""
    for row, column in ((-1, 0), (0, -1), (0, 1), (1, 0)):
        yield cell[0] + row, cell[1] + column


def on_board(cell: Cell, placement: Placement) -> bool:
    """Say whether a cell is on the board, as far as the placement tells."""
    low = placement == Placement.CENTRE or cell[0] >= 0
    return low and (placement != Placement.CORNER or cell[1] >= 0)


def rim_of(cells: set[Cell], placement: Placement) -> set[Cell]:
    """Return the cells of the board around a set, diagonally too."""
    return {n for cell in cells for n in around(cell) if on_board(n, placement)} - cells


def board_text(problem: Problem) -> str:
    """Return a board as text, highest row first: X black, O white."""
    rows: NDArray[np.int8] = problem.stones.reshape(problem.size, problem.size)
    return "\n".join(" ".join(".XO"[stone] for stone in row) for row in rows[::-1])


def _apart(rim: set[Cell], wall: set[Cell], count: int) -> set[Cell]:
    """Return so many cells of the rim that touch the wall, none near another."""
    chosen: list[Cell] = []
    for cell in sorted(rim):
        touches = any(near in wall for near in beside(cell))
        far = all(max(abs(cell[0] - r), abs(cell[1] - c)) > _MARGIN for r, c in chosen)
        if touches and far and len(chosen) < count:
            chosen.append(cell)
    if len(chosen) < count:
        raise ProblemError(f"the wall has no room for {count} liberties apart from each other")
    return set(chosen)


def _extent(values: Iterable[int]) -> tuple[int, int]:
    listed = list(values)
    return min(listed), max(listed) + 1


def _free(extent: tuple[int, int], size: int) -> range:
    """Return the shifts that leave a margin on both sides."""
    return range(_MARGIN - extent[0], size - _MARGIN - extent[1] + 1)
