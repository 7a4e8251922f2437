"""The agent that plays by a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from miai.agent import Agent, Decision
from miai.clock import ClockReading, TimeControl
from miai.errors import AgentError, AgentUnavailableError, MiaiError
from miai.game import Game, Observation, Player
from miai.information import joint_actions
from miai.plain import Json
from miai.search.protocol import (
    ClockedSearch,
    PonderingSearch,
    Search,
    SearchResult,
    SimultaneousSearch,
)
from miai.values import Evaluation


class SearchAgent(Agent):
    """Plays the best action of a search, in a game of perfect information.

    Raises `AgentUnavailableError` if the game hides information, or players act at once and the
    search does not handle that.
    """

    def __init__(self, game: Game, search: Search) -> None:
        if not game.info.perfect_information:
            raise AgentUnavailableError(
                f"{game.info.title} hides information, which this search cannot handle; ismcts, "
                "pimc and belief-minimax search over what a player knows"
            )
        if game.info.simultaneous and not isinstance(search, SimultaneousSearch):
            raise AgentUnavailableError(
                f"in {game.info.title} players act at once, which this search does not handle; "
                "mcts does"
            )
        super().__init__(game)
        self.search = search
        self._result: SearchResult | None = None  # at the current view

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with an empty tree.

        Raises `AgentUnavailableError` if weights or a library that the search needs are missing.
        """
        super().new_game(seed, player=player, log=log)
        self._result = None
        try:
            self.search.new_game(seed)
        except AgentError:
            raise
        except MiaiError as error:  # what it needs is missing, such as weights or a library
            raise AgentUnavailableError(str(error)) from error

    def observe(self, observation: Observation) -> None:
        """Follow the game, and let the search keep what it can."""
        super().observe(observation)
        self._result = None
        if observation.actor == Player.SIMULTANEOUS:
            for _, action in sorted(joint_actions(observation).items()):
                self.search.advance(action)
        elif observation.action is not None:
            self.search.advance(observation.action)

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Let the search go on at the present position, if it can."""
        if isinstance(self.search, PonderingSearch) and not self.view.state.is_terminal():
            self.search.ponder(self.view.state, stop)

    def close(self) -> None:
        """Close the search."""
        self.search.close()

    def act(self, clock: ClockReading) -> Decision:
        """Return the search's best action, within what the clock allots."""
        result = self._think(clock)
        top = sorted(result.visits.items(), key=lambda item: (-item[1], item[0]))[:5]
        statistics: dict[str, Json] = {
            **Evaluation(round(result.value, 6), result.unit).statistics(),
            "pv": list(result.pv[:10]),
            "top": [[a, n, round(result.values.get(a, 0.0), 4)] for a, n in top],
            **result.statistics,
        }
        return Decision(result.action, resign=result.resign, statistics=statistics)

    def policy(self) -> Mapping[int, float] | None:
        """Return the policy that the search states; None also where it resigns.

        It depends on what the search keeps of earlier decisions, such as a tree.
        """
        result = self._think(ClockReading(control=TimeControl()))
        return None if result.resign else result.policy

    def _think(self, clock: ClockReading) -> SearchResult:
        """Return the result of the search at the current view, which is made once."""
        if self._result is not None:
            return self._result
        state = self.view.state
        if state.current_player() == Player.SIMULTANEOUS:
            assert isinstance(self.search, SimultaneousSearch), "the constructor refuses others"
            seconds = clock.allotment()
            self._result = self.search.search_as(state, self.view.player, seconds=seconds)
        elif clock.control.kind != "none" and isinstance(self.search, ClockedSearch):
            self._result = self.search.search_on_clock(state, clock)
        else:
            self._result = self.search.search(state, seconds=clock.allotment())
        return self._result
