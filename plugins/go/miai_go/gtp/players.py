"""The player of a session: a search or any other agent of Go, asked from any position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from miai.agent import Agent
from miai.api import make_agent
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentUnavailableError
from miai.game import State
from miai.information import PlayerView
from miai.plugins.loader import registry
from miai.search.agent import SearchAgent
from miai.search.protocol import ClockedSearch, Search, SearchResult
from miai.values import Evaluation, ValueUnit
from miai_go.gtp.clocks import MoveTime
from miai_go.gtp.session_table import FreeState
from miai_go.gtp.wire import GtpError
from miai_go.rules.game import GoGame
from miai_go.search.tree_search import clock_moves

if TYPE_CHECKING:
    from miai_go.nets.oracle import Oracle


_NO_PLAYERS: Final = {
    "human": "is a person at a terminal",
    "gtp": "is an engine that speaks GTP itself: start it without miai",
}


@runtime_checkable
class Analyser(Protocol):
    """A search that can continue an analysis and report more than a move; optional."""

    def analyse(self, state: State, *, seconds: float) -> SearchResult:
        """Continue the search of a state for `seconds`.

        Visits are counted over all calls for this state. The statistics may hold, for the player to
        move:

          priors: ``{action: probability}``, the action a number or its text; or pairs of these
          scores: ``{action: points}``, likewise; expected margin after each action
          score: points; expected margin of the position
          ownership: a number for each point from A1, 1 the player to move, -1 the opponent
        """


@runtime_checkable
class WatchedSearch(Protocol):
    """A search that shows what it finds while it goes on; optional."""

    def watching(
        self, show: Callable[[SearchResult], None], *, every: float
    ) -> AbstractContextManager[None]:
        """As long as the context is open, call `show` with the result so far.

        The result has the statistics of an `Analyser`; `every` seconds pass between two calls.
        """


class SessionPlayer:
    """Chooses the moves of a session by an agent, with a new view of the position for each."""

    def __init__(self, agent: Agent, seed: int) -> None:
        self.agent = agent
        self.renew(seed)

    def renew(self, seed: int) -> None:
        """Begin a game with this seed."""
        self._seed = seed
        self.forget()

    def forget(self) -> None:
        """Forget earlier positions and reseed."""
        self.agent.new_game(self._seed, player=0)

    def advance(self, action: int) -> None:
        """Follow a move of the player to move."""

    def choose(self, state: FreeState, *, time: MoveTime | None) -> SearchResult:
        """Return what to play, within the player's own budget and `time`."""
        self.agent.view = PlayerView.at(state, state.to_move)
        decision = self.agent.act(_per_move(time))
        evaluation = Evaluation.from_statistics(decision.statistics)
        return SearchResult(
            action=decision.action,
            value=0.0 if evaluation is None else evaluation.value,
            unit=ValueUnit.SCORE if evaluation is None else evaluation.unit,
            resign=decision.resign,
            statistics=decision.statistics,
        )

    def analyse(self, state: FreeState, *, seconds: float) -> SearchResult:
        """Continue the search for `seconds`. Raises `GtpError` for an agent without a search."""
        raise GtpError("this agent does not search, so there is nothing to analyse")

    def watching(
        self, show: Callable[[SearchResult], None], *, every: float
    ) -> AbstractContextManager[None]:
        """Show what `choose` finds, as a `WatchedSearch` does; other agents show nothing."""
        return nullcontext()

    def oracle(self) -> Oracle | None:
        """Return the network of the agent or its search, or None."""
        return getattr(getattr(self.agent, "search", self.agent), "oracle", None)

    def close(self) -> None:
        """Release the agent's resources."""
        self.agent.close()


class SearchPlayer(SessionPlayer):
    """Plays by a search, whose tree is kept from move to move."""

    def __init__(self, agent: SearchAgent, seed: int) -> None:
        self.search: Search = agent.search
        super().__init__(agent, seed)

    def forget(self) -> None:
        """Forget the tree and reseed."""
        self.search.new_game(self._seed)

    def advance(self, action: int) -> None:
        """Keep the subtree of `action`."""
        self.search.advance(action)

    def choose(self, state: FreeState, *, time: MoveTime | None) -> SearchResult:
        """Search within its own budget and `time`."""
        if time is None:
            return self.search.search(state)
        if isinstance(self.search, ClockedSearch):
            # The search divides main time by the moves left: offer it as much as makes the
            # session's own share, so that it may spend more on a difficult move.
            moves = clock_moves(state.game.size, state.move_number())
            spread = time.longest > time.seconds
            clock = _with_main_time(time, moves=moves) if spread else _per_move(time)
            return self.search.search_on_clock(state, clock)
        return self.search.search(state, seconds=time.seconds)

    def watching(
        self, show: Callable[[SearchResult], None], *, every: float
    ) -> AbstractContextManager[None]:
        """Show what the search finds, if it can."""
        if isinstance(self.search, WatchedSearch):
            return self.search.watching(show, every=every)
        return nullcontext()

    def analyse(self, state: FreeState, *, seconds: float) -> SearchResult:
        """Continue the search for `seconds`."""
        if isinstance(self.search, Analyser):
            return self.search.analyse(state, seconds=seconds)
        return self.search.search(state, seconds=seconds)


PlayerMaker: TypeAlias = Callable[[GoGame, int], SessionPlayer]
"""Makes the player of a game, with this seed."""


def player_maker(name: str, values: Mapping[str, Any]) -> PlayerMaker:
    """Return a function that makes players of the named agent or search.

    Raises:
      UnknownComponentError: no agent of that name plays Go.
      ParameterError: the parameters are wrong.
      AgentUnavailableError: the agent is a person or an external engine.
    """
    component = registry().get("agent", name, game="go")
    if name in _NO_PLAYERS:
        raise AgentUnavailableError(f"--agent {name}: '{name}' {_NO_PLAYERS[name]}")
    component.fill(values, where=f"--agent {name}")

    def make(game: GoGame, seed: int) -> SessionPlayer:
        agent = make_agent(name, game, **values)
        if isinstance(agent, SearchAgent):
            return SearchPlayer(agent, seed)
        return SessionPlayer(agent, seed)

    return make


def _per_move(time: MoveTime | None) -> ClockReading:
    """Return a clock under which an agent takes the seconds of a move; None for no clock."""
    if time is None:
        return ClockReading(control=TimeControl())
    limit = max(time.seconds, 0.01) / 0.9  # agents take nine tenths of it
    control = TimeControl(kind="per-move", seconds=limit)
    return ClockReading(control=control, main=limit, limit=limit)


def _with_main_time(time: MoveTime, *, moves: float) -> ClockReading:
    """Return a clock under which a search takes the seconds of a move, or more for a difficult one.

    It has as much main time as the search divides by `moves`, and nine tenths of its limit are the
    longest that a move may take.
    """
    main = moves * max(time.seconds, 0.01)
    control = TimeControl(kind="absolute", seconds=main)
    return ClockReading(control=control, main=main, limit=time.longest / 0.9)
