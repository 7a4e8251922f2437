"""Advice about moves at the root of a search: the component kind ``go.adviser``.

A component of this kind is built with ``factory(game, parameters)`` and is an `Adviser`, or None
for no advice. Any plugin may add one; the parameter ``adviser`` of a search names it. No move is
forced: the advice counts as some simulations (S. Gelly, D. Silver, "Combining online and offline
knowledge in UCT", 2007) or as part of the priors, and enough simulations outweigh it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from miai.errors import PluginError

if TYPE_CHECKING:
    from miai.game import Game
    from miai.parameters import Parameters
    from miai_go.rules.board import Board

# So many virtual wins decide which move is tried first, and some hundred simulations outweigh them.
_WINS: Final = 30
_LOSSES: Final = 5
_DOUBTED: Final = 0.2
"""Factor of the prior of a useless move."""


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """Advice about the moves of a board.

    Attributes:
      weights: of recommended moves, float64 of shape (size * size + 1,), pass last: 1 for an
        important and certain one, more for one with several purposes, 0 for no recommendation.
      useless: moves that achieve nothing where they are, bool of that shape.
      statistics: for the statistics of the move.

    Raises:
      PluginError: shapes or types of arrays are others, or a weight is not from 0 to their number.
    """

    weights: NDArray[np.float64]
    useless: NDArray[np.bool_]
    statistics: dict[str, int]

    def __post_init__(self) -> None:
        for name, kind in (("weights", np.float64), ("useless", np.bool_)):
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.dtype == kind and array.ndim == 1):
                got = type(array).__name__
                if isinstance(array, np.ndarray):
                    got = f"one of {array.dtype}, shape {array.shape}"
                raise PluginError(
                    f"{name}: expected an array of {np.dtype(kind)}, one for each move, got {got}"
                )
        if self.weights.shape != self.useless.shape:
            moves = len(self.weights), len(self.useless)
            raise PluginError("weights are of {} moves, useless of {}".format(*moves))
        limit = len(self.weights)  # a move has at most a purpose for each point
        wrong = self.weights[~((self.weights >= 0) & (self.weights <= limit))]
        if len(wrong):
            raise PluginError(f"weights: {wrong[0]} is not from 0 to {limit}")

    def results(self) -> NDArray[np.int32]:
        """Return virtual results of moves, (size * size + 1,): wins, or losses below 0."""
        wins = np.rint(_WINS * self.weights).astype(np.int32)
        return np.where(self.useless, -_LOSSES, wins).astype(np.int32)

    def mixed(self, priors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return priors (size * size + 1,) of the same sum with the advice mixed in.

        A prior of zero stays zero.
        """
        out = np.where(self.useless, _DOUBTED * priors, priors)
        # Priors add up to 1, so the only move with a weight, of 1, gets half of their sum or more.
        out = out + np.where(priors > 0, self.weights, 0.0)
        total = out.sum()
        return out * (priors.sum() / total) if total > 0 else priors


class Adviser(Protocol):
    """Gives advice about one board after another of a game; a new game has a new adviser."""

    def look(self, board: Board, color: int, *, seconds: float | None = None) -> Advice:
        """Return the advice for a board.

        The same boards in the same order get the same advice, unless seconds are limited.

        Args:
          color: the player to move, 0 Black, 1 White.
          seconds: time of the move, of which this takes a small share; None for no clock.
        """


def no_adviser(game: Game, parameters: Parameters) -> None:
    """Return no adviser: the component ``none``."""
