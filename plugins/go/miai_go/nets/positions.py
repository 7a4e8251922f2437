"""Positions in bulk: what encoders read and data sets and searches write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import rules, trail
from miai_go.rules.board import Board


@dataclass(frozen=True, slots=True)
class Positions:
    """Boards of one size with their trails, one a row.

    Attributes:
      size: points on a side.
      words: the boards, uint32 of shape (positions, `rules.board_words(size)`).
      trails: what went before, int16 of shape (positions, `trail.trail_words(size)`); layout in
        `miai_go.kernels.trail`.
    """

    size: int
    words: NDArray[np.uint32]
    trails: NDArray[np.int16]

    @classmethod
    def room(cls, size: int, count: int) -> Self:
        """Return room for `count` positions, all of them the empty board with Black to move."""
        words = np.tile(rules.empty_board(size), (count, 1))
        trails = np.zeros((count, trail.trail_words(size)), np.int16)
        for row in range(count):
            trail.begin_trail(words[row], trails[row], np.int64(1), np.int64(0))
        return cls(size, words, trails)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the positions, as a view."""
        return type(self)(self.size, self.words[rows], self.trails[rows])

    def board(self, row: int) -> Board:
        """Return a copy of one board."""
        board = Board(self.size)
        board.words[:] = self.words[row]
        return board

    def colors(self) -> NDArray[np.int16]:
        """Return who is to move, int16 of shape (positions,): 1 Black, 2 White."""
        return self.trails[:, trail.COLOR]

    def plies(self) -> NDArray[np.int16]:
        """Return how many moves were made since each trail began, int16 of shape (positions,)."""
        return self.trails[:, trail.PLY]

    def komi(self) -> NDArray[np.float64]:
        """Return what White is given, in points, float64 of shape (positions,)."""
        return self.trails[:, trail.HALF_KOMI] / 2

    def ages(self) -> NDArray[np.int16]:
        """Return when each stone was placed, (positions, points): ply from 1; 0 for none."""
        return self.trails[:, trail.AGES : trail.AGES + self.size**2]

    def last_actions(self) -> NDArray[np.int16]:
        """Return the last actions, newest first, (positions, `trail.REMEMBERED`); -1 for none."""
        return self.trails[:, trail.LAST : trail.LAST + trail.REMEMBERED]

    def stones_before(self, row: int, plies: int) -> NDArray[np.int16] | None:
        """Return the stones (points,) as they lay some plies ago, 0 for now; None if unknown."""
        ply = int(self.trails[row, trail.PLY]) - plies
        if ply < 0 or plies >= trail.POSITIONS:
            return None
        points = self.size**2
        here = trail.AGES + points * (1 + ply % trail.POSITIONS)
        return self.trails[row, here : here + points]
