"""Adjudication by agreement: the players themselves consider the game decided."""

from __future__ import annotations

from collections.abc import Sequence

from miai.errors import UnsuitableGameError
from miai.game import Game, State
from miai.parameters import Parameters, parameter
from miai.playing.adjudication import Verdict
from miai.record import MoveRecord


def require_two_player_constant_sum(game: Game, *, rule: str) -> None:
    """Raise `UnsuitableGameError` unless one player's gain is the other's loss."""
    info = game.info
    if info.num_players != 2 or info.utility_sum is None:
        raise UnsuitableGameError(
            f"{rule}: judges games of two players and a constant sum, which {info.name} is not; "
            "leave the rule out"
        )


def require_no_chance(game: Game, *, rule: str) -> None:
    """Raise `UnsuitableGameError` when the game hides anything or has chance."""
    info = game.info
    if not info.perfect_information or info.max_chance_outcomes > 0:
        why = "has chance" if info.perfect_information else "hides information"
        raise UnsuitableGameError(
            f"{rule}: {info.name} {why}, so that a position has no result that play must lead to; "
            "leave the rule out"
        )


class ResignAgreementParameters(Parameters):
    """Parameters of `ResignAgreement`."""

    below: float = parameter(
        -0.9, unit="utility", help="A side is lost whose own value is this or less"
    )
    moves: int = parameter(
        3, ge=1, le=1000, unit="moves", help="Moves in a row of each player that have to agree"
    )
    from_ply: int = parameter(0, ge=0, unit="plies", help="Nothing is decided in fewer plies")


class DrawAgreementParameters(Parameters):
    """Parameters of `DrawAgreement`."""

    from_ply: int = parameter(
        ge=0, unit="plies", help="Nothing is decided in fewer plies: most games begin even"
    )
    within: float = parameter(
        0.05, ge=0, unit="utility", help="The game is even whose value is so near to equal shares"
    )
    moves: int = parameter(
        5, ge=1, le=1000, unit="moves", help="Moves in a row of each player that have to agree"
    )


class ResignAgreement:
    """One side has lost when both players have said so in each of their last moves.

    A player who says nothing, or nothing that is a utility of the game, has not agreed; so no
    player can decide a game for itself by what it says.

    Raises:
      UnsuitableGameError: the game is not one of two players and a constant sum, or the threshold
        is no loss in it.
    """

    def __init__(self, game: Game, parameters: ResignAgreementParameters | None = None) -> None:
        require_two_player_constant_sum(game, rule="resign-agreement")
        self._game, self._given = game, parameters or ResignAgreementParameters()
        low, even = game.info.min_utility, _even(game)
        if not low <= self._given.below < even:
            raise UnsuitableGameError(
                f"resign-agreement: below is {self._given.below:g}, but in {game.info.name} a lost "
                f"side has {low:g} and an even one {even:g}; give a number between"
            )

    def new_game(self, seed: int) -> None:
        """Nothing is remembered."""

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the loss that both players have told, or None."""
        given, info = self._given, self._game.info
        values = agreed_values(self._game, moves, count=given.moves, from_ply=given.from_ply)
        if values is None:
            return None
        won = 2 * _even(self._game) - given.below
        for loser, winner in ((0, 1), (1, 0)):
            if max(values[loser]) <= given.below and min(values[winner]) >= won:
                return Verdict(
                    self._game.resignation_returns(loser),
                    f"both give {info.player_names[loser]} {given.below:g} or less in "
                    f"{given.moves} moves each",
                )
        return None


class DrawAgreement:
    """The game is drawn when both players have held it for even in each of their last moves.

    Raises:
      UnsuitableGameError: the game is not one of two players and a constant sum, or it is even by
        the parameters even where somebody has won.
    """

    def __init__(self, game: Game, parameters: DrawAgreementParameters) -> None:
        require_two_player_constant_sum(game, rule="draw-agreement")
        self._game, self._given = game, parameters
        info, even = game.info, _even(game)
        most = max(info.max_utility - even, even - info.min_utility)
        if parameters.within >= most:
            raise UnsuitableGameError(
                f"draw-agreement: within is {parameters.within:g}, but in {info.name} a win is "
                f"{most:g} from even; give less"
            )

    def new_game(self, seed: int) -> None:
        """Nothing is remembered."""

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return the draw that both players have told, or None."""
        given, even = self._given, _even(self._game)
        values = agreed_values(self._game, moves, count=given.moves, from_ply=given.from_ply)
        if values is None or any(abs(v - even) > given.within for own in values for v in own):
            return None
        reason = f"both are within {given.within:g} of even in {given.moves} moves each"
        return Verdict((even, even), reason)


def agreed_values(
    game: Game, moves: Sequence[MoveRecord], *, count: int, from_ply: int
) -> list[list[float]] | None:
    """Return the values that each player gave its last `count` moves, newest first.

    Args:
      from_ply: plies of players that have to be played first.

    Returns:
      None where there are fewer plies, or where a player, back to where each has moved so often,
      has said nothing that is a utility of the game.
    """
    if sum(move.actor >= 0 for move in moves) < from_ply:
        return None
    values: list[list[float]] = [[] for _ in range(game.num_players())]
    for move in reversed(moves):
        if move.actor < 0:
            continue
        value = _utility(move.statistics.get("value"), game)
        if value is None:
            return None
        values[move.actor].append(value)
        if min(map(len, values)) >= count:
            return [own[:count] for own in values]
    return None


def _utility(value: object, game: Game) -> float | None:
    """Return what an agent said as a utility; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    within = game.min_utility() <= value <= game.max_utility()  # false for nan
    return float(value) if within else None


def _even(game: Game) -> float:
    """Return a player's utility of a draw."""
    return (game.info.utility_sum or 0.0) / 2
