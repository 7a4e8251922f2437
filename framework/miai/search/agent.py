"""The agent that plays by a search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from miai.agent import Decision, Judgement, ThinkingAgent, Thought
from miai.clock import ClockReading
from miai.errors import AgentError, AgentUnavailableError, MiaiError
from miai.game import Game, Observation, Player
from miai.information import joint_actions
from miai.plain import Json
from miai.search.protocol import (
    AnalysingSearch,
    ClockedSearch,
    PonderingSearch,
    Search,
    SearchResult,
    SimultaneousSearch,
)
from miai.values import Evaluation


class SearchAgent(ThinkingAgent):
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

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with an empty tree.

        Raises `AgentUnavailableError` if weights or a library that the search needs are missing.
        """
        super().new_game(seed, player=player, log=log)
        try:
            self.search.new_game(seed)
        except AgentError:
            raise
        except MiaiError as error:  # what it needs is missing, such as weights or a library
            raise AgentUnavailableError(str(error)) from error

    def observe(self, observation: Observation) -> None:
        """Follow the game, and let the search keep what it can."""
        super().observe(observation)
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

    def think(self, clock: ClockReading) -> Thought:
        """Return the search's action, within what the clock allots, and the policy that it states.

        The policy depends on what the search keeps of earlier decisions, such as a tree.
        """
        state = self.view.state
        if state.current_player() == Player.SIMULTANEOUS:
            assert isinstance(self.search, SimultaneousSearch), "the constructor refuses others"
            seconds = clock.allotment()
            result = self.search.search_as(state, self.view.player, seconds=seconds)
        elif clock.control.kind != "none" and isinstance(self.search, ClockedSearch):
            result = self.search.search_on_clock(state, clock)
        else:
            result = self.search.search(state, seconds=clock.allotment())
        return _decision(result), None if result.resign else result.policy

    def judge(self, action: int | None) -> Judgement:
        """Return the search's decision, and the value of an action that it tried."""
        state = self.view.state
        if state.current_player() == Player.SIMULTANEOUS:
            assert isinstance(self.search, SimultaneousSearch), "the constructor refuses others"
            result = self.search.search_as(state, self.view.player)
        elif isinstance(self.search, AnalysingSearch):
            result = self.search.analyse(state)
        else:
            result = self.search.search(state)
        return _decision(result), None if action is None else result.values.get(action)


def _decision(result: SearchResult) -> Decision:
    top = sorted(result.visits.items(), key=lambda item: (-item[1], item[0]))[:5]
    statistics: dict[str, Json] = {
        **Evaluation(round(result.value, 6), result.unit).statistics(),
        "pv": list(result.pv[:10]),
        "top": [[a, n, round(result.values.get(a, 0.0), 4)] for a, n in top],
        **result.statistics,
    }
    return Decision(result.action, resign=result.resign, statistics=statistics)
