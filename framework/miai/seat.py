"""Seats: how the referee sees a player, whatever is behind it."""

from __future__ import annotations

import operator
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import AgentCrashedError, AgentError, AgentProtocolError
from miai.game import Observation
from miai.plain import to_plain

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Reply:
    """A player's answer as the referee received it.

    Attributes:
      decision: what it decided; plain data only.
      seconds: wall time from the question to the answer.
      cpu_seconds: CPU time that the agent used since its last answer; None where not measured.
    """

    decision: Decision
    seconds: float
    cpu_seconds: float | None


class Seat(Protocol):
    """A player, from the referee's side.

    Every method but `close` may raise an `AgentError`: the player's fault, and a forfeit.

    Attributes:
      name: its name in the match.
      agent, parameters: the agent component and its parameters as given.
      version: of the plugin that brought the agent, with an engine's own where told.
    """

    name: str
    agent: str
    parameters: Mapping[str, Any]
    version: str

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game as `player`, with nothing left of the last one."""

    def observe(self, observation: Observation) -> None:
        """Tell the player what it is told; may be passed on later, before the next question."""

    def act(self, reading: ClockReading, *, deadline: float | None) -> Reply:
        """Return the player's decision; `deadline` is seconds of wall time, None for none."""

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the player the end of the game and everyone's return."""

    def close(self) -> None:
        """Release what the seat holds."""


class InProcessSeat:
    """A seat whose agent runs in this process, on trust.

    Its time is charged after the fact: nothing stops it before it answers. In a game that hides
    information it is handed copies of plain data, so that nothing it holds leads to the state.

    Attributes:
      name, agent, parameters, version: as `Seat` has them.
      player: the agent itself.
    """

    def __init__(
        self,
        player: Agent,
        *,
        name: str = "",
        agent: str = "",
        parameters: Mapping[str, Any] | None = None,
        version: str = "",
    ) -> None:
        self.player = player
        self.agent = agent or player.component or type(player).__name__
        self.name = name or self.agent
        self.parameters: Mapping[str, Any] = dict(parameters or player.given)
        self.version = version
        self._log: Path | None = None

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game. Raises `AgentError`."""
        self._log = log
        self._guard(lambda: self.player.new_game(seed, player=player, log=log))
        self.version = self.version or self.player.version

    def observe(self, observation: Observation) -> None:
        """Tell the agent at once. Raises `AgentError`."""
        if observation.data is not None:
            data = to_plain(observation.data, what="the data of an observation")
            observation = replace(observation, data=data)
        self._guard(lambda: self.player.observe(observation))

    def act(self, reading: ClockReading, *, deadline: float | None) -> Reply:
        """Return the agent's decision, however long it takes. Raises `AgentError`."""
        cpu = self._guard(self.player.cpu_seconds)
        began = time.monotonic()
        decision = self._guard(lambda: self.player.act(reading))
        seconds = time.monotonic() - began
        used = self._guard(self.player.cpu_seconds) - cpu
        return Reply(checked_decision(decision), seconds, max(0.0, used))

    def end(self, returns: tuple[float, ...]) -> None:
        """Tell the agent the end. Raises `AgentError`."""
        self._guard(lambda: self.player.end(returns))

    def close(self) -> None:
        """Close the agent. Raises `AgentError`."""
        self._guard(self.player.close)

    def _guard(self, call: Callable[[], ResultT]) -> ResultT:
        try:
            return call()
        except AgentError:
            raise
        except Exception as error:
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    traceback.print_exc(file=file)
            raise AgentCrashedError(
                f"agent '{self.name}': {type(error).__name__}: {error}"
            ) from error


def checked_decision(decision: object) -> Decision:
    """Return an agent's decision as plain data. Raises `AgentProtocolError` when it is none."""
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
