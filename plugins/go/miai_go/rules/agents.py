"""Players without a search: the agent ``fast-random``, the evaluator ``random-rollout``.

`settle` is how these and other players agree on dead stones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.game import State
from miai_go.rules.board import BLACK
from miai_go.rules.chains import neighbours
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import GoRolloutParameters
from miai_go.rules.phases import Phase
from miai_go.rules.playouts import Playouts, load_playouts
from miai_go.rules.state import GoState


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
        stones = state.board.stones().reshape(-1).tolist()
        own = state.current_player() + 1
        while points:
            index = self.rng.randrange(len(points))
            if not fills_eye(stones, points[index], own):
                return points[index]
            points[index] = points[-1]
            points.pop()
        return pass_action


def fills_eye(stones: Sequence[int], point: int, own: int) -> bool:
    """Return whether an empty point is an eye of a colour, as light playouts define eyes.

    All neighbours must be stones of that colour, and at most one diagonal point the opponent's; at
    the edge, none.

    Args:
      stones: what lies on each point, row by row: 0 empty, 1 black, 2 white.
      own: the colour, 1 black, 2 white.
    """
    size = int(len(stones) ** 0.5)
    beside = neighbours(point, size)
    if any(stones[other] != own for other in beside):
        return False
    row, column = divmod(point, size)
    diagonals = [
        (r, c)
        for r in (row - 1, row + 1)
        for c in (column - 1, column + 1)
        if 0 <= r < size and 0 <= c < size
    ]
    hostile = sum(stones[r * size + c] == 3 - own for r, c in diagonals)
    return hostile + (len(diagonals) < 4) < 2


def settle(state: GoState, dead: tuple[int, ...] | None = None) -> int:
    """Return the player's next action in the agreement on dead stones.

    The proposer marks the stones that it considers dead. The other player accepts a proposal that
    scores at least as well for it as its own view, and otherwise resumes play.

    Args:
      dead: points that the player to move considers dead, whole chains; by default, those of the
        game's own judge.
    """
    if dead is None:
        dead = state.game.judge.dead_points(state)
    pass_action = state.game.pass_action
    if state.phase == Phase.PROPOSE:
        return next((a for a in state.legal_actions() if a in dead), pass_action)
    gain = state.score_with_dead(state.dead).margin - state.score_with_dead(dead).margin
    worse = gain < 0 if state.current_player() == BLACK else gain > 0
    return state.game.resume_action if worse else pass_action


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
