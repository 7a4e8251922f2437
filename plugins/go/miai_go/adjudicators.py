"""Rules that end games of Go before their end: a lead in points, unconditional life.

They are components of the kind ``adjudicator``; see docs/tournaments.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from miai.adjudication import Verdict
from miai.adjudication.agreement import DrawAgreement, DrawAgreementParameters
from miai.errors import UnsuitableGameError
from miai.game import State
from miai.plugins.parameters import Parameters
from miai.record import MoveRecord
from miai_go.board import BLACK, WHITE
from miai_go.component_parameters import ScoreLeadParameters
from miai_go.game import GoGame
from miai_go.loading import load_playouts
from miai_go.phases import Phase
from miai_go.playout import Playouts
from miai_go.state import GoState
from miai_go.unconditional import find_safe

_RETURNS = {BLACK: (1.0, -1.0), WHITE: (-1.0, 1.0)}
_SEEDS = 2**64


class ScoreLead:
    """Decides for a player who leads by so many points for so many plies in a row.

    The lead is the mean score of light playouts from the position, by area, komi and compensation
    included; beside that a share of the playouts has to be won. The playouts are seeded by the
    game and the position. They know no tactics (see `miai_go.playout.Playouts`), so this is an
    estimate: hold games out to see how often it is wrong.
    """

    def __init__(self, game: GoGame, parameters: ScoreLeadParameters | None = None) -> None:
        self._game, self._given = game, parameters or ScoreLeadParameters()
        self._seed, self._leader, self._plies = 0, -1, 0

    def new_game(self, seed: int) -> None:
        """Seed the playouts; nobody leads."""
        load_playouts()
        self._seed, self._leader, self._plies = seed, -1, 0

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return a win for whoever has led for long enough, or None."""
        assert isinstance(state, GoState)
        leader, points = self._lead(state)
        self._plies = self._plies + 1 if leader == self._leader else 1
        self._leader = leader
        if leader < 0 or self._plies < self._given.plies:
            return None
        name = self._game.info.player_names[leader]
        return Verdict(
            _RETURNS[leader], f"{name} has led for {self._plies} plies, now by {points:.1f} points"
        )

    def _lead(self, state: GoState) -> tuple[int, float]:
        """Return who leads clearly, -1 for nobody, and by how many points."""
        if state.phase != Phase.PLAY:
            return -1, 0.0
        given = self._given
        found = Playouts(self._game.size, (self._seed ^ state.board.hash) % _SEEDS).run(
            state.board,
            state.to_move,
            given.playouts,
            komi=self._game.white_bonus,
            passes=state.passes,
        )
        lead = found.mean_score
        won = found.black_wins if lead > 0 else found.count - found.black_wins - found.draws
        if abs(lead) < given.points or won < given.certainty * found.count:
            return -1, 0.0
        return (BLACK if lead > 0 else WHITE), abs(lead)


class UnconditionalLife:
    """Decides for a player who wins even if he only passes from now on, which is a proof.

    It counts his unconditionally living stones and their one-point eyes as his, and all else as
    the opponent's but for one point of each other vital region; see `find_safe`.

    Raises:
      UnsuitableGameError: the game counts by territory, or repetitions may end it in a draw that a
        player can bring about by suicide.
    """

    def __init__(self, game: GoGame, parameters: Parameters | None = None) -> None:
        rules = game.rules
        if rules.scoring != "area":
            raise UnsuitableGameError(
                "unconditional-life: counts by area, and this game by territory; leave the rule "
                'out, or give the game scoring = "area"'
            )
        if rules.suicide and rules.ko == "simple" and rules.repetition == "draw":
            raise UnsuitableGameError(
                "unconditional-life: with suicide and simple ko a player who is lost can have the "
                "game drawn by repetition; leave the rule out"
            )
        self._game = game

    def new_game(self, seed: int) -> None:
        """Nothing is remembered."""

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return a win for whoever cannot lose any more, or None."""
        assert isinstance(state, GoState)
        if state.phase != Phase.PLAY:
            return None
        stones, bonus = state.board.stones(), self._game.white_bonus
        for color, komi in ((BLACK, -bonus), (WHITE, bonus)):
            safe = find_safe(stones, color, suicide=self._game.rules.suicide)
            lead = safe.least_lead(stones.size) + komi
            if lead > 0:
                name = self._game.info.player_names[color]
                return Verdict(
                    _RETURNS[color], f"{name} wins by {lead:g} points or more even by passing"
                )
        return None


def draw_agreement(game: GoGame, parameters: DrawAgreementParameters) -> DrawAgreement:
    """Return the framework's `DrawAgreement` for a game that may be drawn.

    Raises:
      UnsuitableGameError: half a point for White decides every game.
    """
    if game.white_bonus % 1:
        raise UnsuitableGameError(
            f"draw-agreement: with {game.white_bonus:g} points for White no game of go is drawn; "
            "leave the rule out, or give the game a whole komi"
        )
    return DrawAgreement(game, parameters)
