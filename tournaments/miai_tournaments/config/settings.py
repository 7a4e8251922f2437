"""Settings of a pairing or an opening: parameters of the game other than the tournament's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from miai.errors import ParameterError
from miai.game import Game
from miai.openings import player_plies
from miai.plugins.loader import registry

if TYPE_CHECKING:
    from miai_tournaments.config.openings import Openings


def game_with_settings(game: Game, settings: Mapping[str, Any], *, where: str = "") -> Game:
    """Return the game with other parameters.

    Args:
      where: path of the settings in the config, for messages.

    Raises:
      MiaiError: the game has no such parameters, or they contradict each other.
    """
    if not settings:
        return game
    given = game.parameters.model_dump(mode="json", exclude_unset=True)
    component = registry().get("game", game.info.name)
    made: Game = component.build(values={**given, **settings}, where=where)
    return made


def with_settings(openings: Openings, settings: Mapping[str, Any], *, where: str = "") -> Openings:
    """Return openings for the game with settings. Raises as `game_with_settings`."""
    return replace(openings, game=game_with_settings(openings.game, settings, where=where))


def check_settings(openings: Openings, settings: Mapping[str, Any], *, where: str) -> None:
    """Check that there is a game with settings and that the openings are legal in it.

    Raises:
      MiaiError: they are not, or there is none.
    """
    other = with_settings(openings, settings, where=where)
    for line in other.lines:
        for name in settings.keys() & line.settings.keys():
            raise ParameterError(f"{where}.{name}: is told by the openings, too; leave it out")
        player_plies(game_with_settings(other.game, line.settings, where=where), line.actions)
    if other.random_plies:
        replace(other, balance=None).opening(1, 0)
