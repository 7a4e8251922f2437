"""A player's information: views, beliefs and determinizers.

A *world* is a state that is consistent with all observations of a player. A belief is the set of a
player's worlds; a determinizer draws one of them without seeing the true state. The belief
``enumerated`` serves all small games.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from miai.errors import BeliefTooLargeError, EmptyBeliefError, HiddenInformationError
from miai.game import Game, Observation, State
from miai.plain import Json, to_plain

__all__ = [
    "BeliefState",
    "BeliefTooLargeError",
    "Determinizer",
    "EmptyBeliefError",
    "EnumeratedBelief",
    "EnumeratingDeterminizer",
    "PlayerView",
]

StateT_co = TypeVar("StateT_co", bound=State, covariant=True)


class PlayerView:
    """All observations of one player in one game, and nothing else.

    Attributes:
      game: the game; it holds no state.
      player: whose view it is.
      observations: the player's observations, oldest first.
    """

    def __init__(self, game: Game, player: int) -> None:
        self.game = game
        self.player = player
        self.observations: list[Observation] = []
        self._state = game.new_initial_state() if game.info.perfect_information else None

    @classmethod
    def at(cls, state: State, player: int) -> PlayerView:
        """Return a player's view of `state`, of which only the last transition was observed.

        Raises:
          HiddenInformationError: the game hides information; a view grows by observations.
        """
        view = cls(state.game, player)
        if view._state is None:
            raise HiddenInformationError(
                f"{state.game.info.name} hides information: a view grows by observations alone"
            )
        view._state = state.clone()
        observation = state.observation(player)
        view.observations = [] if observation is None else [observation]
        return view

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """The player's legal actions now; empty when it is not the player's turn."""
        return self.observations[-1].legal_actions if self.observations else ()

    @property
    def state(self) -> State:
        """The player's own copy of the state, in a game of perfect information.

        Raises:
          HiddenInformationError: the game hides information; use a belief.
        """
        if self._state is None:
            raise HiddenInformationError(
                f"{self.game.info.name} hides information, so a player has no state; "
                "use a belief or a determinizer"
            )
        return self._state

    def observe(self, observation: Observation) -> None:
        """Take in an observation; in a game of perfect information the state follows it."""
        self.observations.append(observation)
        if self._state is not None and observation.action is not None:
            self._state.apply_action(observation.action)


@runtime_checkable
class BeliefState(Protocol[StateT_co]):
    """The set of worlds that a player considers possible."""

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain the observation.

        Raises:
          EmptyBeliefError: no world does.
        """

    def sample(self, rng: random.Random) -> StateT_co:
        """Return a copy of one world, uniformly."""

    def __iter__(self) -> Iterator[StateT_co]:
        """Iterate over the worlds; they are not to be changed."""

    def __len__(self) -> int:
        """Return the number of worlds."""


class Determinizer(Protocol):
    """Draws a world that is consistent with a player's observations."""

    def determinize(self, view: PlayerView, rng: random.Random) -> State:
        """Return a world consistent with the view, never chosen by looking at the true one."""


class EnumeratedBelief:
    """A belief that holds every world, for small games of any kind.

    After each observation every world is played forward, over all actions of others and outcomes
    of chance that tell the player nothing, to the transitions that tell it just this. Worlds with
    equal keys are one: their futures are the same, and of their histories one stands for all.
    Probabilities are not kept: the worlds are the support.

    The worlds are those just after the last thing that the player was told. Whatever others have
    done since in silence is not in them yet; on the player's own turn nothing has.

    It relies on two habits of games, which `miai.testing.check_game` checks: equal keys mean equal
    futures, and a player is told of its own actions when it takes them.

    Attributes:
      game, player: whose belief it is.
      limit: most worlds held, also while expanding.
    """

    def __init__(self, game: Game, player: int, *, limit: int = 1_000_000) -> None:
        self.game = game
        self.player = player
        self.limit = limit
        self._worlds: dict[Hashable, State] = {}
        self._order: list[State] = []  # the same worlds, to draw from

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain the observation.

        Raises:
          EmptyBeliefError: no world does; the belief is left as it was.
          BeliefTooLargeError: more than `limit` worlds; the belief is left as it was.
        """
        told = _Told(observation)
        found = self._advance(self._order, told) if self._worlds else self._begin(told)
        if not found:
            raise EmptyBeliefError(
                f"{self.game.info.name}: no world explains what player {self.player} was told: "
                f"{observation}; give a belief every observation of its player, in order"
            )
        self._worlds = found
        self._order = list(found.values())

    def sample(self, rng: random.Random) -> State:
        """Return a copy of one world, uniformly over the worlds.

        Raises:
          EmptyBeliefError: nothing was observed yet.
        """
        if not self._order:
            raise EmptyBeliefError(
                f"{self.game.info.name}: player {self.player} was told nothing yet; observe first"
            )
        return self._order[rng.randrange(len(self._order))].clone()

    def __iter__(self) -> Iterator[State]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, state: State) -> bool:
        return state.key() in self._worlds

    def _begin(self, told: _Told) -> dict[Hashable, State]:
        """Return the worlds after the first observation."""
        start = self.game.new_initial_state()
        first = start.observation(self.player)
        if first is None:  # the player is not told that the game begins
            return self._advance([start], told)
        return {start.key(): start} if told.is_same(first) else {}

    def _advance(self, worlds: list[State], told: _Told) -> dict[Hashable, State]:
        """Return the worlds one told transition later, any number of untold ones before it."""
        found: dict[Hashable, State] = {}
        frontier = worlds.copy()
        silent = {state.key() for state in frontier}
        while frontier:
            state = frontier.pop()
            for action in self._candidates(state, told.observation):
                child = state.clone()
                child.apply_unchecked(action)
                observation = child.observation(self.player)
                key = child.key()
                if observation is None:
                    if key not in silent:
                        silent.add(key)
                        frontier.append(child)
                elif key not in found and told.is_same(observation):
                    found[key] = child
            if len(found) + len(silent) > self.limit:
                raise BeliefTooLargeError(
                    f"{self.game.info.name}: more than {self.limit} worlds; raise the limit "
                    "or use a belief made for this game"
                )
        return found

    def _candidates(self, state: State, observation: Observation) -> Sequence[int]:
        """Return the actions that may lead to what was told."""
        actor = state.current_player()
        if actor != self.player:
            return state.legal_actions()
        # The player is told of its own action when it takes it; trying the others is in vain.
        action = observation.action
        if observation.actor != actor or action is None or not state.is_legal(action):
            return ()
        return (action,)


class _Told:
    """An observation, and whether another is the same but for the containers of its data.

    What has crossed from one process to another has lists where the game may have had tuples.
    """

    __slots__ = ("_data", "observation")

    def __init__(self, observation: Observation) -> None:
        self.observation = observation
        self._data = _plain(observation.data)

    def is_same(self, other: Observation) -> bool:
        mine = self.observation
        return (
            mine.action == other.action
            and mine.actor == other.actor
            and mine.player == other.player
            and tuple(mine.legal_actions) == tuple(other.legal_actions)
            and self._data == _plain(other.data)
        )


def _plain(data: Json) -> Json:
    return None if data is None else to_plain(data, what="the data of an observation")


class EnumeratingDeterminizer:
    """Draws worlds uniformly through an `EnumeratedBelief`; the default for small games.

    The belief of the last view is kept and carried on by what that view was told since, so that
    drawing many worlds for one turn, and one turn after another, enumerates only what is new. A
    view that was told anything else begins anew: what is drawn depends on the view alone.

    Attributes:
      limit: most worlds held.
    """

    def __init__(self, *, limit: int = 1_000_000) -> None:
        self.limit = limit
        self._belief: EnumeratedBelief | None = None
        self._seen: list[Observation] = []

    def determinize(self, view: PlayerView, rng: random.Random) -> State:
        """Return a world consistent with the view, uniformly; a copy, to be played on.

        Raises:
          EmptyBeliefError: the view was told nothing yet, or its observations contradict each
            other.
          BeliefTooLargeError: more than `limit` worlds.
        """
        belief = self._carried_on(view)
        for observation in view.observations[len(self._seen) :]:
            belief.observe(observation)
            self._seen.append(observation)
        return belief.sample(rng)

    def _carried_on(self, view: PlayerView) -> EnumeratedBelief:
        """Return the retained belief if the view continues it, else a new one."""
        belief = self._belief
        if (
            belief is None
            or belief.game is not view.game
            or belief.player != view.player
            or view.observations[: len(self._seen)] != self._seen
        ):
            belief = EnumeratedBelief(view.game, view.player, limit=self.limit)
            self._belief, self._seen = belief, []
        return belief
