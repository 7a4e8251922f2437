"""`dark-minimax`: the baseline of dark chess, minimax over boards that are possible."""

from __future__ import annotations

from miai_rbc.agents.belief_agents import SamplingAgent
from miai_rbc.agents.choice import MoveSettings
from miai_rbc.belief.dark import DarkBelief
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.board import PAWNS
from miai_rbc.rbc_parameters import RbcParameters, SamplingParameters
from miai_rbc.rules.actions import move_of_action
from miai_rbc.rules.dark import DarkGame


class DarkMinimax(SamplingAgent):
    """Plays the move with the best worst score on boards of its belief, drawn uniformly.

    The engine scores them, as for `rbc-seed`. All boards have the same legal moves.
    """

    game: DarkGame
    BELIEF = DarkBelief
    SENSE_SHARE = 0.0

    def __init__(self, game: DarkGame, parameters: SamplingParameters | None = None) -> None:
        super().__init__(game, parameters or SamplingParameters())
        self.move_settings = MoveSettings(samples=self.parameters.samples)

    def load(self) -> None:
        """Load the kernels of views."""
        load_views(self.game)

    def requests(self) -> list[int]:
        """Return the legal moves."""
        pawns = int(self.belief.boards.rows[0, PAWNS])
        return [move_of_action(action, pawns=pawns) for action in self.view.legal_actions]


def load_views(game: DarkGame | None = None) -> None:
    """Load the kernels of views, before a clock runs."""
    game = game or DarkGame(RbcParameters())
    with FAMILY.compiling("views"):
        state = game.new_initial_state()
        for action in state.legal_actions()[:1]:
            belief = DarkBelief(game, 0)
            state.apply_action(action)
            belief.observe(state.observation(0))
