"""Protocols of searches and evaluators, their results, and what a search requires of its game."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai.clock import ClockReading
from miai.errors import GameError, HiddenInformationError, UnsuitableGameError
from miai.game import Game, Player, State
from miai.plain import Json
from miai.values import ValueUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search at its root.

    Attributes:
      action: the best action, or one drawn from `policy`.
      value: value of the root for the player to move there: a utility within the game's bounds.
      unit: whether `value` and `values` are expected utilities, or guarantees and estimates.
      visits: visits of each root action, where the search counts them.
      values: value of each root action, for the player to move at the root.
      pv: principal variation, the best action first.
      resign: whether the search considers the game lost by its own threshold.
      statistics: plain data for the record: simulations, nodes, depth, seconds.
      policy: the distribution from which the search draws its action; None if it states none.
    """

    action: int
    value: float
    unit: ValueUnit = ValueUnit.UTILITY
    visits: Mapping[int, int] = field(default_factory=dict)
    values: Mapping[int, float] = field(default_factory=dict)
    pv: tuple[int, ...] = ()
    resign: bool = False
    statistics: Mapping[str, Json] = field(default_factory=dict)
    policy: Mapping[int, float] | None = None


def visit_policy(visits: Mapping[int, int], temperature: float) -> dict[int, float]:
    """Return probabilities in proportion to visits ** (1 / temperature), of a positive one."""
    most = max(visits.values())
    weights = {action: (count / most) ** (1 / temperature) for action, count in visits.items()}
    total = sum(weights.values())
    return {action: weight / total for action, weight in weights.items()}


@runtime_checkable
class Search(Protocol):
    """Chooses an action in a game of perfect information. Its budget is among its parameters.

    A game may register a compiled search of its own under the name of a generic one.
    """

    def new_game(self, seed: int) -> None:
        """Forget everything and seed the randomness."""

    def advance(self, action: int) -> None:
        """Follow an action of the game, so that a tree can be kept. May do nothing.

        The actions of a decision that several players take at once come in player order.
        """

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for the player to move; the state is not changed.

        After `seconds` of wall time an answer must be there whatever the budget; None for no such
        limit. A search that it stops is not reproducible. Raises `GameError` unless a player is to
        move.
        """

    def close(self) -> None:
        """Release processes, files and memory. Called once, after the last search."""


@runtime_checkable
class PonderingSearch(Search, Protocol):
    """A search that can use the time in which other players think."""

    def ponder(self, state: State, stop: Callable[[], bool]) -> None:
        """Prepare for what may follow a state until `stop` returns true; see `Agent.ponder`."""


@runtime_checkable
class ClockedSearch(Search, Protocol):
    """A search that decides itself how much of a clock's time a move is worth."""

    def search_on_clock(self, state: State, clock: ClockReading) -> SearchResult:
        """Return what `search` does, under a time control. Takes the place of `search` there."""


@runtime_checkable
class AnalysingSearch(Search, Protocol):
    """A search that can say more about a position than its decision takes."""

    def analyse(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return what `search` does, with what `Agent.judge` says of scores in its statistics."""


@runtime_checkable
class SimultaneousSearch(Search, Protocol):
    """A search for games in which players act at once, too."""

    def search_as(self, state: State, player: int, *, seconds: float | None = None) -> SearchResult:
        """Return what is best for one of the acting players, else as `search`."""


@runtime_checkable
class Evaluator(Protocol):
    """Values and priors of states, in batches from the start; a single state is a batch of one.

    A search asks for states in which players are to move, never for finished games or chance nodes.
    Where several act at once, its priors are not used. An evaluator that draws random numbers is
    also `Seedable`.
    """

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return utilities as float64 of shape (len(states), num_players), in player order."""

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        """Return for each state probabilities over its `legal_actions()`, in that order."""


@runtime_checkable
class InPlaceEvaluator(Evaluator, Protocol):
    """An evaluator that is faster when the states are its own to change, such as a playout."""

    def evaluate_in_place(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return what `evaluate` does; the states are left anywhere."""


@runtime_checkable
class Seedable(Protocol):
    """An evaluator with randomness."""

    def seed(self, seed: int) -> None:
        """Seed all randomness and forget what came before.

        A search calls this in `Search.new_game`, with a seed derived from the game's.
        """


def require_perfect_information(game: Game, *, search: str) -> None:
    """Raise `HiddenInformationError` when the game hides anything from its players."""
    if not game.info.perfect_information:
        raise HiddenInformationError(
            f"{search}: {game.info.title} hides information, and this search would look at it; "
            "ismcts, pimc and belief-minimax search over what a player knows"
        )


def require_two_player_constant_sum(game: Game, *, search: str) -> None:
    """Raise `UnsuitableGameError` unless one player's gain is the other's loss."""
    info = game.info
    if info.num_players != 2:
        raise UnsuitableGameError(
            f"{search}: {info.title} has {info.num_players} players, this search handles two; "
            "mcts handles any number"
        )
    if info.utility_sum is None:
        raise UnsuitableGameError(
            f"{search}: the utilities of {info.title} have no constant sum, which this search "
            "needs; mcts does without"
        )


def require_turns(game: Game, *, search: str) -> None:
    """Raise `UnsuitableGameError` when players may act at once."""
    if game.info.simultaneous:
        raise UnsuitableGameError(
            f"{search}: in {game.info.title} players act at once, which this search does not "
            "handle; mcts does where nothing is hidden, ismcts elsewhere"
        )


def require_decision(state: State) -> int:
    """Return the player to move.

    Raises `GameError` if the game is over, or chance or several players act next.
    """
    player = state.current_player()
    if player >= 0:
        return player
    if player == Player.SIMULTANEOUS:
        raise GameError(
            f"{state.game.info.title}: the players {list(state.acting_players())} act at once; "
            f"search for one of them:\n{state}"
        )
    why = "the game is over" if player == Player.TERMINAL else "chance acts next"
    raise GameError(f"{state.game.info.title}: there is nothing to search, {why}:\n{state}")


def require_actor(state: State, player: int) -> None:
    """Raise `GameError` unless the player acts next, alone or with others."""
    if player not in state.acting_players():
        raise GameError(
            f"{state.game.info.title}: player {player} does not act here, so there is nothing to "
            f"search for it:\n{state}"
        )


def deadline_after(*seconds: float | None) -> float:
    """Return the `time.monotonic` at which the shortest of the times is over; infinity for none."""
    limits = [s for s in seconds if s is not None]
    return time.monotonic() + min(limits) if limits else math.inf
