"""The adjudicator ``solved``: positions whose value a complete search proves."""

from __future__ import annotations

from collections.abc import Sequence

from miai.game import Game, State
from miai.parameters import Parameters, parameter
from miai.playing.adjudication import Verdict
from miai.playing.agreement import require_no_chance, require_two_player_constant_sum
from miai.record import MoveRecord
from miai.search.alphabeta import AlphaBeta, AlphaBetaParameters

_DEEPEST = 100


class SolvedParameters(Parameters):
    """Parameters of `Solved`."""

    nodes: int = parameter(
        1000,
        ge=1,
        le=100_000_000,
        unit="nodes",
        help="Budget per ply in visited states; too small a budget decides nothing",
    )


class SolvedAdjudicator:
    """Decides a position by its value under perfect play, as soon as that is proved.

    The proof is an alpha-beta search to the end of the game. An organiser's move limit is not part
    of the rules. Raises `UnsuitableGameError` if the game hides information, has chance, is not for
    two players or has no constant sum.
    """

    def __init__(self, game: Game, parameters: SolvedParameters | None = None) -> None:
        require_two_player_constant_sum(game, rule="solved")
        require_no_chance(game, rule="solved")
        nodes = (parameters or SolvedParameters()).nodes
        self._names = game.info.player_names
        self._total = game.info.utility_sum or 0.0
        self._search = AlphaBeta(game, AlphaBetaParameters(nodes=nodes, depth=_DEEPEST))

    def new_game(self, seed: int) -> None:
        """Empty the table: whether a budget suffices must not depend on earlier games."""
        self._search.new_game(seed)

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the proved value of the state, or None."""
        result = self._search.search(state)
        if not result.statistics["solved"]:
            return None
        mover = state.current_player()
        returns = [0.0, 0.0]
        returns[mover], returns[1 - mover] = result.value, self._total - result.value
        first, second = returns
        outcome = "drawn" if first == second else f"{self._names[second > first]} wins"
        return Verdict((first, second), f"{outcome} under perfect play")
