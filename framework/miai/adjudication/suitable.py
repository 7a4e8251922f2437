"""Which games a rule can judge."""

from __future__ import annotations

from miai.errors import UnsuitableGameError
from miai.game import Game


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
