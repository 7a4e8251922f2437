"""A player's information: views and beliefs.

A *world* is a state that is consistent with all observations of a player. A belief is the set of
the player's worlds with their probabilities, and draws one of them without seeing the true state.
The belief ``enumerated`` works for every small game, and ``sampled`` for larger ones.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from miai.drawn import Drawn
from miai.errors import BeliefTooLargeError, EmptyBeliefError, HiddenInformationError
from miai.game import Game, Observation, Player, State
from miai.plain import Json, dumps, to_plain

__all__ = [
    "BeliefState",
    "BeliefTooLargeError",
    "EmptyBeliefError",
    "EnumeratedBelief",
    "ObservationMatch",
    "PlayerView",
    "Policy",
    "SampledBelief",
    "Worlds",
    "joint_actions",
    "observation_key",
    "world_weights",
]

StateT_co = TypeVar("StateT_co", bound=State, covariant=True)


class PlayerView(Drawn):
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
    """The worlds that a player considers possible.

    A belief whose worlds are not equally probable has the attribute `weights`; see `world_weights`.
    """

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain the observation. Raises `EmptyBeliefError` if none does."""

    def sample(self, rng: random.Random) -> StateT_co:
        """Return a copy of one world, drawn by its probability."""

    def __iter__(self) -> Iterator[StateT_co]:
        """Iterate over the worlds, which must not be changed."""

    def __len__(self) -> int:
        """Return the number of worlds."""


def world_weights(belief: BeliefState[State]) -> Sequence[float]:
    """Return the probabilities of the worlds, in their order; equal if there are no `weights`."""
    weights: Sequence[float] | None = getattr(belief, "weights", None)
    return [1 / len(belief) for _ in belief] if weights is None else weights


Policy: TypeAlias = Callable[[State], Sequence[float]]
"""Probabilities of the legal actions of who acts next in a state, in their order."""

Worlds: TypeAlias = dict[Hashable, tuple[State, float]]
"""Worlds with their weights, by key."""

Ways: TypeAlias = dict[Hashable, list[tuple[Hashable, float, bool]]]
"""From each position the next ones, with probabilities, and whether the player notices."""

_NOISE = 0.02  # of an action at random: a policy that is wrong must not rule out a possible world
_ROUNDS = 1000  # unobserved transitions in a row that are weighed, at most
_NEGLIGIBLE = 1e-12  # share of the weight that may be left to go round in unobserved circles


class EnumeratedBelief:
    """A belief that holds every world with its probability, for small games of any kind.

    An observation advances every world over all actions of the others and outcomes of chance,
    through any number of transitions that the player does not notice, to a transition with this
    observation. Worlds with equal keys are merged: their futures are the same, and their
    probabilities add up.

    The probability of a world is that of its histories, given the observations: the product of
    chance's probabilities and of the others' actions under `policy`, mixed with 2 % of random
    actions, so that it rules nothing out. The player's own actions are certain.

    The worlds are those just after the player's last observation, without later transitions that
    the player does not notice; on its own turn there are none.

    This relies on two properties of games, which `miai.testing.check_game` checks: equal keys mean
    equal futures, and a player observes its own actions when it takes them.

    Attributes:
      game, player: the game, and the player whose belief it is.
      limit: maximum number of worlds, also while expanding.
      policy: how the others act; None for uniformly random actions.
      weights: the probabilities of the worlds, in their order.
      generated: number of positions generated so far.
    """

    def __init__(
        self, game: Game, player: int, *, limit: int = 1_000_000, policy: Policy | None = None
    ) -> None:
        self.game, self.player, self.limit, self.policy = game, player, limit, policy
        self.generated = 0
        self._hold({})

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain the observation.

        Raises `EmptyBeliefError` or `BeliefTooLargeError`, and then keeps the belief unchanged.
        """
        worlds = self._advance(self._worlds or None, ObservationMatch(observation))
        if not worlds:
            raise EmptyBeliefError(
                f"{self.game.info.title}: no world explains the observation of player "
                f"{self.player}: {observation}; a belief needs all observations, in order"
            )
        self._hold(worlds)

    def sample(self, rng: random.Random) -> State:
        """Return a copy of a world, drawn by its weight. Raises `EmptyBeliefError` without any."""
        if not self._order:
            raise EmptyBeliefError(
                f"{self.game.info.title}: player {self.player} has observed nothing, or none of "
                "the drawn worlds explains its observations; then raise the limit"
            )
        if self._sums is None:
            return self._order[rng.randrange(len(self._order))].clone()
        number = bisect(self._sums, rng.random() * self._sums[-1])
        return self._order[min(number, len(self._order) - 1)].clone()

    def __iter__(self) -> Iterator[State]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, state: State) -> bool:
        return state.key() in self._worlds

    def _hold(self, worlds: Worlds) -> None:
        self._worlds = _normalised(worlds)
        self._order = [state for state, _ in self._worlds.values()]
        self.weights = [weight for _, weight in self._worlds.values()]
        equal = not self.weights or min(self.weights) > (1 - 1e-9) * max(self.weights)
        self._sums = None if equal else list(accumulate(self.weights))

    def _advance(
        self, worlds: Worlds | None, target: ObservationMatch, *, work: int | None = None
    ) -> Worlds:
        """Return the worlds after the next observed transition, which must match the target.

        Without worlds, begin. Raises `BeliefTooLargeError` if there are more than `limit` worlds
        or, with `work`, if more positions than that are generated.
        """
        player, stop = self.player, self.generated + (work or 0)
        if worlds is None:
            start = self.game.new_initial_state()
            worlds = {start.key(): (start, 1.0)}
            if (first := start.observation(player)) is not None:
                return worlds if target.matches(first) else {}
        successors: dict[Hashable, State] = {}
        ways: Ways = {}
        frontier = [(key, state) for key, (state, _) in worlds.items()]
        unobserved = set(worlds)
        while frontier:
            origin, state = frontier.pop()
            onwards = ways[origin] = []
            for action, probability in self._outcomes(state, target.observation):
                self.generated += 1
                child = state.clone()
                child.apply_unchecked(action)
                observation = child.observation(player)
                if observation is None:
                    # Each position that the player does not notice is expanded once, however it is
                    # reached.
                    if (key := child.key()) not in unobserved:
                        unobserved.add(key)
                        frontier.append((key, child))
                    onwards.append((key, probability, False))
                elif target.matches(observation):
                    successors.setdefault(key := child.key(), child)
                    onwards.append((key, probability, True))
            # While expanding: what the player does not notice may grow without end before it ends.
            held = len(successors) + len(unobserved)
            if held > self.limit if work is None else self.generated > stop:
                raise BeliefTooLargeError(
                    f"{self.game.info.title}: more than {self.limit} worlds; raise the limit "
                    "or use a belief made for this game"
                )
        weights = _path_weights({key: weight for key, (_, weight) in worlds.items()}, ways)
        return {key: (state, weights.get(key, 0.0)) for key, state in successors.items()}

    def _outcomes(self, state: State, observation: Observation) -> Sequence[tuple[int, float]]:
        """Return the next actions that may have led to an observation, with probabilities.

        A player observes its own action when it takes it, so its others need not be tried. Where
        several players act at once, the actions are those of the next of them.
        """
        if (actor := state.next_actor()) == Player.CHANCE:
            return state.chance_outcomes()
        if actor == self.player:
            own = observation.action if observation.actor == state.current_player() else None
            return [] if own is None or not state.is_legal(own) else [(own, 1.0)]
        actions = state.legal_actions()
        if self.policy is None or not actions:
            return [(action, 1 / len(actions)) for action in actions]
        chosen = zip(actions, self.policy(state), strict=True)
        return [(action, (1 - _NOISE) * p + _NOISE / len(actions)) for action, p in chosen]


def _path_weights(layer: dict[Hashable, float], ways: Ways) -> dict[Hashable, float]:
    """Return the weights of the ends of all ways from some positions of given weights."""
    weights: dict[Hashable, float] = {}
    # Paths of different lengths meet, and circles close, so positions have several turns.
    for _ in range(_ROUNDS):
        after: dict[Hashable, float] = {}
        for origin, weight in layer.items():
            for key, probability, ends in ways[origin]:
                sums = weights if ends else after
                sums[key] = sums.get(key, 0.0) + weight * probability
        if not after or sum(after.values()) <= _NEGLIGIBLE * sum(weights.values()):
            break
        layer = after
    return weights


def _normalised(worlds: Worlds) -> Worlds:
    """Return worlds whose weights sum to one; equal ones if no weight is left."""
    total = math.fsum(weight for _, weight in worlds.values())
    return {
        key: (state, weight / total if total else 1 / len(worlds))
        for key, (state, weight) in worlds.items()
    }


def _merge(worlds: Worlds, others: Worlds) -> None:
    """Add worlds to others; the weights of equal ones add up."""
    for key, (state, weight) in others.items():
        worlds[key] = state, weight + (worlds[key][1] if key in worlds else 0.0)


class SampledBelief(EnumeratedBelief):
    """A belief of at most `limit` worlds, for games with more worlds than can be held.

    Up to the limit it is an `EnumeratedBelief`. Beyond it, it is a particle filter: worlds drawn by
    their weights play on until the player observes something; of those that explain the observation
    equal ones are merged. When none is left, the belief is built again with other draws since it
    was complete, a few times; after that it is empty until the next attempt succeeds.

    Beside it the enumeration goes on, the latest observations first, while it finds no more than
    `limit` worlds. When it ends, the belief is complete again. It is given up when more than 50
    times `limit` worlds (10,000 at least) wait for it.

    Draws depend on the seed and the observations alone, so the same game gives the same belief.

    Args:
      attempts: how often a belief that was lost is built again after an observation.

    Attributes:
      limit: maximum number of worlds that are kept.
      complete: whether the worlds are all that explain the observations.
      rebuilt: how often it was built again.
    """

    def __init__(
        self,
        game: Game,
        player: int,
        *,
        limit: int = 1000,
        attempts: int = 3,
        policy: Policy | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, player, limit=limit, policy=policy)
        self.attempts, self.rebuilt, self.complete = attempts, 0, True
        self._rng = random.Random(seed)
        self._targets: list[ObservationMatch] = []
        start = game.new_initial_state()
        # The last complete worlds, and after how many observations; and the worlds that wait, by
        # the number of observations since.
        self._known: tuple[int, Worlds] = 0, {start.key(): (start, 1.0)}
        self._waiting = [dict(self._known[1])]

    def observe(self, observation: Observation) -> None:
        """Keep worlds that explain the observation; there may be none, see `__len__`."""
        number, before = len(self._targets), self.generated
        self._targets.append(ObservationMatch(observation))
        if self._waiting:
            self._waiting.append({})
        if self.complete and self._enumerate(_EXPANDED * self.limit):
            return
        self.complete = False
        worlds = self._filtered(self._worlds if number else self._known[1], number)
        for _ in range(self.attempts):
            if worlds:
                break
            self.rebuilt += 1
            earlier, worlds = self._known
            while worlds and earlier <= number:
                worlds, earlier = self._filtered(worlds, earlier), earlier + 1
        self._hold(worlds)
        self._enumerate(self.generated - before)  # takes as long again

    def _enumerate(self, work: int) -> bool:
        """Continue the enumeration by about `work` positions; hold its worlds if it ends."""
        work, first = max(work, _LEAST), self._known[0]
        stop, waiting = self.generated + work, self._waiting
        while waiting and len(waiting[-1]) <= self.limit:
            number = next((n for n in range(len(waiting) - 2, -1, -1) if waiting[n]), None)
            if number is None:
                self._hold(waiting[-1])
                self.complete, self._known = True, (len(self._targets), self._worlds)
                self._waiting = [dict(self._worlds)]
                return True
            if self.generated > stop:
                break
            layer, target = waiting[number], self._targets[first + number]
            part = dict(layer.popitem() for _ in range(min(_PART, len(layer))))
            try:
                after = self._advance(part if first + number else None, target, work=work)
                _merge(waiting[number + 1], after)
            except BeliefTooLargeError:
                waiting.clear()
        if sum(map(len, waiting)) > max(_EXPANDED * self.limit, 10_000):
            waiting.clear()
        return False

    def _filtered(self, worlds: Worlds, number: int) -> Worlds:
        """Return at most `limit` worlds that explain an observation, drawn from those before it."""
        target, before, found = self._targets[number], self.generated, 0
        enough, stop = before + _DRAWN * self.limit, before + _EXPANDED * self.limit
        kept: Worlds = {}
        while worlds and found < self.limit and self.generated < (enough if found else stop):
            for state in self._resampled(worlds):
                child = self._played(state, target, stop) if found < self.limit else None
                if child is not None:
                    _merge(kept, {child.key(): (child, 1.0)})
                    found += 1
        return _normalised(kept)

    def _resampled(self, worlds: Worlds) -> Iterator[State]:
        """Yield `limit` worlds by their weights, in random order: systematic resampling."""
        point, total = self._rng.random(), 0.0
        for state, weight in self._rng.sample(list(worlds.values()), len(worlds)):
            total += weight * self.limit
            while point < total:
                yield state
                point += 1

    def _played(self, state: State, target: ObservationMatch, stop: int) -> State | None:
        """Play a copy of a world on at random until an observation; None if it is another."""
        child, seen = state.clone(), None
        while seen is None and self.generated < stop:
            self.generated += 1
            if not (outcomes := self._outcomes(child, target.observation)):
                return None
            actions, probabilities = zip(*outcomes, strict=True)
            child.apply_unchecked(self._rng.choices(actions, probabilities)[0])
            seen = child.observation(self.player)
        return child if seen is not None and target.matches(seen) else None


_EXPANDED = 50  # positions generated for each world that is kept, at most
_DRAWN = 10  # the same, once a world explains the observation
_LEAST = 2000  # positions by which the enumeration goes on, at least
_PART = 100  # worlds that are expanded together, so that their successors are merged early


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


def observation_key(observation: Observation) -> Hashable:
    """Return an observation as a key; equal where only the containers of its data differ."""
    data = None if observation.data is None else dumps(_plain(observation.data))
    return observation.actor, observation.action, tuple(observation.actions), data


def _plain(data: Json) -> Json:
    return None if data is None else to_plain(data, what="the data of an observation")
