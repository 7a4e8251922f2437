"""What an encoder is.

The trail of a game's state, for encoders.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai.plugins.kinds import Kind
from miai_go import kinds
from miai_go.kernels import trail
from miai_go.nets.positions import Positions
from miai_go.rules.board import Board
from miai_go.rules.state import GoState


@runtime_checkable
class Encoder(Protocol):
    """Turns positions into planes, as the player to move sees them.

    A component of kind ``go.encoder``; factory(size, parameters) -> Encoder. Planes turn with the
    board: those of a position that is turned or mirrored are the position's planes, turned or
    mirrored, so that the eight symmetries can be had from planes alone.

    Attributes:
      size: points on a side.
      planes: how many planes it makes.
      scales: float32 of shape (planes,): what a network multiplies each plane by.
    """

    size: int
    planes: int
    scales: NDArray[np.float32]

    def encode(
        self, positions: Positions, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Return planes, uint8 of shape (positions, planes, size, size), row 0 the lowest.

        Args:
          out: written and returned where given, of that shape.
        """


ENCODER: Kind[Encoder] = kinds.ENCODER


def trail_of(state: GoState) -> NDArray[np.int16]:
    """Return what went before a state, int16 of shape (`trail.trail_words(size)`,).

    Where dead stones were marked or play resumed, the trail begins at the position that led to.
    """
    out = np.zeros(trail.trail_words(state.game.size), np.int16)
    half_komi = np.int64(round(2 * state.game.white_bonus))
    actions = np.array(state.history(), np.int16)
    board = state.game.new_state(state.start).board
    trail.begin_trail(board.words, out, np.int64(state.start.to_move + 1), half_komi)
    suicide = state.game.rules.suicide
    played = trail.extend_trail(board.words, out, actions, suicide)
    if played < len(actions) or not _same(board, state.board):
        trail.begin_trail(state.board.copy().words, out, np.int64(state.to_move + 1), half_komi)
    return out


def positions_of(states: list[GoState]) -> Positions:
    """Return states of one board size in bulk. Raises `ValueError` for none or several sizes."""
    sizes = {state.game.size for state in states}
    if len(sizes) != 1:
        raise ValueError(f"states of one board size are needed, not of {sorted(sizes)}")
    words = np.stack([state.board.words for state in states])
    return Positions(sizes.pop(), words, np.stack([trail_of(state) for state in states]))


def _same(board: Board, other: Board) -> bool:
    return bool((board.stones() == other.stones()).all())
