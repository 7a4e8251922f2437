"""miai: a plugin-based game-AI framework for games of perfect and imperfect information.

>>> import miai
>>> state = miai.load_game("tic_tac_toe").new_initial_state()
>>> state.apply_action(4)
>>> print(state)
...
.x.
...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miai import errors, record, search, testing
    from miai.agent import Agent, Decision, RandomAgent
    from miai.api import load_game, make_agent
    from miai.clock import Clock, ClockReading, TimeControl
    from miai.errors import MiaiError
    from miai.game import Game, GameInfo, Observation, Player, State
    from miai.information import (
        BeliefState,
        Determinizer,
        EnumeratedBelief,
        EnumeratingDeterminizer,
        PlayerView,
    )
    from miai.parameters import Parameters, parameter
    from miai.plain import Json
    from miai.playing.match import play
    from miai.plugins.hooks import hookimpl
    from miai.record import GameRecord


__version__ = "0.1.0"

# Where each public name lives. Names are imported when first used, so that `import miai`, which
# every plugin module does for its hook marker, costs next to nothing.
_HOMES = {
    "miai.agent": ("Agent", "Decision", "RandomAgent"),
    "miai.api": ("load_game", "make_agent"),
    "miai.clock": ("Clock", "ClockReading", "TimeControl"),
    "miai.errors": ("MiaiError",),
    "miai.game": ("Game", "GameInfo", "Json", "Observation", "Player", "State"),
    "miai.information": (
        "BeliefState",
        "Determinizer",
        "EnumeratedBelief",
        "EnumeratingDeterminizer",
        "PlayerView",
    ),
    "miai.playing.match": ("play",),
    "miai.plugins.hooks": ("hookimpl",),
    "miai.parameters": ("Parameters", "parameter"),
    "miai.record": ("GameRecord",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "BeliefState",
    "Clock",
    "ClockReading",
    "Decision",
    "Determinizer",
    "EnumeratedBelief",
    "EnumeratingDeterminizer",
    "Game",
    "GameInfo",
    "GameRecord",
    "Json",
    "MiaiError",
    "Observation",
    "Parameters",
    "Player",
    "PlayerView",
    "RandomAgent",
    "State",
    "TimeControl",
    "errors",
    "hookimpl",
    "load_game",
    "make_agent",
    "parameter",
    "play",
    "record",
    "search",
    "testing",
]


_MODULES = ("errors", "record", "search", "testing")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"miai.{name}")
    else:
        raise AttributeError(f"module 'miai' has no attribute '{name}'")
    globals()[name] = value  # so that the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
