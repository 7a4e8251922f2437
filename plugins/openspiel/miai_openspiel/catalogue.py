"""The names, titles and parameters of OpenSpiel's games, so that listing them loads nothing.

The parameter model of each game is an attribute of the game's name.

``catalogue.json`` is written by ``python -m miai_openspiel.catalogue``, which asks OpenSpiel.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from pydantic import create_model, model_validator

from miai import Parameters, parameter
from miai.parameters import TYPED
from miai.process.child import CONFINED

_FILE: Final = Path(__file__).with_name("catalogue.json")

_LONGEST: Final = 10_000  # characters of a text
_LARGEST: Final = 10_000  # numbers, unless their default is larger
_LARGEST_SEED: Final = (1 << 31) - 1

_UNSUITABLE: Final = {
    "mean field": "mean-field games have a distribution of players, not players",
    "sampled": "its chance nodes draw by themselves, so that no game can be repeated",
    "nothing shown": "it does not say what a player observes",
    "crossword": "it has no legal actions",
}


@cache
def games() -> dict[str, dict[str, Any]]:
    """Return the catalogue: by name the title, the players by default, and so on."""
    entries: dict[str, dict[str, Any]] = json.loads(_FILE.read_text())["games"]
    return entries


_NAMES_A_FILE: Final = re.compile(r"(?:file|path|root|dir)\w*\s*=", re.IGNORECASE)


class SpielParameters(Parameters):
    """Parameters of a game of OpenSpiel; a command line alone may name a file in them."""

    @model_validator(mode="after")
    def _name_no_file(self) -> Self:
        for key, value in self:
            text = value if key == "game" else f"{key}={value}"
            named = isinstance(value, str) and value and _NAMES_A_FILE.search(text)
            # An agent's process plays the game that its referee has checked.
            if named and value not in TYPED and CONFINED not in os.environ:
                raise ValueError(f"{key} names a file, which only a command line may: --set")
        return self


class AnyGameParameters(SpielParameters):
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
    return create_model(f"Parameters_{name}", __base__=SpielParameters, **fields)


def __getattr__(name: str) -> Any:
    if name in games():
        return parameters_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def ask_openspiel() -> dict[str, Any]:
    """Return the catalogue of the installed OpenSpiel, and why other games are left out."""
    import pyspiel

    importlib.import_module("open_spiel.python.games")  # registers those written in Python
    included: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for kind in pyspiel.registered_games():
        name = kind.short_name
        if not kind.default_loadable:
            left_out[name] = "it needs parameters without a default"
        elif name in _UNSUITABLE:
            left_out[name] = _UNSUITABLE[name]
        elif kind.dynamics == kind.Dynamics.MEAN_FIELD:
            left_out[name] = _UNSUITABLE["mean field"]
        elif kind.chance_mode == kind.ChanceMode.SAMPLED_STOCHASTIC:
            left_out[name] = _UNSUITABLE["sampled"]
        elif not (kind.provides_information_state_string or kind.provides_observation_string) and (
            kind.information != kind.Information.PERFECT_INFORMATION
        ):
            left_out[name] = _UNSUITABLE["nothing shown"]
        else:
            defaults = {
                key: value
                for key, value in kind.parameter_specification.items()
                if isinstance(value, (bool, int, float, str))
            }
            included[name] = {
                "title": kind.long_name,
                "players": pyspiel.load_game(name).num_players(),
                "hides": kind.information == kind.Information.IMPERFECT_INFORMATION,
                "simultaneous": kind.dynamics == kind.Dynamics.SIMULTANEOUS,
                "parameters": dict(sorted(defaults.items())),
            }
    return {"games": dict(sorted(included.items())), "left_out": dict(sorted(left_out.items()))}


if __name__ == "__main__":
    _FILE.write_text(json.dumps(ask_openspiel(), indent=1) + "\n")
