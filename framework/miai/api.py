"""The short way in: games and agents by name."""

from __future__ import annotations

from typing import Any

from miai.agent import Agent
from miai.game import Game
from miai.plugins.kinds import AGENT, GAME
from miai.plugins.loader import registry


def load_game(name: str, **parameters: Any) -> Game:
    """Return a game by name: ``miai.load_game("go", board_size=9, komi=7.5)``.

    Raises:
      UnknownComponentError: no plugin brings a game of that name.
      ParameterError: a parameter is unknown, of the wrong type or out of range.
      PluginLoadError: the plugin that brings the game is broken.
    """
    return registry().build(GAME, name, values=parameters)


def make_agent(name: str, game: Game, *, seed: int | None = None, **parameters: Any) -> Agent:
    """Return an agent in this process: ``miai.make_agent("mcts", game, simulations=1000, seed=1)``.

    Args:
      seed: the seed of its games where the caller of `Agent.new_game` has none of its own.

    Raises:
      UnknownComponentError: no agent or search of that name serves the game.
      ParameterError: a parameter is unknown, of the wrong type or out of range.
      AgentUnavailableError: it needs something that is missing, which the message names.
    """
    agent = registry().build(AGENT, name, game, values=parameters, game=game.info.name)
    agent.default_seed, agent.component, agent.given = seed, name, parameters
    return agent
