"""What a search asks of its game, and when it must have an answer."""

from __future__ import annotations

import math
import time

from miai.errors import GameError, HiddenInformationError, UnsuitableGameError
from miai.game import Game, Player, State


def require_perfect_information(game: Game, *, search: str) -> None:
    """Raise `HiddenInformationError` when the game hides anything from its players."""
    if not game.info.perfect_information:
        raise HiddenInformationError(
            f"{search}: {game.info.name} hides information, and this search would look at it. No "
            f"search over beliefs is built in: {game.info.name} is played by 'human', 'random' "
            "and agents that plugins bring for it"
        )


def require_two_player_constant_sum(game: Game, *, search: str) -> None:
    """Raise `UnsuitableGameError` unless one player's gain is the other's loss."""
    info = game.info
    if info.num_players != 2:
        raise UnsuitableGameError(
            f"{search}: {info.name} has {info.num_players} players, this search handles two; "
            "mcts handles any number"
        )
    if info.utility_sum is None:
        raise UnsuitableGameError(
            f"{search}: the utilities of {info.name} have no constant sum, which this search "
            "needs; mcts does without"
        )


def require_decision(state: State) -> int:
    """Return the player to move.

    Raises:
      GameError: the game is over, or chance acts next.
    """
    player = state.current_player()
    if player >= 0:
        return player
    why = "the game is over" if player == Player.TERMINAL else "chance acts next"
    raise GameError(f"{state.game.info.name}: there is nothing to search, {why}:\n{state}")


def deadline_after(*seconds: float | None) -> float:
    """Return the `time.monotonic` at which the shortest of the times is over; infinity for none."""
    given = [s for s in seconds if s is not None]
    return time.monotonic() + min(given) if given else math.inf
