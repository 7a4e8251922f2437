"""Agents: what plays a game, in this process or in one of its own.

The referee speaks to an agent in four calls: `new_game`, `observe`, `act`, `end`. An agent is
handed observations, never a state; in a game of perfect information `PlayerView.state` follows
them.
"""

from __future__ import annotations

import operator
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from miai.clock import ClockReading
from miai.errors import AgentProtocolError
from miai.game import Game, Observation
from miai.information import PlayerView
from miai.plain import Json, to_plain

if TYPE_CHECKING:
    from miai.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Decision:
    """An agent's answer when it is asked to act.

    Attributes:
      action: the action, one of the legal actions; ignored when the agent resigns.
      resign: whether the agent gives the game up.
      statistics: plain data for the record: visits, value, depth, nodes. Values are from the
        point of view of the acting player.
    """

    action: int
    resign: bool = False
    statistics: Mapping[str, Json] = field(default_factory=dict)


class Agent(ABC):
    """Base class of agents.

    `new_game` erases everything that can affect play: the same seed and the same observations
    give the same decisions, whatever was played before (budgets in seconds excepted).

    Attributes:
      game: the game it plays.
      view: all its observations in this game.
      rng: its random numbers, seeded by `new_game`.
      default_seed: the seed used where the caller of `new_game` has none of its own.
      component: its component name, for the record; `make_agent` sets it.
      given: the parameters it was made with, for the record; `make_agent` sets them.
      version: name and version of an engine behind it, where told by `new_game`; else empty.
    """

    default_seed: int | None = None
    component: str = ""
    given: Mapping[str, Any] = MappingProxyType({})
    version: str = ""

    def __init__(self, game: Game, parameters: Parameters | None = None) -> None:
        self.game = game
        self.view = PlayerView(game, 0)
        self.rng = random.Random(0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game as `player`. Subclasses that keep anything override and call this.

        Args:
          seed: of all the agent's randomness in this game.
          player: which player it is, 0 to num_players - 1.
          log: a file that the agent may append its own log of this game to; None for none.
        """
        self.view = PlayerView(self.game, player)
        self.rng = random.Random(seed)

    def observe(self, observation: Observation) -> None:
        """Receive an observation of the player."""
        self.view.observe(observation)

    @abstractmethod
    def act(self, clock: ClockReading) -> Decision:
        """Return the decision for this turn; `self.view.legal_actions` are the choices."""

    def end(self, returns: tuple[float, ...]) -> None:  # noqa: B027 - most agents have nothing to do
        """Receive the end of the game and every player's return."""

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """Release processes and files; the agent is not used again."""

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by the agent, engines that it runs included."""
        return time.process_time()


class RandomAgent(Agent):
    """Plays uniformly over its legal actions."""

    def act(self, clock: ClockReading) -> Decision:
        """Return a uniformly random legal action."""
        return Decision(self.rng.choice(self.view.legal_actions))


def checked_decision(decision: object) -> Decision:
    """Return an agent's decision as plain data. Raises `AgentProtocolError` if it is not one."""
    if not isinstance(decision, Decision):
        raise AgentProtocolError(f"act() returned a {type(decision).__name__}, not a Decision")
    try:
        if isinstance(decision.action, bool):
            raise TypeError("an action is an integer, not a bool")
        action = operator.index(decision.action)
        statistics = to_plain(decision.statistics, what="statistics")
    except (TypeError, RecursionError) as error:
        raise AgentProtocolError(f"a decision that is not plain data: {error}") from None
    if not isinstance(statistics, dict):
        raise AgentProtocolError("the statistics of a decision are a mapping")
    return Decision(action, bool(decision.resign), statistics)
