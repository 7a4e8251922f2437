"""The parameter model of each game of the catalogue, as an attribute of its name."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pydantic import create_model

from miai import Parameters, parameter
from miai_openspiel.catalogue import games

_LONGEST: Final = 10_000  # characters of a text


class AnyGameParameters(Parameters):
    """A game by its text."""

    game: str = parameter(
        "tic_tac_toe", max_length=_LONGEST, help="OpenSpiel's name of the game with its parameters"
    )


@cache
def parameters_of(name: str) -> type[Parameters]:
    """Return the parameter model of a game: OpenSpiel's parameters with their types."""
    fields: dict[str, Any] = {}
    for key, value in games()[name]["parameters"].items():
        limits: dict[str, Any] = {"max_length": _LONGEST} if isinstance(value, str) else {}
        fields[key] = type(value), parameter(value, help=f"OpenSpiel's parameter {key}", **limits)
    return create_model(f"Parameters_{name}", __base__=Parameters, **fields)


def __getattr__(name: str) -> Any:
    if name in games():
        return parameters_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
