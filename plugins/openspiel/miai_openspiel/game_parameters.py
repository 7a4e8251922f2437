"""The parameter model of each game of the catalogue, as an attribute of its name."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pydantic import create_model

from miai import Parameters, parameter
from miai_openspiel.catalogue import games

_LONGEST: Final = 10_000  # characters of a text
_LARGEST: Final = 10_000  # numbers, unless their default is larger
_LARGEST_SEED: Final = (1 << 31) - 1


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
        limits: dict[str, Any] = {}
        if isinstance(value, str):
            limits = {"max_length": _LONGEST}
        elif type(value) is int:
            limits = {"ge": -_LARGEST_SEED, "le": _LARGEST_SEED}
            if "seed" not in key:  # a size beyond this would take all memory, if not the process
                limits = {"ge": min(-1, value), "le": max(_LARGEST, 10 * value)}
        fields[key] = type(value), parameter(value, help=f"OpenSpiel's parameter {key}", **limits)
    return create_model(f"Parameters_{name}", __base__=Parameters, **fields)


def __getattr__(name: str) -> Any:
    if name in games():
        return parameters_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
