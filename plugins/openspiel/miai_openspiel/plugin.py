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
        _add_renderer(registry, PREFIX + name)
        _add_agents(
            registry, PREFIX + name, bots=not entry["hides"], search=not entry["simultaneous"]
        )
    _add_renderer(registry, "openspiel")
    _add_agents(registry, "openspiel", bots=True, search=True)  # whatever game its text names
    registry.add(
        "game",
        "openspiel",
        "miai_openspiel.games:any_game",
        parameters="miai_openspiel.catalogue:AnyGameParameters",
        summary="Any game of OpenSpiel by its text, such as misere(game=tic_tac_toe())",
    )


def _add_renderer(registry: Registry, game: str) -> None:
    factory = "miai_openspiel.boards:SpielRenderer"
    registry.add("renderer", game, factory, summary="Boards and cards, or text", game=game)


def _add_agents(registry: Registry, game: str, *, bots: bool, search: bool) -> None:
    """Add OpenSpiel's players for a game: its policies, its bots, and its search."""
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
