"""Agents: players of a game, in this process or in one of their own.

The referee calls an agent's `new_game`, `observe`, `act` and `end`. An agent receives observations,
never a state; in a game of perfect information `PlayerView.state` follows them.
"""

from __future__ import annotations

import math
import operator
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from miai.clock import ClockReading, TimeControl
from miai.errors import AgentProtocolError
from miai.game import Game, Observation
from miai.information import PlayerView
from miai.plain import Json, one_line, to_plain
from miai.values import Evaluation

if TYPE_CHECKING:
    from miai.parameters import Parameters

POLICY_TOLERANCE = 1e-6
"""How far the sum of a policy's probabilities may be from 1."""


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
      policy_is_fixed: whether `policy` is the same for every seed.
      default_seed: the seed of its games if `play` should not derive one.
      component: name of its component, for the record; set by `make_agent`.
      settings: its parameters as configured, for the record; set by `make_agent`.
      version: name and version of the engine that it runs, known after `new_game`; else empty.
    """

    only_games: ClassVar[tuple[str, ...]] = ()
    policy_is_fixed: bool = False
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

    def policy(self) -> Mapping[int, float] | None:
        """Return the distribution from which `act` draws at the current view; None if unknown.

        It maps legal actions to probabilities that sum to 1; what is missing has probability 0. It
        is a function of the seed and the observations of this game, not of calls of `act`, the
        clock or earlier games, except where a budget is in seconds or a search keeps its tree. At
        one view, `policy` and `act` may be called in either order and repeatedly: the policy is the
        same, and the agent thinks once. An agent that may resign states None where it would. With
        `policy_is_fixed` the policy is the same for every seed, thus the agent's behaviour
        strategy; otherwise that is the mean over seeds, weighted by the probability that they reach
        the view. The referee checks and records it, and shows it to no player.
        """
        return None

    def judge(self, action: int | None) -> Judgement:
        """Return the decision at the current view, for judging a game, and the value of an action.

        There is no clock. The value is for the acting player and in the decision's unit; None if
        unknown. The statistics of the decision may have ``score``, the expected margin at the end
        in points, and ``scores``, pairs of an action and the margin after it, all for the acting
        player.
        """
        decision = self.act(ClockReading(control=TimeControl()))
        evaluation = Evaluation.from_statistics(decision.statistics)
        same = evaluation is not None and decision.action == action
        return decision, evaluation.value if evaluation is not None and same else None

    def end(self, returns: tuple[float, ...]) -> None:  # noqa: B027 - most agents have nothing to do
        """Receive the end of the game and each player's return."""

    def close(self) -> None:  # noqa: B027 - most agents hold none
        """Release processes and files; the agent is not used afterwards."""

    def cpu_seconds(self) -> float:
        """Return the CPU time used so far in seconds, engines that it runs included."""
        return time.process_time()


Judgement: TypeAlias = "tuple[Decision, float | None]"
"""A decision, and the value of another action where it was made; see `Agent.judge`."""

Thought: TypeAlias = "tuple[Decision, Mapping[int, float] | None]"
"""A decision, and the policy from which it was drawn; None if unknown."""


class ThinkingAgent(Agent):
    """An agent that thinks once at each view, about its decision and its policy together."""

    _thought: Thought | None = None  # at the current view

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game without a thought; see `Agent.new_game`."""
        super().new_game(seed, player=player, log=log)
        self._thought = None

    def observe(self, observation: Observation) -> None:
        """Receive an observation."""
        super().observe(observation)
        self._thought = None

    @abstractmethod
    def think(self, clock: ClockReading) -> Thought:
        """Return the decision and the policy at the current view."""

    def act(self, clock: ClockReading) -> Decision:
        """Return the decision at the current view."""
        self._thought = self._thought or self.think(clock)
        return self._thought[0]

    def policy(self) -> Mapping[int, float] | None:
        """Return the policy at the current view, thought out without a clock if need be."""
        self._thought = self._thought or self.think(ClockReading(control=TimeControl()))
        return self._thought[1]


class RandomAgent(Agent):
    """Plays uniformly over its legal actions."""

    policy_is_fixed = True

    def act(self, clock: ClockReading) -> Decision:
        """Return a uniformly random legal action."""
        return Decision(self.rng.choice(self.view.legal_actions))

    def policy(self) -> Mapping[int, float]:
        """Return the uniform distribution over the legal actions."""
        legal = self.view.legal_actions
        return dict.fromkeys(legal, 1 / len(legal))


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


def stated_policy(agent: Agent) -> dict[int, float] | None:
    """Return the policy that an agent states at its view, checked; None if unknown.

    Raises `AgentProtocolError` as `checked_policy`, and if it states two when asked twice.
    """
    legal = agent.view.legal_actions
    stated = [agent.policy() for _ in range(2)]
    policy, again = (None if each is None else checked_policy(each, legal) for each in stated)
    if policy != again:
        raise AgentProtocolError(f"policy: two at one view, {policy} and then {again}")
    return policy


def checked_policy(
    policy: object, legal: Sequence[int], *, drawn: int | None = None
) -> dict[int, float]:
    """Return an agent's policy as plain data: each action with its probability.

    Raises `AgentProtocolError` unless it maps legal actions to non-negative probabilities that sum
    to 1 within 1e-6, with a positive one for the action that was drawn.
    """
    if not isinstance(policy, Mapping):
        raise AgentProtocolError(f"policy() returned a {type(policy).__name__}, not a mapping")
    checked: dict[int, float] = {}
    for action, probability in policy.items():
        try:
            number, chance = operator.index(action), 1.0 * probability
            if number not in legal:
                raise AgentProtocolError(f"policy: action {number} is not legal here")
            if not 0 <= chance <= 1 + POLICY_TOLERANCE:
                raise AgentProtocolError(f"policy: action {number} has probability {chance}")
        except (TypeError, ValueError, OverflowError):
            pair = one_line(f"{action!r}: {probability!r}", limit=60)
            raise AgentProtocolError(f"policy: {pair} is not an action and its chance") from None
        checked[number] = float(chance)
    total = math.fsum(checked.values())
    if abs(total - 1) > POLICY_TOLERANCE:
        raise AgentProtocolError(f"policy: the probabilities sum to {total:.7g}, not to 1")
    if drawn is not None and drawn in legal and not checked.get(drawn):
        raise AgentProtocolError(f"policy: action {drawn}, which was drawn, has probability 0")
    return checked
