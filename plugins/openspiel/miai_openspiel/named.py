"""A factory for each game of the catalogue, as an attribute of its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from miai import Parameters
from miai_openspiel.catalogue import games
from miai_openspiel.game_parameters import AnyGameParameters
from miai_openspiel.games import OpenSpielGame


def any_game(parameters: AnyGameParameters) -> OpenSpielGame:
    """Return the game of a text, which is registered as ``openspiel``."""
    return OpenSpielGame(parameters.game, parameters, registered="openspiel")


def make_game(name: str, parameters: Parameters) -> OpenSpielGame:
    """Return a game of OpenSpiel; parameters left at their default are not passed on."""
    return OpenSpielGame(name, parameters)


def __getattr__(name: str) -> Callable[[Parameters], OpenSpielGame]:
    if name in games():
        return partial(make_game, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
