"""A player's information: views and beliefs.

A *world* is a state that is consistent with all observations of a player. A belief is the set of
the player's worlds, and draws one of them without seeing the true state. The belief ``enumerated``
works for every small game, and ``sampled`` for larger ones.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from miai.errors import BeliefTooLargeError, EmptyBeliefError, HiddenInformationError
from miai.game import Game, Observation, Player, State
from miai.plain import Json, to_plain

__all__ = [
    "BeliefState",
    "BeliefTooLargeError",
    "EmptyBeliefError",
    "EnumeratedBelief",
    "ObservationMatch",
    "PlayerView",
    "SampledBelief",
    "joint_actions",
    "successor_actions",
]

T = TypeVar("T")
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
        """Return a player's view of `state` that has observed only the last transition.

        Raises `HiddenInformationError` if the game hides information.
        """
        view = cls(state.game, player)
        if view._state is None:
            raise HiddenInformationError(
                f"{state.game.info.title} hides information: a view follows from observations only"
            )
        view._state = state.clone()
        observation = state.observation(player)
        view.observations = [] if observation is None else [observation]
        return view

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """The player's legal actions; empty if it is not the player's turn."""
        return self.observations[-1].legal_actions if self.observations else ()

    @property
    def state(self) -> State:
        """The player's own copy of the state, in a game of perfect information.

        Raises `HiddenInformationError` in any other.
        """
        if self._state is None:
            raise HiddenInformationError(
                f"{self.game.info.title} hides information, so a player has no state; use a belief"
            )
        return self._state

    def observe(self, observation: Observation) -> None:
        """Add an observation; in a game of perfect information the state follows it."""
        self.observations.append(observation)
        if self._state is None:
            return
        if observation.actor == Player.SIMULTANEOUS:
            self._state.apply_actions(joint_actions(observation))
        elif observation.action is not None:
            self._state.apply_action(observation.action)


@runtime_checkable
class BeliefState(Protocol[StateT_co]):
    """The set of worlds that a player considers possible."""

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain the observation. Raises `EmptyBeliefError` if none does."""

    def sample(self, rng: random.Random) -> StateT_co:
        """Return a copy of one world, uniformly."""

    def __iter__(self) -> Iterator[StateT_co]:
        """Iterate over the worlds, which must not be changed."""

    def __len__(self) -> int:
        """Return the number of worlds."""


class EnumeratedBelief:
    """A belief that holds every world, for small games of any kind.

    An observation advances every world over all actions of the others and outcomes of chance,
    through any number of transitions that the player does not notice, to a transition with this
    observation. Of worlds with equal keys one is kept: their futures are the same. Probabilities
    are not kept.

    The worlds are those just after the player's last observation, without later transitions that
    the player does not notice; on its own turn there are none.

    This relies on two properties of games, which `miai.testing.check_game` checks: equal keys mean
    equal futures, and a player observes its own actions when it takes them.

    Attributes:
      game, player: the game, and the player whose belief it is.
      limit: maximum number of worlds, also while expanding.
    """

    def __init__(self, game: Game, player: int, *, limit: int = 1_000_000) -> None:
        self.game = game
        self.player = player
        self.limit = limit
        self._worlds: dict[Hashable, State] = {}
        self._order: list[State] = []  # the same worlds, to draw from

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain the observation.

        Raises `EmptyBeliefError` or `BeliefTooLargeError`, and then keeps the belief unchanged.
        """
        target = ObservationMatch(observation)
        worlds = self._advance(self._order, target) if self._worlds else self._begin(target)
        if not worlds:
            raise EmptyBeliefError(
                f"{self.game.info.title}: no world explains the observation of player "
                f"{self.player}: {observation}; a belief needs all observations, in order"
            )
        self._worlds = worlds
        self._order = list(worlds.values())

    def sample(self, rng: random.Random) -> State:
        """Return a copy of a random world. Raises `EmptyBeliefError` before any observation."""
        if not self._order:
            raise EmptyBeliefError(
                f"{self.game.info.title}: player {self.player} has observed nothing yet"
            )
        return self._order[rng.randrange(len(self._order))].clone()

    def __iter__(self) -> Iterator[State]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, state: State) -> bool:
        return state.key() in self._worlds

    def _begin(self, target: ObservationMatch) -> dict[Hashable, State]:
        start = self.game.new_initial_state()
        first = start.observation(self.player)
        if first is None:  # the player does not observe the beginning of the game
            return self._advance([start], target)
        return {start.key(): start} if target.matches(first) else {}

    def _advance(self, worlds: list[State], target: ObservationMatch) -> dict[Hashable, State]:
        """Return the worlds after the next observed transition, which must match the target."""
        successors: dict[Hashable, State] = {}
        frontier = worlds.copy()
        unobserved = {state.key() for state in frontier}
        while frontier:
            state = frontier.pop()
            for action in successor_actions(state, self.player, target.observation):
                child = state.clone()
                child.apply_unchecked(action)
                observation = child.observation(self.player)
                key = child.key()
                if observation is None:
                    # Each position that the player does not notice is expanded once, however it is
                    # reached.
                    if key not in unobserved:
                        unobserved.add(key)
                        frontier.append(child)
                elif key not in successors and target.matches(observation):
                    successors[key] = child
            # While expanding: what the player does not notice may grow without end before it ends.
            if len(successors) + len(unobserved) > self.limit:
                raise BeliefTooLargeError(
                    f"{self.game.info.title}: more than {self.limit} worlds; raise the limit "
                    "or use a belief made for this game"
                )
        return successors


class SampledBelief:
    """A belief of at most `limit` worlds, for games with more worlds than can be held.

    Up to the limit it is an `EnumeratedBelief`. Beyond it, worlds drawn at random are kept, and
    after an observation their successors: a particle filter without weights. When no world is left
    that explains an observation, the belief is built again from all observations with other draws,
    a few times; after that it is empty until the next attempt succeeds.

    Draws depend on the observations alone, so the same game gives the same belief.

    Args:
      attempts: how often a belief that was lost is built again after an observation.

    Attributes:
      game, player: the game, and the player whose belief it is.
      limit: maximum number of worlds that are kept.
      rebuilt: how often it was built again.
    """

    def __init__(self, game: Game, player: int, *, limit: int = 1000, attempts: int = 3) -> None:
        self.game, self.player, self.limit, self.attempts = game, player, limit, attempts
        self.rebuilt = 0
        self._observations: list[Observation] = []
        self._rng = random.Random(0)
        self._worlds: list[State] = []

    def observe(self, observation: Observation) -> None:
        """Keep worlds that explain the observation; there may be none, see `__len__`."""
        self._observations.append(observation)
        if self._worlds or len(self._observations) == 1:
            self._worlds = self._next(self._worlds, observation)
        for _ in range(self.attempts):
            if self._worlds:
                return
            self.rebuilt += 1
            for number, earlier in enumerate(self._observations):
                self._worlds = self._next(self._worlds, earlier)
                if not self._worlds and number:
                    break

    def sample(self, rng: random.Random) -> State:
        """Return a copy of a random world. Raises `EmptyBeliefError` if there is none."""
        if not self._worlds:
            raise EmptyBeliefError(
                f"{self.game.info.title}: none of the worlds drawn for player {self.player} "
                "explains its observations; raise the limit of the belief"
            )
        return self._worlds[rng.randrange(len(self._worlds))].clone()

    def __iter__(self) -> Iterator[State]:
        return iter(self._worlds)

    def __len__(self) -> int:
        return len(self._worlds)

    def _next(self, worlds: list[State], observation: Observation) -> list[State]:
        """Return worlds after an observed transition, at most `limit`."""
        target = ObservationMatch(observation)
        if not worlds:
            start = self.game.new_initial_state()
            seen = start.observation(self.player)
            if seen is not None:
                return [start] if target.matches(seen) else []
            worlds = [start]
        explained: dict[Hashable, State] = {}
        # One action of each world in turn, so that what is kept stems from as many as possible.
        frontier = deque(self._untried(world, observation) for world in self._shuffled(worlds))
        for _ in range(_EXPANDED * self.limit):
            if not frontier or len(explained) == self.limit:
                break
            state, actions = frontier.popleft()
            if not actions:
                continue
            child = state.clone()
            child.apply_unchecked(actions.pop())
            frontier.append((state, actions))
            seen = child.observation(self.player)
            if seen is None:
                frontier.append(self._untried(child, observation))
            elif target.matches(seen):
                explained.setdefault(child.key(), child)
        return list(explained.values())

    def _untried(self, world: State, observation: Observation) -> tuple[State, list[int]]:
        return world, self._shuffled(successor_actions(world, self.player, observation))

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))


_EXPANDED = 50  # successors generated for each world that is kept, at most


def successor_actions(state: State, player: int, observation: Observation) -> Sequence[int]:
    """Return the next actions in a world that may have led to a player's observation.

    A player observes its own action when it takes it, so its others need not be tried. Where
    several players act at once, the actions are those of the next of them.
    """
    if state.next_actor() != player:
        return state.legal_actions()
    action = observation.action
    if observation.actor != state.current_player() or action is None or not state.is_legal(action):
        return ()
    return (action,)


def joint_actions(observation: Observation) -> dict[int, int]:
    """Return the actions, by player, that a player observed of several who acted at once."""
    actions = {p: action for p, action in enumerate(observation.actions) if action is not None}
    if observation.action is not None:
        actions[observation.player] = observation.action
    return actions


class ObservationMatch:
    """Compares observations with one that may have crossed to another process.

    Their data counts as equal if only the containers differ: crossing turns tuples into lists.
    """

    __slots__ = ("_data", "observation")

    def __init__(self, observation: Observation) -> None:
        self.observation = observation
        self._data = _plain(observation.data)

    def matches(self, other: Observation) -> bool:
        """Return whether another observation is equal."""
        mine = self.observation
        return (
            mine.action == other.action
            and mine.actor == other.actor
            and mine.player == other.player
            and tuple(mine.legal_actions) == tuple(other.legal_actions)
            and tuple(mine.actions) == tuple(other.actions)
            and self._data == _plain(other.data)
        )


def _plain(data: Json) -> Json:
    return None if data is None else to_plain(data, what="the data of an observation")
