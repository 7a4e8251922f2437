"""Agents: players of a game, in this process or in one of their own.

The referee calls an agent's `new_game`, `observe`, `act` and `end`. An agent receives observations,
never a state; in a game of perfect information `PlayerView.state` follows them.
"""

from __future__ import annotations

import operator
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from miai.clock import ClockReading
from miai.errors import AgentProtocolError
from miai.game import Game, Observation
from miai.information import PlayerView
from miai.plain import Json, to_plain

if TYPE_CHECKING:
    from miai.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Decision:
    """An agent's answer to `Agent.act`.

    Attributes:
      action: one of the legal actions; ignored if the agent resigns.
      resign: whether the agent resigns.
      statistics: plain data for the record, such as visits, depth and nodes. A value of the
        position, for the acting player, is written by `miai.values.Evaluation.statistics`, which
        adds its unit.
    """

    action: int
    resign: bool = False
    statistics: Mapping[str, Json] = field(default_factory=dict)


class Agent(ABC):
    """Base class of agents.

    `new_game` erases everything that can affect play: the same seed and the same observations give
    the same decisions, whatever was played before (except with budgets in seconds).

    Attributes:
      only_games: names of the only games that the class plays, for an agent in a file of its own;
        empty for any. A plugin names the game when it registers an agent.
      game: the game it plays.
      view: its observations in this game.
      rng: its random numbers, seeded by `new_game`.
      default_seed: the seed of its games if `play` should not derive one.
      component: name of its component, for the record; set by `make_agent`.
      settings: its parameters as configured, for the record; set by `make_agent`.
      version: name and version of the engine that it runs, known after `new_game`; else empty.
    """

    only_games: ClassVar[tuple[str, ...]] = ()
    default_seed: int | None = None
    component: str = ""
    settings: Mapping[str, Any] = MappingProxyType({})
    version: str = ""

    def __init__(self, game: Game, parameters: Parameters | None = None) -> None:
        self.game = game
        self.view = PlayerView(game, 0)
        self.rng = random.Random(0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game as `player`. Subclasses with state of their own override and call this.

        Args:
          seed: seed of all the agent's randomness in this game.
          player: the player's number, 0 to num_players - 1.
          log: a file to which the agent may append a log of this game; None for none.
        """
        self.view = PlayerView(self.game, player)
        self.rng = random.Random(seed)

    def observe(self, observation: Observation) -> None:
        """Receive an observation."""
        self.view.observe(observation)

    def ponder(self, stop: Callable[[], bool]) -> None:  # noqa: B027 - most agents do not
        """Think while another player does, until `stop` returns true.

        Called after observations, if the time control allows pondering and the agent has a process
        of its own. The next `act` begins when this returns; what it takes longer is charged to the
        agent's clock. Look at `stop` every few milliseconds; it takes a microsecond.
        """

    @abstractmethod
    def act(self, clock: ClockReading) -> Decision:
        """Return a decision among `self.view.legal_actions`."""

    def end(self, returns: tuple[float, ...]) -> None:  # noqa: B027 - most agents have nothing to do
        """Receive the end of the game and each player's return."""

    def close(self) -> None:  # noqa: B027 - most agents hold none
        """Release processes and files; the agent is not used afterwards."""

    def cpu_seconds(self) -> float:
        """Return the CPU time used so far in seconds, engines that it runs included."""
        return time.process_time()


class RandomAgent(Agent):
    """Plays uniformly over its legal actions."""

    def act(self, clock: ClockReading) -> Decision:
        """Return a uniformly random legal action."""
        return Decision(self.rng.choice(self.view.legal_actions))


def checked_decision(decision: object) -> Decision:
    """Return an agent's decision as plain data. Raises `AgentProtocolError` if it is invalid."""
    if not isinstance(decision, Decision):
        raise AgentProtocolError(f"act() returned a {type(decision).__name__}, not a Decision")
    try:
        if isinstance(decision.action, bool):
            raise TypeError("an action is an integer, not a bool")
        action = operator.index(decision.action)
        statistics = to_plain(decision.statistics, what="statistics")
    except (TypeError, RecursionError) as error:
        raise AgentProtocolError(f"the decision is not plain data: {error}") from None
    if not isinstance(statistics, dict):
        raise AgentProtocolError("the statistics of a decision must be a mapping")
    return Decision(action, bool(decision.resign), statistics)
