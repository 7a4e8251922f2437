"""Players without a search: the agent ``fast-random``, the evaluator ``random-rollout``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.game import State
from miai_go.rules.chains import fills_eye
from miai_go.rules.dead_stones import settle
from miai_go.rules.game import GoGame, GoState, Phase
from miai_go.rules.game_parameters import GoRolloutParameters
from miai_go.rules.playouts import Playouts, load_playouts


class FastRandomAgent(Agent):
    """Plays uniformly among legal moves that do not fill an own eye; passes when there is none.

    Where dead stones are settled by agreement, it follows the game's judge; see `settle`.
    """

    def act(self, clock: ClockReading) -> Decision:
        """Return a random move, or a pass."""
        state = self.view.state
        assert isinstance(state, GoState)
        if state.phase != Phase.PLAY:
            return Decision(settle(state))
        return Decision(self._choose(state))

    def _choose(self, state: GoState) -> int:
        points = state.legal_actions()
        pass_action = points.pop()
        stones = state.board.stones().ravel().tolist()
        own = state.current_player() + 1
        while points:
            index = self.rng.randrange(len(points))
            if not fills_eye(stones, points[index], own):
                return points[index]
            points[index] = points[-1]
            points.pop()
        return pass_action


class GoRollouts:
    """Values states by the mean result of light playouts, counted by area.

    Under territory scoring that is an approximation. While dead stones are being settled, the value
    is the result that the game's judge gives.
    """

    def __init__(self, game: GoGame, parameters: GoRolloutParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or GoRolloutParameters()
        self._playouts = Playouts(game.size, 0)

    def seed(self, seed: int) -> None:
        """Seed the playouts; load or compile their kernels."""
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
