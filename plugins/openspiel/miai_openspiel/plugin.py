"""The plugin's entry point: OpenSpiel's games by name. It does not import OpenSpiel."""

from __future__ import annotations

from miai import hookimpl
from miai.plugins.registry import Registry
from miai_openspiel.catalogue import games

PREFIX = "openspiel:"


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the games of the catalogue, and OpenSpiel's players for them."""
    for name, entry in games().items():
        registry.add(
            "game",
            PREFIX + name,
            f"miai_openspiel.games:{name}",
            parameters=f"miai_openspiel.catalogue:{name}",
            summary=entry["title"],
        )
        _add_components(
            registry, PREFIX + name, bots=not entry["hides"], search=not entry["simultaneous"]
        )
    _add_components(registry, "openspiel", bots=True, search=True)  # whatever game its text names
    registry.add(
        "game",
        "openspiel",
        "miai_openspiel.games:any_game",
        parameters="miai_openspiel.catalogue:AnyGameParameters",
        summary="Any game of OpenSpiel by its text, such as misere(game=tic_tac_toe())",
    )


def _add_components(registry: Registry, game: str, *, bots: bool, search: bool) -> None:
    """Add a game's renderer and OpenSpiel's players: its policies, its bots, and its search."""
    looks = "miai_openspiel.boards:SpielRenderer"
    registry.add("renderer", game, looks, summary="Boards and cards, or text", game=game)
    agents = [("openspiel-policy", "SpielPolicy", "A policy computed in OpenSpiel, from a file")]
    if bots:
        agents.append(("openspiel-bot", "NamedBot", "A bot of OpenSpiel, by its name"))
    if bots and search:
        agents.append(("openspiel-mcts", "SpielMcts", "OpenSpiel's Monte-Carlo tree search"))
    for agent, of, summary in agents:
        registry.add(
            "agent",
            agent,
            f"miai_openspiel.bots:{of}",
            parameters=f"miai_openspiel.bots:{of}Parameters",
            summary=summary,
            game=game,
        )
