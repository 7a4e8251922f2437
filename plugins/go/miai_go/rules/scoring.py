"""Counting a board: area and territory, dead stones taken off first.

Margins are Black's points minus White's, komi and compensation included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE, Board
from miai_go.rules.rule_sets import Rules

Stones = NDArray[np.int8]
"""What lies on each point, int8 of shape (size, size): 0 empty, 1 black, 2 white."""

SEKI_EYE: Final = 2
"""A single region of at most so many points never holds two eyes."""


@dataclass(frozen=True, slots=True)
class Score:
    """A counted position.

    Attributes:
      black, white: the players' points; White's include komi and compensation.
      owners: who owns each point, int8 of shape (size, size): 1 Black, -1 White, 0 neither.
      dead: the points of the stones that were taken off as dead, ascending.
    """

    black: float
    white: float
    owners: NDArray[np.int8]
    dead: tuple[int, ...] = ()

    @property
    def margin(self) -> float:
        """Black's points minus White's."""
        return self.black - self.white


def result_text(margin: float) -> str:
    """Return a result as SGF writes it: ``B+3.5``, ``W+2``, ``0`` for a draw."""
    if margin == 0:
        return "0"
    return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"


def area_score(board: Board, *, white_bonus: float, dead: tuple[int, ...] = ()) -> Score:
    """Count by area: stones on the board and points that touch stones of one player only.

    Args:
      white_bonus: komi and compensation.
      dead: points of dead stones.
    """
    cleared = without_dead(board, dead)
    owners = cleared.owners()
    black, white = int((owners > 0).sum()), int((owners < 0).sum())
    return Score(float(black), white + white_bonus, owners, dead)


def territory_score(
    board: Board,
    rules: Rules,
    *,
    white_bonus: float,
    pass_stones: tuple[int, int] = (0, 0),
    dead: tuple[int, ...] = (),
) -> Score:
    """Count by territory: empty points that touch one player only, and prisoners, the dead too.

    Where `rules.seki_territory` is false, the points of groups in seki do not count; see `in_seki`.

    Args:
      white_bonus: komi and compensation.
      pass_stones: stones that Black and White gave up by passing.
      dead: points of dead stones.
    """
    stones = board.stones()
    cleared = without_dead(board, dead)
    owners = cleared.owners()
    owners[cleared.stones() != EMPTY] = 0
    if not rules.seki_territory:
        owners[in_seki(cleared.stones(), owners)] = 0
    by_black, by_white = board.captures
    taken = stones.reshape(-1)[list(dead)]
    black = (owners > 0).sum() + by_black + pass_stones[1] + (taken == WHITE_STONE).sum()
    white = (owners < 0).sum() + by_white + pass_stones[0] + (taken == BLACK_STONE).sum()
    return Score(float(black), float(white) + white_bonus, owners, dead)


def without_dead(board: Board, dead: tuple[int, ...]) -> Board:
    """Return the board with the stones on `dead` taken off."""
    if not dead:
        return board
    stones = board.stones()
    stones.reshape(-1)[list(dead)] = EMPTY
    return Board.from_stones(stones)


def in_seki(stones: Stones, owners: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return the territory of groups that live in seki, bool of shape (size, size).

    A group is here all chains of one colour that share regions of their own territory. It lives
    in seki, as far as this tells, when it touches a neutral point and its territory is a single
    region of at most two points: that holds no two eyes, so it lives by the neutral points alone
    (Nihon Kiin, 1989, article 8). Seki with larger eyes is not recognised. A false eye on a
    neutral point that nobody filled counts as seki too, as the rule's text has it.
    """
    seki = np.zeros_like(stones, dtype=np.bool_)
    size = len(stones)
    flat, owned = stones.reshape(-1), owners.reshape(-1)
    links = _Links(size * size)
    regions = list(_regions(flat, owned, size))
    for points in regions:
        for point in points:
            for other in neighbours(point, size):
                links.join(point, other)
    for point in range(size * size):
        for other in neighbours(point, size):
            if flat[point] != EMPTY and flat[point] == flat[other]:
                links.join(point, other)
    neutral = {
        links.find(other)
        for point in range(size * size)
        if flat[point] == EMPTY and owned[point] == 0
        for other in neighbours(point, size)
        if flat[other] != EMPTY
    }
    by_group: dict[int, list[list[int]]] = {}
    for points in regions:
        by_group.setdefault(links.find(points[0]), []).append(points)
    for group, parts in by_group.items():
        if group in neutral and len(parts) == 1 and len(parts[0]) <= SEKI_EYE:
            seki.reshape(-1)[parts[0]] = True
    return seki


def neighbours(point: int, size: int) -> list[int]:
    """Return the two to four points beside a point (none on a board of one point)."""
    row, column = divmod(point, size)
    found = []
    if row > 0:
        found.append(point - size)
    if column > 0:
        found.append(point - 1)
    if column < size - 1:
        found.append(point + 1)
    if row < size - 1:
        found.append(point + size)
    return found


def _regions(flat: NDArray[np.int8], owned: NDArray[np.int8], size: int) -> Iterator[list[int]]:
    """Yield the connected regions of territory, each as its points."""
    seen: set[int] = set()
    for start in range(size * size):
        if start in seen or flat[start] != EMPTY or owned[start] == 0:
            continue
        region = [start]
        seen.add(start)
        for point in region:
            for other in neighbours(point, size):
                if other not in seen and flat[other] == EMPTY:
                    seen.add(other)
                    region.append(other)
        yield region


class _Links:
    """Disjoint sets of points."""

    def __init__(self, points: int) -> None:
        self._parent = list(range(points))

    def find(self, point: int) -> int:
        parent = self._parent
        while parent[point] != point:
            parent[point] = parent[parent[point]]
            point = parent[point]
        return point

    def join(self, one: int, other: int) -> None:
        self._parent[self.find(one)] = self.find(other)
