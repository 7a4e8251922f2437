"""The evaluator ``random-rollout`` of Go: compiled light playouts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miai.game import State
from miai_go.component_parameters import GoRolloutParameters
from miai_go.game import GoGame
from miai_go.loading import load_playouts
from miai_go.phases import Phase
from miai_go.playout import Playouts
from miai_go.state import GoState

__all__ = ["GoRolloutParameters", "GoRollouts"]


class GoRollouts:
    """Values states by the mean result of light playouts, counted by area.

    Under territory scoring that is an approximation. A state in which dead stones are being settled
    is worth what the game's judge of them makes of it.
    """

    def __init__(self, game: GoGame, parameters: GoRolloutParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or GoRolloutParameters()
        self._playouts = Playouts(game.size, 0)

    def seed(self, seed: int) -> None:
        """Seed the playouts, and compile them where that has not been done."""
        load_playouts()
        self._playouts = Playouts(self.game.size, seed)

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return utilities as float64 of shape (len(states), 2), Black's first."""
        values = np.zeros((len(states), 2), np.float64)
        for row, state in zip(values, states, strict=True):
            assert isinstance(state, GoState)
            row[0] = self._black_value(state)
            row[1] = -row[0]
        return values

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        """Return for each state the uniform probabilities over its legal actions."""
        counts = [len(state.legal_actions()) for state in states]
        return [np.full(count, 1 / max(count, 1)) for count in counts]

    def _black_value(self, state: GoState) -> float:
        if state.is_terminal():
            return state.returns()[0]
        if state.phase != Phase.PLAY:
            dead = self.game.judge.dead_points(state)
            return float(np.sign(state.score_with_dead(dead).margin))
        result = self._playouts.run(
            state.board,
            state.to_move,
            self.parameters.rollouts,
            komi=self.game.white_bonus,
            passes=state.passes,
        )
        return result.value(0)
