"""Settings of a pairing: parameters of the game that are other than the tournament's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from miai.openings import player_plies
from miai.plugins.loader import registry
from miai_tournaments.config.openings import Openings


def with_settings(openings: Openings, settings: Mapping[str, Any], *, where: str = "") -> Openings:
    """Return openings for the game with settings.

    Args:
      where: path of the settings in the config, for messages.

    Raises:
      MiaiError: the game has no such parameters, or they contradict each other.
    """
    given = openings.game.parameters.model_dump(mode="json", exclude_unset=True)
    component = registry().get("game", openings.game.info.name)
    game = component.build(values={**given, **settings}, where=where)
    return replace(openings, game=game)


def check_settings(openings: Openings, settings: Mapping[str, Any], *, where: str) -> None:
    """Check that there is a game with settings and that the openings are legal in it.

    Raises:
      MiaiError: they are not, or there is none.
    """
    other = with_settings(openings, settings, where=where)
    for line in other.lines:
        player_plies(other.game, line)
    other.opening(1, 0)
