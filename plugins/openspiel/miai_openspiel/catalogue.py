"""The names, titles and parameters of OpenSpiel's games, so that listing them loads nothing.

``catalogue.json`` is written by ``python -m miai_openspiel.catalogue``, which asks OpenSpiel.
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_name("catalogue.json")

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
