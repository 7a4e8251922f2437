"""Finding dead stones at the end of play: the component kind ``go.dead-stones``.

A component of this kind is built with ``factory(game, parameters)`` and is a `DeadStoneJudge`.
Any plugin may add one; ``load_game("go", dead_stones="referee", referee=NAME)`` uses it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.errors import MiaiError
from miai.parameters import Parameters
from miai_go.rules.board import BLACK, WHITE, WHITE_STONE, Board
from miai_go.rules.game import GoGame, GoState, Phase
from miai_go.rules.game_parameters import PlayoutJudgeParameters
from miai_go.rules.playouts import Playouts


class RefereeError(MiaiError):
    """A referee gave no answer. It is not a player's fault, so the game is void."""


class NoDeadStones:
    """The judge ``none``: every stone is alive."""

    def __init__(self, game: GoGame, parameters: Parameters) -> None:
        pass

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return no points."""
        return ()


class PlayoutJudge:
    """The judge ``playouts``: a chain is dead when most random games lose its points.

    The playouts are seeded by the position, so the answer is a function of it. They know no
    tactics: they are right on settled positions, a guess on others, and often break a seki in
    which neither side may move first.
    """

    def __init__(self, game: GoGame, parameters: PlayoutJudgeParameters) -> None:
        self.parameters = parameters

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of the chains that the opponent owns in most playouts."""
        return dead_by_playouts(state.board, self.parameters)


def dead_by_playouts(
    board: Board, parameters: PlayoutJudgeParameters | None = None
) -> tuple[int, ...]:
    """Return the points of the chains that `PlayoutJudge` finds dead on a board, ascending."""
    parameters = parameters or PlayoutJudgeParameters()
    if not board.chains():
        return ()
    return dead_chains(board, playout_owners(board, parameters.playouts), parameters.threshold)


def dead_chains(board: Board, black: NDArray[np.floating], threshold: float) -> tuple[int, ...]:
    """Return the points of the chains that the opponent owns with more than some share, ascending.

    Args:
      black: share with which Black owns each point minus that of White, (points,).
    """
    flat = board.stones().ravel()
    dead: list[int] = []
    for chain in board.chains():
        ownership = float(black[chain].mean())
        if flat[chain[0]] == WHITE_STONE:
            ownership = -ownership
        if (1 - ownership) / 2 > threshold:
            dead += chain
    return tuple(sorted(dead))


def playout_owners(board: Board, count: int) -> NDArray[np.float64]:
    """Return the share of playouts in which Black owns each point minus that of White, (points,).

    Half of the playouts begin with each player; they are seeded by the position.
    """
    # Seeded by the position, so that a judge gives the same answer to both players and to a replay.
    playouts = Playouts(board.size, board.hash)
    # Both players begin half of them: who is to move must not decide which stones are dead.
    results = [playouts.run(board, color, count // 2, komi=0.0) for color in (BLACK, WHITE)]
    black: NDArray[np.float64] = np.mean([r.ownership for r in results], axis=0)
    return black.ravel()


def settled_margin(state: GoState) -> float:
    """Return Black's margin in points if play ended here, dead stones found by the game's judge.

    Raises `RefereeError` if the judge failed.
    """
    if state.game.rules.dead_stones == "none":
        return state.score_with_dead(()).margin
    return state.score_with_dead(state.game.judge.dead_points(state)).margin


def settle(state: GoState, dead: tuple[int, ...] | None = None) -> int:
    """Return the player's next action in the agreement on dead stones.

    The proposer marks the stones that it considers dead: the whole chains on `dead`, by default
    those that the game's own judge finds. The other player accepts a proposal that scores at least
    as well for it as its own view, and otherwise resumes play.
    """
    if dead is None:
        dead = state.game.judge.dead_points(state)
    pass_action = state.game.pass_action
    if state.phase == Phase.PROPOSE:
        return next((a for a in state.legal_actions() if a in dead), pass_action)
    gain = state.score_with_dead(state.dead).margin - state.score_with_dead(dead).margin
    worse = gain < 0 if state.current_player() == BLACK else gain > 0
    return state.game.resume_action if worse else pass_action
