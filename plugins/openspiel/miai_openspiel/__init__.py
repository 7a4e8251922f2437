"""The games of OpenSpiel (https://github.com/google-deepmind/open_spiel) as games of miai.

Every game that OpenSpiel loads by name alone is registered as ``openspiel:NAME``, with its
parameters. `OpenSpielGame` wraps any other one, and `MiaiBot` lets an agent play in OpenSpiel.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miai_openspiel.bots import MiaiBot
    from miai_openspiel.games import OpenSpielGame, OpenSpielState

__all__ = ["MiaiBot", "OpenSpielGame", "OpenSpielState"]


def __getattr__(name: str) -> Any:
    """Import on first use: the entry point must not load OpenSpiel."""
    if name == "MiaiBot":
        from miai_openspiel.bots import MiaiBot

        return MiaiBot
    if name in __all__:
        from miai_openspiel import games

        return getattr(games, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
