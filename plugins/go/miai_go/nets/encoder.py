"""Positions in bulk, what an encoder makes of them, and how one is built by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai.plugins.loader import registry
from miai.plugins.registry import Registry
from miai_go.kernels import rules, trail
from miai_go.rules.board import Board, check_size
from miai_go.rules.game import GoState


@dataclass(frozen=True, slots=True)
class Positions:
    """Boards of one size with their trails, one a row.

    Attributes:
      size: points on a side.
      words: the boards, uint32 of shape (positions, `rules.board_words(size)`).
      trails: the earlier moves and positions, int16 of shape (positions,
        `trail.trail_words(size)`), in the layout of `miai_go.kernels.trail`.
    """

    size: int
    words: NDArray[np.uint32]
    trails: NDArray[np.int16]

    @classmethod
    def room(cls, size: int, count: int) -> Self:
        """Return `count` positions, all of them the empty board with Black to move."""
        words = np.tile(rules.empty_board(size), (count, 1))
        trails = np.zeros((count, trail.trail_words(size)), np.int16)
        for row in range(count):
            trail.begin_trail(words[row], trails[row], np.int64(1), np.int64(0))
        return cls(size, words, trails)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> Self:
        """Return some of the positions: of a slice a view, of row numbers a copy."""
        return type(self)(self.size, self.words[rows], self.trails[rows])

    def board(self, row: int) -> Board:
        """Return a copy of one board."""
        board = Board(self.size)
        board.words[:] = self.words[row]
        return board

    def colors(self) -> NDArray[np.int16]:
        """Return the player to move, int16 of shape (positions,): 1 Black, 2 White."""
        return self.trails[:, trail.COLOR]

    def plies(self) -> NDArray[np.int16]:
        """Return the moves since each trail began, int16 of shape (positions,)."""
        return self.trails[:, trail.PLY]

    def komi(self) -> NDArray[np.float64]:
        """Return the komi in points, float64 of shape (positions,)."""
        return self.trails[:, trail.HALF_KOMI] / 2

    def within_komi(self, low: float, high: float) -> Self:
        """Return the positions with the nearest komi of a range; themselves if all are within."""
        komi = self.trails[:, trail.HALF_KOMI]
        # In half points, which are whole numbers.
        nearest = np.clip(komi, round(2 * low), round(2 * high))
        if (nearest == komi).all():
            return self
        trails = self.trails.copy()
        trails[:, trail.HALF_KOMI] = nearest
        return type(self)(self.size, self.words, trails)

    def ages(self) -> NDArray[np.int16]:
        """Return the ply of each stone, (positions, points), from 1; 0 for none."""
        return self.trails[:, trail.AGES : trail.AGES + self.size**2]


@runtime_checkable
class Encoder(Protocol):
    """Turns positions into planes, as the player to move sees them.

    A component of kind ``go.encoder``; factory(size, parameters) -> Encoder. Planes turn with the
    board: the planes of a turned or mirrored position are the position's planes, turned or
    mirrored, so that the eight symmetries can be made from planes alone.

    Attributes:
      size: points on a side.
      planes: number of planes.
      scales: float32 of shape (planes,), by which a network multiplies the planes.
      sees_komi: optional; whether the planes depend on komi.
    """

    size: int
    planes: int
    scales: NDArray[np.float32]

    def encode(
        self, positions: Positions, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Return planes, uint8 of shape (positions, planes, size, size), row 0 the lowest.

        Args:
          out: array of that shape to write and return; default: a new one.
        """


Encoders = Mapping[int, Encoder]
"""An encoder for each size of board; those of one network have the same planes and scales."""


def load_encoder(
    name: str,
    size: int,
    values: Mapping[str, Any] | None = None,
    *,
    components: Registry | None = None,
) -> Encoder:
    """Return an encoder by its name in the registry, by default that of all plugins.

    Raises:
      UnknownComponentError: no encoder has the name.
      ParameterError: the values do not fit it.
      BoardError: the size is out of range.
    """
    check_size(size)
    component = (components or registry()).get("go.encoder", name)
    encoder: Encoder = component.build(size, values=values or {}, where=f"encoder '{name}'")
    return encoder


def trail_of(state: GoState) -> NDArray[np.int16]:
    """Return the trail of a state, int16 of shape (`trail.trail_words(size)`,).

    After dead stones were marked or play resumed, it begins at the position that followed.
    """
    out = np.zeros(trail.trail_words(state.game.size), np.int16)
    half_komi = np.int64(round(2 * state.game.white_bonus))
    actions = np.array(state.history(), np.int16)
    board = state.game.new_state(state.start).board
    trail.begin_trail(board.words, out, np.int64(state.start.to_move + 1), half_komi)
    suicide = state.game.rules.suicide
    count = trail.extend_trail(board.words, out, actions, suicide)
    # The trail knows neither marked chains nor a game that goes on after two passes.
    if count < len(actions) or (board.stones() != state.board.stones()).any():
        trail.begin_trail(state.board.copy().words, out, np.int64(state.to_move + 1), half_komi)
    return out


def positions_of(states: list[GoState]) -> Positions:
    """Return states of one board size in bulk. Raises `ValueError` for no or several sizes."""
    sizes = {state.game.size for state in states}
    if len(sizes) != 1:
        raise ValueError(f"states of one board size are needed, not of {sorted(sizes)}")
    words = np.stack([state.board.words for state in states])
    return Positions(sizes.pop(), words, np.stack([trail_of(state) for state in states]))
