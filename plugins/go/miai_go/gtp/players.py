"""Who thinks behind the protocol: a search or any other agent of Go, from any position."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from miai.agent import Agent
from miai.api import make_agent
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentUnavailableError
from miai.game import State
from miai.information import PlayerView
from miai.plugins.loader import registry
from miai.search.agent import SearchAgent
from miai.search.protocol import Search, SearchResult
from miai_go.gtp.table import FreeState
from miai_go.gtp.wire import GtpError
from miai_go.rules.game import GoGame

if TYPE_CHECKING:
    from miai_go.nets.oracle import Oracle


_NO_PLAYERS: Final = {
    "human": "is a person at a terminal",
    "gtp": "is an engine that speaks GTP itself: start it without miai",
}


@runtime_checkable
class Analyser(Protocol):
    """A search that can tell more of a position than what it would play; optional."""

    def analyse(self, state: State, *, seconds: float) -> SearchResult:
        """Search for so many seconds more, on top of what is known of the state already.

        Visits are all that were ever made, so they grow from call to call. Beside what it likes,
        the statistics may hold, all for the player to move:

          priors: ``{action: probability}``, the action a number or its text; or such pairs
          scores: ``{action: points won by}``, likewise
          score: points won by, of the position
          ownership: a number for each point from A1, 1 the player to move, -1 the opponent
        """


class EnginePlayer(Protocol):
    """What a session asks for moves."""

    agent: Agent

    def renew(self, seed: int) -> None:
        """Begin a game: its randomness derives from the seed."""

    def forget(self) -> None:
        """Know nothing of earlier positions."""

    def advance(self, action: int) -> None:
        """Be told of a move in the ordinary course of the game."""

    def choose(self, state: FreeState, *, seconds: float | None) -> SearchResult:
        """Return what to play, within the player's own budget and `seconds`."""

    def analyse(self, state: FreeState, *, seconds: float) -> SearchResult:
        """Return what is known after so many seconds more. Raises `GtpError` where it cannot."""

    def oracle(self) -> Oracle | None:
        """Return its network, or None: the attribute `oracle` of its search or agent."""

    def close(self) -> None:
        """Release what it holds; it is not used again."""


PlayerMaker: TypeAlias = Callable[[GoGame, int], EnginePlayer]
"""Makes a player of a game from the seed of its randomness."""


def player_maker(name: str, values: Mapping[str, Any]) -> PlayerMaker:
    """Return what makes players by the name of an agent or search, and its parameters.

    Raises:
      UnknownComponentError: nothing of that name plays Go.
      ParameterError: the parameters do not fit it.
      AgentUnavailableError: it is no program.
    """
    component = registry().get("agent", name, game="go")
    if name in _NO_PLAYERS:
        raise AgentUnavailableError(f"--agent {name}: '{name}' {_NO_PLAYERS[name]}")
    component.fill(values, where=f"--agent {name}")

    def make(game: GoGame, seed: int) -> EnginePlayer:
        agent = make_agent(name, game, **values)
        player = SearchPlayer(agent, seed) if isinstance(agent, SearchAgent) else None
        return player or AgentPlayer(agent, seed)

    return make


class SearchPlayer:
    """Plays by a search, whose tree is kept from move to move.

    Attributes:
      agent: the agent of the search's name.
      search: the search.
    """

    def __init__(self, agent: SearchAgent, seed: int) -> None:
        self.agent: Agent = agent
        self.search: Search = agent.search
        self.renew(seed)

    def renew(self, seed: int) -> None:
        """Begin a game with an empty tree."""
        self._seed = seed
        self.forget()

    def forget(self) -> None:
        """Forget the tree; the randomness begins anew."""
        self.search.new_game(self._seed)

    def advance(self, action: int) -> None:
        """Keep what the tree knows beyond `action`."""
        self.search.advance(action)

    def choose(self, state: FreeState, *, seconds: float | None) -> SearchResult:
        """Return what the search finds."""
        return self.search.search(state, seconds=seconds)

    def analyse(self, state: FreeState, *, seconds: float) -> SearchResult:
        """Return what the search has found after so many seconds more."""
        if isinstance(self.search, Analyser):
            return self.search.analyse(state, seconds=seconds)
        return self.search.search(state, seconds=seconds)

    def oracle(self) -> Oracle | None:
        """Return the network of the search, or None."""
        return _oracle_of(self.search)

    def close(self) -> None:
        """Close the agent and, where it can be, the search."""
        self.agent.close()
        close = getattr(self.search, "close", None)
        if close is not None:
            close()


class AgentPlayer:
    """Plays by an agent that is no search: a new view of the position for every move.

    Attributes:
      agent: the agent.
    """

    def __init__(self, agent: Agent, seed: int) -> None:
        self.agent = agent
        self.renew(seed)

    def renew(self, seed: int) -> None:
        """Begin a game."""
        self._seed = seed
        self.forget()

    def forget(self) -> None:
        """Begin the game again, its randomness anew."""
        self.agent.new_game(self._seed, player=0)

    def advance(self, action: int) -> None:
        """Do nothing: the next view has it all."""

    def choose(self, state: FreeState, *, seconds: float | None) -> SearchResult:
        """Return what the agent decides."""
        self.agent.view = PlayerView.at(state, state.to_move)
        decision = self.agent.act(reading(seconds))
        value = decision.statistics.get("value")
        return SearchResult(
            action=decision.action,
            value=float(value) if isinstance(value, int | float) else 0.0,
            resign=decision.resign,
            statistics=decision.statistics,
        )

    def analyse(self, state: FreeState, *, seconds: float) -> SearchResult:
        """Refuse: it only plays."""
        raise GtpError("this agent does not search, so there is nothing to analyse")

    def oracle(self) -> Oracle | None:
        """Return the network of the agent, or None."""
        return _oracle_of(self.agent)

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()


def _oracle_of(thinker: object) -> Oracle | None:
    oracle: Oracle | None = getattr(thinker, "oracle", None)
    return oracle


def reading(seconds: float | None) -> ClockReading:
    """Return a clock that allots a move so many seconds; None for no clock."""
    if seconds is None:
        return ClockReading(control=TimeControl())
    limit = max(seconds, 0.01) / 0.9  # of which a player takes nine tenths
    control = TimeControl(kind="per-move", seconds=limit)
    return ClockReading(control=control, main=limit, limit=limit)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Return the seconds so far."""
        return time.monotonic() - self._began
