"""The rules of observations, beliefs and resampling in games that hide information.

Observations must be plain data, complete in games of perfect information, and free of leaks. A
*world* is a state that is consistent with all observations of a player. A belief must contain the
true state and only worlds of the player's information state; its draws must not depend on which of
them is true.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeAlias

from miai.errors import BeliefTooLargeError, EmptyBeliefError
from miai.game import Game, Observation, Player, State
from miai.information import (
    BeliefState,
    EnumeratedBelief,
    ObservationMatch,
    PlayerView,
    Worlds,
    world_weights,
)
from miai.public import PublicPartsState, private_part, public_part
from miai.testing.findings import Findings, shown
from miai.testing.snapshot import text_of

HIDDEN_ACTIONS = (
    "what it may do depends on what is hidden from it, so bounds on beliefs (B1) fail and belief "
    "search refuses the game; allow an action in all states of an information state, and refuse "
    "it where it cannot be taken"
)
"""Reason and remedy for legal actions that differ within an information state."""


class Track:
    """A state with digests of all observations of each player on the way to it.

    Attributes:
      state: the state; it moves on by `apply`.
      observed: one digest per player, equal exactly when the observations are.
      bare: the same, the legal actions left out.
      public: a digest of the public parts.
      parts: the public part of the last transition, and each player's private one.
    """

    def __init__(self, game: Game, actions: Sequence[int] = ()) -> None:
        self.state = game.new_initial_state()
        players = game.num_players()
        # Digests, chained: a check keeps thousands of positions, each with its whole past.
        self.observed = [b""] * players
        self.bare = [b""] * players
        self.public = b""
        self._note()
        for action in actions:
            self.apply(action)

    def apply(self, action: int) -> None:
        """Take an action, and digest the observations of it."""
        self.state.apply_action(action)
        self._note()

    def child(self, action: int) -> Track:
        """Return a copy that took the action."""
        track = object.__new__(Track)
        track.state = self.state.child(action)
        track.observed, track.bare = self.observed.copy(), self.bare.copy()
        track.public = self.public
        track._note()
        return track

    def _note(self) -> None:
        players, shared = range(len(self.observed)), public_part(self.state)
        self.parts = shared, [private_part(self.state, player) for player in players]
        if shared is not None:
            self.public = _chained(self.public, repr(shared))
        for player in players:
            observation = self.state.observation(player)
            if isinstance(observation, Observation):
                bare = replace(observation, legal_actions=())
                self.observed[player] = _chained(self.observed[player], text_of(observation))
                self.bare[player] = _chained(self.bare[player], text_of(bare))


def _chained(digest: bytes, text: str) -> bytes:
    return blake2b(digest + text.encode("utf-8", "backslashreplace"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class _Entry:
    """What one player had, in the first position seen of an information state."""

    string: str
    observed: bytes
    bare: bytes
    public: bytes
    legal: tuple[int, ...]
    tensor: bytes
    actions: tuple[int, ...]


class InformationIndex:
    """Compares all positions that are in one information state of a player.

    The information state is taken twice: by its string and by the player's observations. If one is
    equal and the other is not, the game reveals in one what it hides in the other.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._by_string: dict[tuple[int, str], _Entry] = {}
        self._by_observed: dict[tuple[int, bytes], _Entry] = {}
        self._by_parts: dict[tuple[int, str], tuple[str, list[int]]] = {}

    def add(self, track: Track) -> None:
        """Compare a position with all that were added before."""
        self._states_parts = isinstance(track.state, PublicPartsState)
        for player in range(track.state.game.num_players()):
            entry = _entry(track, player)
            self._compare_by_string(player, entry)
            self._compare_by_observed(player, entry)
            self._compare_by_parts(player, track)

    def _compare_by_parts(self, player: int, track: Track) -> None:
        text, actions = text_of(track.state.observation(player)), track.state.history()
        key = player, repr((track.parts[0], track.parts[1][player]))
        other, earlier = self._by_parts.setdefault(key, (text, actions))
        if other != text:
            message = f"player {player}'s parts {shown(key[1])} are those after {earlier}, too, "
            message += f"but the observation {shown(text)} is not {shown(other)}"
            self._findings.add("private-part", message, actions)

    def _compare_by_string(self, player: int, new: _Entry) -> None:
        # The first entry stands for all that agreed with it.
        old = self._by_string.setdefault((player, new.string), new)
        if old.observed == new.observed:
            return
        where = f"player {player}'s {shown(new.string)}, after {list(old.actions)} too"
        if old.bare == new.bare:
            here, there = shown(list(new.legal)), shown(list(old.legal))
            message = f"legal actions {here} are not {there} of {where}: {HIDDEN_ACTIONS}"
            self._findings.add("legal-actions-leak", message, new.actions)
        else:
            message = f"the observations differ in one information state: {where}"
            self._findings.add("observation-leak", message, new.actions)

    def _compare_by_observed(self, player: int, new: _Entry) -> None:
        old = self._by_observed.setdefault((player, new.observed), new)
        where = f"player {player} has the same observations after {list(old.actions)}"
        if old.string != new.string:
            message = f"{shown(new.string)} is not {shown(old.string)}, but {where}"
            self._findings.add("information-string-leak", message, new.actions)
        if old.public != new.public:
            message = f"the public parts differ, but {where}"
            if self._states_parts:
                self._findings.add("public-part", message, new.actions)
            elif "public-part" not in self._findings.skip:
                self._findings.note_skipped(
                    "public parts: players observe the same by coincidence, so miai.public derives "
                    "too much; let the state define public_part() and private_part()"
                )
        if old.tensor != new.tensor:
            message = f"the tensors differ, but {where}"
            self._findings.add("tensor-leak", message, new.actions)
        if old.legal != new.legal:
            here, there = shown(list(new.legal)), shown(list(old.legal))
            message = f"legal actions {here} are not {there}, but {where}: {HIDDEN_ACTIONS}"
            self._findings.add("legal-actions-leak", message, new.actions)


def _entry(track: Track, player: int) -> _Entry:
    state = track.state
    has_tensor = bool(state.game.observation_tensor_shape())
    return _Entry(
        state.information_state_string(player),
        track.observed[player],
        track.bare[player],
        track.public,
        tuple(state.legal_actions_of(player)),
        state.observation_tensor(player).tobytes() if has_tensor else b"",
        tuple(state.history()),
    )


@dataclass(frozen=True, slots=True)
class Transition:
    """The actions of one transition by actor, and whether its players took them at once."""

    actions: Mapping[int, int]
    joint: bool


def check_observations(
    state: State, views: Sequence[PlayerView], *, findings: Findings, last: Transition | None
) -> None:
    """Check the observations of the last transition, and pass them on to the players' views.

    `last` says who acted and how; it is None at the initial state, and where others have yet to act
    at the same time.
    """
    for player, view in enumerate(views):
        observation = state.observation(player)
        if observation is not None and not isinstance(observation, Observation):
            message = f"observation({player}) is a {type(observation).__name__}"
            findings.add("observation", message, state.history())
            continue
        if observation is not None:
            for problem in _problems_of_data(player, state):
                findings.add("observation-plain", problem, state.history())
            view.observe(observation)
        for problem in _problems(state, view, observation, last):
            findings.add("observation", problem, state.history())


def _problems(
    state: State, view: PlayerView, observation: Observation | None, last: Transition | None
) -> Iterator[str]:
    player = view.player
    if observation is not None and observation.player != player:
        yield f"observation({player}) says that it is for player {observation.player}"
    if observation is not None and state.pending_actions():
        yield f"player {player} observes an action that others have yet to answer: {observation}"
    due = tuple(state.legal_actions_of(player))
    if tuple(view.legal_actions) != due:
        yield (
            f"the last observation of player {player} lists the legal actions "
            f"{view.legal_actions}, not {due}"
        )
    own = None if last is None else last.actions.get(player)
    if last is None or own is None:
        return
    actor = Player.SIMULTANEOUS if last.joint else player
    if observation is None or (observation.actor, observation.action) != (actor, own):
        yield f"player {player} does not observe its own action {own}: {observation}"
    elif observation.actions and not set(enumerate(observation.actions)) <= {
        (each, action)
        for each in range(len(observation.actions))
        for action in (None, last.actions.get(each))
    }:
        yield f"player {player} observes actions that nobody took: {observation}"


def _problems_of_data(player: int, state: State) -> Iterator[str]:
    observation = state.observation(player)
    for name in ("player", "actor", "action", "data", "legal_actions", "actions"):
        value = getattr(observation, name)
        if problem := plain_problem(int(value) if isinstance(value, Player) else value):
            yield f"{name} of observation({player}) holds {problem}"
    # An observation belongs to its receiver: emptying it does not change the state.
    before = text_of(observation)
    if observation is not None and isinstance(observation.data, (dict, list)):
        observation.data.clear()
        if text_of(state.observation(player)) != before:
            own = type(observation.data)
            yield f"data of observation({player}) is the state's own {own}; tell a copy"


def plain_problem(value: object, *, depth: int = 32) -> str:
    """Return what in `value` is not plain data (what JSON can hold); empty when all is."""
    if value is None or type(value) in (bool, int, str):
        return ""
    if type(value) is float:
        return "" if math.isfinite(value) else f"{value}, which JSON cannot hold"
    if depth == 0:
        return "containers nested too deep"
    if isinstance(value, Mapping):
        if any(type(key) is not str for key in value):
            return f"keys that are not texts: {shown(list(value))}"
        parts = list(value.values())
    elif type(value) in (list, tuple):
        parts = list(value)  # type: ignore[call-overload]  # a sequence now
    else:
        return f"a {type(value).__module__}.{type(value).__qualname__}"
    return next(filter(None, (plain_problem(part, depth=depth - 1) for part in parts)), "")


class PartingBelief(EnumeratedBelief):
    """Every world, and beside them the states that the last list of legal actions ruled out.

    A player observes its legal actions, which rules out worlds with other legal actions. If its
    information state does not distinguish those worlds, its legal actions depend on hidden parts.
    `parted` are the states that explain all observations but for the last legal actions.
    """

    parted: tuple[State, ...] = ()

    def _advance(
        self, worlds: Worlds | None, target: ObservationMatch, *, work: int | None = None
    ) -> Worlds:
        alike = super()._advance(worlds, _MatchWithoutActions(target.observation), work=work)
        successors, parted = {}, []
        for key, (state, weight) in alike.items():
            observation = state.observation(self.player)
            if observation is not None and target.matches(observation):
                successors[key] = state, weight
            else:
                parted.append(state)
        self.parted = tuple(parted)
        return successors


class _MatchWithoutActions(ObservationMatch):
    """Compares observations but for the legal actions."""

    __slots__ = ()

    def matches(self, other: Observation) -> bool:
        return super().matches(replace(other, legal_actions=self.observation.legal_actions))


DRAWS = 40
"""Worlds drawn in one position before the true one every time is called a leak.

An honest resampler that takes the true world with probability q is accused there with probability
q**40: under 1e-12 for one of two equal worlds, under 2e-9 for q = 0.6, 1.3e-4 for q = 0.8.
"""

SAMPLED_WORLDS = 8
"""Maximum number of worlds of one belief that are compared with the true state."""

RESAMPLED_POSITIONS = 200
"""Maximum number of positions of one check in which worlds are drawn."""

BeliefFactory: TypeAlias = Callable[[Game, int], BeliefState[State]]
"""Builds the belief of a player of a game, before anything was observed."""


class BeliefChecker:
    """Follows a player's belief through one game; the view observes before the belief does."""

    def __init__(self, view: PlayerView, factory: BeliefFactory, findings: Findings) -> None:
        self.view = view
        self._findings = findings
        self._belief: BeliefState[State] | None = factory(view.game, view.player)

    def observe(self, observation: Observation, state: State) -> None:
        """Pass an observation to the belief; the true state must be among its worlds."""
        if self._belief is None:
            return
        player = self.view.player
        try:
            self._belief.observe(observation)
        except BeliefTooLargeError as error:
            self._belief = None
            self._findings.note_skipped(f"beliefs that grow too large: {error}")
        except EmptyBeliefError as error:
            self._belief = None
            message = f"the belief of player {player} is empty: {error}"
            self._findings.add("belief", message, state.history())
        else:
            if not self._holds(state):
                message = f"the true state is not among player {player}'s {len(self._belief)}"
                self._findings.add("belief", f"{message} worlds", state.history())
            weights = world_weights(self._belief)
            if len(weights) != len(self._belief) or abs(sum(map(abs, weights)) - 1) > 1e-6:
                message = f"weights are not the probabilities of {len(self._belief)} worlds: "
                self._findings.add("belief", message + shown(weights), state.history())
            self._compare_actions(state)

    def _compare_actions(self, state: State) -> None:
        """Compare the legal actions with those of all worlds in the same information state."""
        player = self.view.player
        legal, text = state.legal_actions_of(player), state.information_state_string(player)
        if not legal:
            return
        worlds = [world for world in self._belief or () if world.history()]
        if isinstance(self._belief, PartingBelief):
            parted = self._belief.parted
            worlds += [w for w in parted if w.information_state_string(player) == text]
        for world in worlds:
            if (others := world.legal_actions_of(player)) not in ([], legal):
                here, there = shown(legal), shown(others)
                message = (
                    f"player {player} has the legal actions {here}, but {there} after "
                    f"{world.history()}, in the same information state: {HIDDEN_ACTIONS}"
                )
                self._findings.add("legal-actions-leak", message, state.history())
                return

    def _holds(self, state: State) -> bool:
        """Ask the belief, which may know better than by keys what it leaves out of its worlds."""
        if isinstance(self._belief, Container):
            return state in self._belief
        return state.key() in self.keys()

    def keys(self) -> set[Hashable]:
        """Return the keys of all worlds; empty after the belief was given up."""
        return {world.key() for world in self._belief or ()}

    def compare_worlds(self, track: Track, index: InformationIndex, rng: random.Random) -> None:
        """Compare a sample of the worlds with the true state, all in one information state."""
        worlds = list(self._belief or ())
        if len(worlds) < 2:
            return
        self._findings.beliefs += 1
        player = self.view.player
        for world in rng.sample(worlds, min(SAMPLED_WORLDS, len(worlds))):
            if track.state.history() and not world.history():
                self._compare_made(world, track)
                continue
            replayed = Track(self.view.game, world.history())
            if replayed.observed[player] != track.observed[player]:
                message = (
                    f"in the world {shown(str(world))}, after {world.history()}, player {player} "
                    "would have other observations"
                )
                self._findings.add("belief", message, track.state.history())
            index.add(replayed)

    def _compare_made(self, world: State, track: Track) -> None:
        """Compare a world without a history, which a belief set up by itself."""
        state, player = track.state, self.view.player
        if world.current_player() != state.current_player():
            message = f"the world {shown(str(world))} has somebody else to move"
        elif world.legal_actions_of(player) != state.legal_actions_of(player):
            message = f"in the world {shown(str(world))} player {player} has other legal actions"
        else:
            return
        self._findings.add("belief", message, state.history())

    def check_resampling(self, state: State, rng: random.Random) -> None:
        """Draw worlds at the player's turn until one is not the true one; only true ones leak."""
        if self._belief is None or len(keys := self.keys()) < 2:
            return
        weights = zip(self._belief, world_weights(self._belief), strict=False)
        if sum(weight for world, weight in weights if world.key() == state.key()) > 0.6:
            return  # as probable as that, it may be drawn every time
        before, actions = state.serialize(), state.history()
        for _ in range(DRAWS):
            world = self._belief.sample(rng)
            if world.key() not in keys:
                message = f"drew a state that is not a world of player {self.view.player}: {world}"
                self._findings.add("resampling", message, actions)
                return
            other = world.key() != state.key()
            world.apply_action(rng.choice(world.legal_actions()))
            if state.serialize() != before:
                message = "every drawn state is the true state"
                self._findings.add("resampling-leak", message, actions)
                return
            if other:
                return
        message = f"{DRAWS} draws out of {len(keys)} worlds were the true one every time"
        self._findings.add("resampling-leak", message, actions)
