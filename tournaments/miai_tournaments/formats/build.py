"""From the table ``[format]`` to the format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from miai.errors import PluginLoadError
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai_tournaments.formats.format import Entrants, Format
from miai_tournaments.store.rows import PlayerRow

KIND = "tournament-format"


def format_component(name: str) -> Component:
    """Return the component of a format. Raises `UnknownComponentError`."""
    return registry().get(KIND, name)


def build_format(
    name: str,
    parameters: Mapping[str, Any],
    players: Sequence[PlayerRow],
    *,
    rounds: int,
    seed: int,
) -> Format:
    """Return the format of a tournament.

    Args:
      name: of the component.
      parameters: as given.
      players: in the order of the config.
      rounds: ``tournament.rounds``.
      seed: of the run.

    Raises:
      MiaiError: there is no such format, its parameters are wrong or do not suit the players, or
        its plugin is broken.
    """
    component = format_component(name)
    entrants = Entrants(
        players=tuple(player.name for player in players),
        rounds=rounds,
        seed=seed,
        teams={player.name: player.team for player in players if player.team},
    )
    built = component.build(entrants, values=parameters, where="format")
    if not isinstance(built, Format):
        raise PluginLoadError(
            f"{KIND} '{name}' of plugin '{component.plugin}': its factory made a "
            f"{type(built).__name__}, not a Format; a defect of the plugin"
        )
    return built


def how_many(built: Format) -> str:
    """Return the number of games in words."""
    most = built.most_games()
    games = f"{most} game{'s' * (most != 1)}"
    return games if built.exact else f"at most {games}"
