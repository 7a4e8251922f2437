"""Counting a board by area or territory, after dead stones are removed.

Margins are Black's points minus White's, komi and compensation included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE, Board
from miai_go.rules.chains import connected_parts, neighbours
from miai_go.rules.game_parameters import Rules

Stones = NDArray[np.int8]
"""What lies on each point, int8 of shape (size, size): 0 empty, 1 black, 2 white."""

SEKI_EYE: Final = 2
"""A single region of at most this many points never holds two eyes."""


@dataclass(frozen=True, slots=True)
class Score:
    """A counted position.

    Attributes:
      black, white: the players' points; White's include komi and compensation.
      owners: who owns each point, int8 of shape (size, size): 1 Black, -1 White, 0 neither.
      dead: the points of the stones that were removed as dead, ascending.
    """

    black: float
    white: float
    owners: NDArray[np.int8]
    dead: tuple[int, ...]

    @property
    def margin(self) -> float:
        """Black's points minus White's."""
        return self.black - self.white


def result_text(margin: float) -> str:
    """Return a result in SGF notation: ``B+3.5``, ``W+2``, ``0`` for a draw."""
    if margin == 0:
        return "0"
    return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"


def area_score(board: Board, *, white_bonus: float, dead: tuple[int, ...] = ()) -> Score:
    """Count by area: stones, and empty points that touch stones of one player only."""
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
    """Count by territory: empty points that touch one player only, and prisoners with the dead.

    Where `rules.seki_territory` is false, the points of groups in seki do not count; see `in_seki`.
    `pass_stones` are those that Black and White gave up by passing.
    """
    stones = board.stones()
    cleared = without_dead(board, dead)
    owners = cleared.owners()
    # Under territory scoring stones are no points, only what they surround.
    owners[cleared.stones() != EMPTY] = 0
    if not rules.seki_territory:
        owners[in_seki(cleared.stones(), owners)] = 0
    by_black, by_white = board.captures
    prisoners = stones.ravel()[list(dead)]
    black = (owners > 0).sum() + by_black + pass_stones[1] + (prisoners == WHITE_STONE).sum()
    white = (owners < 0).sum() + by_white + pass_stones[0] + (prisoners == BLACK_STONE).sum()
    return Score(float(black), float(white) + white_bonus, owners, dead)


def without_dead(board: Board, dead: tuple[int, ...]) -> Board:
    """Return the board without the stones on `dead`."""
    if not dead:
        return board
    stones = board.stones()
    stones.ravel()[list(dead)] = EMPTY
    return Board.from_stones(stones)


def in_seki(stones: Stones, owners: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return the territory of groups that live in seki, bool of shape (size, size).

    A group here is all chains of one colour that share regions of their own territory. It counts
    as seki when it touches a neutral point and its territory is a single region of at most two
    points: such a region does not hold two eyes, so the group lives by the neutral points alone
    (Nihon Kiin, 1989, article 8). Seki with larger eyes is not recognised. As the rule's text has
    it, a group with a false eye beside an unfilled neutral point counts as seki too.
    """
    size = len(stones)
    flat: list[int] = stones.ravel().tolist()
    empty, owned = (stones == EMPTY).ravel(), owners.ravel() != 0
    territory = set(np.flatnonzero(empty & owned).tolist())
    neutral = set(np.flatnonzero(empty & ~owned).tolist())

    def linked(point: int) -> Iterator[int]:
        for other in neighbours(point, size):
            if point in territory or other in territory or flat[point] == flat[other] != EMPTY:
                yield other

    seki = np.zeros_like(stones, dtype=np.bool_)
    for group in connected_parts(set(range(size * size)) - neutral, linked):
        regions = connected_parts(group & territory, lambda p: neighbours(p, size))
        open_to = {other for point in group for other in neighbours(point, size)} & neutral
        if open_to and len(regions) == 1 and len(regions[0]) <= SEKI_EYE:
            seki.ravel()[list(regions[0])] = True
    return seki
