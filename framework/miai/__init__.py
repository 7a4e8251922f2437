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
    from miai.api import load_game, make, make_agent
    from miai.clock import Clock, ClockReading, TimeControl
    from miai.environments import to_gymnasium as to_gymnasium
    from miai.environments import to_pettingzoo as to_pettingzoo
    from miai.errors import MiaiError
    from miai.game import Game, GameInfo, Observation, Player, SimultaneousState, State
    from miai.information import BeliefState, EnumeratedBelief, PlayerView
    from miai.parameters import Parameters, parameter
    from miai.plain import Json
    from miai.playing.match import play
    from miai.plugins.hooks import hookimpl
    from miai.record import GameRecord
    from miai.record_reader import read_record

__version__ = "0.2.0"

# The module of each public name. Names are imported on first use: every plugin module imports miai
# for its hook marker, which must cost next to nothing.
_HOMES = {
    "miai.agent": ("Agent", "Decision", "RandomAgent"),
    "miai.api": ("load_game", "make", "make_agent"),
    "miai.clock": ("Clock", "ClockReading", "TimeControl"),
    "miai.environments": ("to_gymnasium", "to_pettingzoo"),
    "miai.errors": ("MiaiError",),
    "miai.game": ("Game", "GameInfo", "Observation", "Player", "SimultaneousState", "State"),
    "miai.information": ("BeliefState", "EnumeratedBelief", "PlayerView"),
    "miai.playing.match": ("play",),
    "miai.parameters": ("Parameters", "parameter"),
    "miai.plain": ("Json",),
    "miai.plugins.hooks": ("hookimpl",),
    "miai.record": ("GameRecord",),
    "miai.record_reader": ("read_record",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
# `to_gymnasium` and `to_pettingzoo` need an extra, so a star import leaves them out.
_MODULES = ("errors", "record", "search", "testing", "tournaments")

__all__ = [
    "Agent",
    "BeliefState",
    "Clock",
    "ClockReading",
    "Decision",
    "EnumeratedBelief",
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
    "SimultaneousState",
    "State",
    "TimeControl",
    "errors",
    "hookimpl",
    "load_game",
    "make",
    "make_agent",
    "parameter",
    "play",
    "read_record",
    "record",
    "search",
    "testing",
    "tournaments",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"miai.{name}")
    else:
        raise AttributeError(f"module 'miai' has no attribute '{name}'")
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
