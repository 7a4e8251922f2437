"""Games, agents and record formats by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from miai.agent import Agent
from miai.errors import ConfigError
from miai.game import Game
from miai.plugins.kinds import AGENT, GAME, RECORD_FORMAT
from miai.plugins.loader import registry
from miai.record import RecordFormat


def load_game(name: str, **parameters: Any) -> Game:
    """Return a game by name: ``miai.load_game("go", board_size=9, komi=7.5)``.

    Raises `PluginError`: the name or a parameter is wrong, or the plugin is broken; and
    `GameFailedError` if the game is a program that cannot be started.
    """
    return registry().build(GAME, name, values=parameters)


def game_names() -> list[str]:
    """Return the names of the games that need no parameters, sorted."""
    games = registry().components(GAME)
    return sorted(component.name for component in games if not component.needs_parameters)


def recorded_game(name: str, parameters: Mapping[str, Any]) -> Game:
    """Return the game of a record or a store, which may be of foreign origin.

    A program that it names runs only if this process has started it already, by another order, or
    if the variable ``MIAI_RUN_PROGRAMS`` of the environment is set to anything but 0.

    Raises:
      PluginError: the name or a parameter is wrong, or the plugin is broken.
      ConfigError: it names a program that may not run.
    """
    component = registry().get(GAME, name)
    if component.load_parameters().names_program:
        from miai.process.program_game import has_started

        allowed = os.environ.get("MIAI_RUN_PROGRAMS", "0") not in ("", "0")
        if not (allowed or has_started(parameters)):
            raise ConfigError(
                f"the game '{name}' of the file names a program, which a file may not start; if "
                "you trust it, set MIAI_RUN_PROGRAMS=1 in the environment"
            )
    return component.build(values=parameters)


def make_agent(name: str, game: Game, *, seed: int | None = None, **parameters: Any) -> Agent:
    """Return an agent in this process: ``miai.make_agent("mcts", game, simulations=1000, seed=1)``.

    The seed is that of each of its games; by default `play` derives one for each game.

    Raises:
      PluginError: the name or a parameter is wrong for the game.
      AgentUnavailableError: an engine, extra or file is missing; the message names it.
    """
    agent = registry().build(AGENT, name, game, values=parameters, game=game.info.name)
    agent.default_seed, agent.component, agent.settings = seed, name, parameters
    return agent


def record_format(name: str, game: str) -> RecordFormat:
    """Return a record format for the game of that name. Raises `UnknownComponentError`."""
    component = registry().get(RECORD_FORMAT, name, game=game)
    built: RecordFormat = component.build(values={})
    return built
