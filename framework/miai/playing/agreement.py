"""Adjudicators: both players evaluate the game as lost or drawn, or a search proves the result.

The rules of agreement are those of chess engine tournaments, such as cutechess-cli's options
``-resign`` (with ``twosided``) and ``-draw``: https://github.com/cutechess/cutechess. A player's
evaluation is the ``value`` in the statistics of its decisions, if it is a utility or a probability
of winning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from miai.errors import UnsuitableGameError
from miai.game import Game, State
from miai.parameters import Parameters, parameter
from miai.playing.adjudication import Verdict
from miai.record import MoveRecord
from miai.search.alphabeta import AlphaBeta, AlphaBetaParameters
from miai.values import Evaluation

_DEEPEST: Final = 100


def require_two_player_constant_sum(game: Game, *, rule: str) -> None:
    """Raise `UnsuitableGameError` unless one player's gain is the other's loss."""
    info = game.info
    if info.num_players != 2 or info.utility_sum is None:
        raise UnsuitableGameError(
            f"{rule}: judges two-player constant-sum games, which {info.title} is not; "
            "leave the rule out"
        )


class ResignAgreementParameters(Parameters):
    """Parameters of `ResignAgreement`."""

    below: float = parameter(
        -0.9, unit="utility", help="Value at or below which a side counts as lost"
    )
    moves: int = parameter(
        3, ge=1, le=1000, unit="moves", help="Consecutive moves of each player that must agree"
    )
    from_ply: int = parameter(0, ge=0, unit="plies", help="Minimum length of the game")


class DrawAgreementParameters(Parameters):
    """Parameters of `DrawAgreement`."""

    from_ply: int = parameter(
        ge=0, unit="plies", help="Minimum length of the game; most games begin even"
    )
    within: float = parameter(
        0.05, ge=0, unit="utility", help="Maximum distance of a value from an even result"
    )
    moves: int = parameter(
        5, ge=1, le=1000, unit="moves", help="Consecutive moves of each player that must agree"
    )


class _AgreementRule:
    def new_game(self, seed: int) -> None:
        """Do nothing; the rule keeps no state."""


class ResignAgreement(_AgreementRule):
    """Ends a game as lost when both players evaluate it as lost in each of their last moves.

    A player without a valid value does not agree, so that no player can decide a game alone. Raises
    `UnsuitableGameError` without two players and a constant sum, or if the threshold is not a loss.
    """

    def __init__(self, game: Game, parameters: ResignAgreementParameters | None = None) -> None:
        require_two_player_constant_sum(game, rule="resign-agreement")
        self._game = game
        self._parameters = parameters or ResignAgreementParameters()
        low, even, below = game.info.min_utility, _even(game), self._parameters.below
        if not low <= below < even:
            raise UnsuitableGameError(
                f"resign-agreement: below is {below:g}, but in {game.info.title} a lost "
                f"side has {low:g} and an even one {even:g}; give a number between"
            )

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the agreed loss, or None."""
        rule, info = self._parameters, self._game.info
        values = agreed_values(self._game, moves, count=rule.moves, from_ply=rule.from_ply)
        if values is None:
            return None
        # As far above an even result as `below` is under it.
        win = 2 * _even(self._game) - rule.below
        for loser, winner in ((0, 1), (1, 0)):
            if max(values[loser]) <= rule.below and min(values[winner]) >= win:
                return Verdict(
                    self._game.resignation_returns(loser),
                    f"both give {info.player_names[loser]} {rule.below:g} or less in "
                    f"{rule.moves} moves each",
                )
        return None


class DrawAgreement(_AgreementRule):
    """Ends a game as drawn when both players evaluate it as even in each of their last moves.

    Raises `UnsuitableGameError` without two players and a constant sum, or if a win counts as even.
    """

    def __init__(self, game: Game, parameters: DrawAgreementParameters) -> None:
        require_two_player_constant_sum(game, rule="draw-agreement")
        self._game, self._parameters = game, parameters
        info, even = game.info, _even(game)
        win = max(info.max_utility - even, even - info.min_utility)
        if parameters.within >= win:
            raise UnsuitableGameError(
                f"draw-agreement: within is {parameters.within:g}, but in {info.title} a win is "
                f"{win:g} from even; give less"
            )

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the agreed draw, or None."""
        rule, even = self._parameters, _even(self._game)
        values = agreed_values(self._game, moves, count=rule.moves, from_ply=rule.from_ply)
        if values is None or any(abs(v - even) > rule.within for own in values for v in own):
            return None
        reason = f"both are within {rule.within:g} of even in {rule.moves} moves each"
        return Verdict((even, even), reason)


def agreed_values(
    game: Game, moves: Sequence[MoveRecord], *, count: int, from_ply: int
) -> list[list[float]] | None:
    """Return the values in each player's last `count` moves, newest first.

    None if the players made fewer moves, or fewer than `from_ply` together, or if a value is not
    valid.
    """
    if sum(move.actor >= 0 for move in moves) < from_ply:
        return None
    values: list[list[float]] = [[] for _ in range(game.num_players())]
    for move in reversed(moves):
        if move.actor < 0:
            continue
        evaluation = Evaluation.from_statistics(move.statistics)
        value = None if evaluation is None else evaluation.utility(game.info)
        if value is None:
            return None
        values[move.actor].append(value)
        if min(map(len, values)) >= count:
            return [own[:count] for own in values]
    return None


def _even(game: Game) -> float:
    """Return a player's utility of a draw."""
    return (game.info.utility_sum or 0.0) / 2


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
        info, nodes = game.info, (parameters or SolvedParameters()).nodes
        if not info.perfect_information or info.max_chance_outcomes > 0:
            why = "has chance" if info.perfect_information else "hides information"
            raise UnsuitableGameError(
                f"solved: {info.title} {why}, so that a position has no definite result; "
                "leave the rule out"
            )
        self._names = info.player_names
        self._total = info.utility_sum or 0.0
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
