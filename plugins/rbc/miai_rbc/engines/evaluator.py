"""The evaluator ``engine``: what the embedded engine thinks of the true board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from miai import State
from miai.search.evaluators import uniform_prior
from miai_rbc.engines.kernel import KernelEngine, KernelParameters
from miai_rbc.parameters import EvaluatorParameters
from miai_rbc.rules.game import RbcGame
from miai_rbc.rules.state import RbcState

_CENTIPAWNS = 400.0


class EngineEvaluator:
    """Values states by the embedded engine, which sees the board and plays chess for the king.

    It knows nothing of what players know: it is for whoever prepares games, not for who plays.
    Centipawns become utilities as Elo's formula makes points of a difference (Elo 1978):
    ``2 / (1 + 10 ** (-centipawns / 400)) - 1``, so that a pawn is 0.28.
    """

    def __init__(self, game: RbcGame, parameters: EvaluatorParameters | None = None) -> None:
        given = parameters or EvaluatorParameters()
        self._engine = KernelEngine(KernelParameters(depth=given.depth, nodes=given.nodes))

    def seed(self, seed: int) -> None:
        """Forget what was searched; there is no randomness."""
        self._engine.new_game()

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return utilities, float64 of shape (len(states), 2), white's first."""
        boards = [cast("RbcState", state) for state in states]
        rows = np.concatenate([state.boards.rows for state in boards])
        scores = self._engine.evaluate(rows).scores.astype(np.float64)
        black = np.array([state.current_player() == 1 for state in boards])
        white = np.tanh(np.where(black, -scores, scores) * np.log(10) / (2 * _CENTIPAWNS))
        return np.stack([white, -white], axis=1)

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        """Return uniform probabilities."""
        return uniform_prior(states)
