"""The check of a game: random games, and every rule in every position of them.

There are rules about a single position, rules about its future (equal keys have equal futures,
equal actions have equal effects), and the rule that no attribute path from what an agent receives
reaches the hidden state.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from miai.errors import GameError, IllegalActionError, InvalidActionError
from miai.game import Game, GameInfo, Player, State
from miai.information import PlayerView
from miai.testing.agent_checks import random_action
from miai.testing.findings import (
    GAME_RULES,
    ConformanceReport,
    Findings,
    refuse_unknown_rules,
    shown,
)
from miai.testing.leak_checks import (
    RESAMPLED_POSITIONS,
    BeliefChecker,
    BeliefFactory,
    InformationIndex,
    PartingBelief,
    Track,
    Transition,
    check_observations,
)
from miai.testing.snapshot import Snapshot, difference, take_snapshot, text_of

PLIES_ON = 12
"""Plies that positions with equal keys are played on."""

MAX_COMPARED = 500
"""Maximum number of pairs of positions with equal keys that one check plays on."""


class KeyIndex:
    """Compares positions with equal keys by playing both on in the same way."""

    def __init__(self, findings: Findings, *, seed: int) -> None:
        self._findings = findings
        self._rng = random.Random(seed)
        self._states: dict[Hashable, State] = {}
        self._compared = 0

    def add(self, state: State) -> None:
        """Compare a position, which must not change, with the first one that had its key."""
        other = self._states.setdefault(state.key(), state)
        if other.history() != state.history() and self._compared < MAX_COMPARED:
            self._compared += 1
            self._compare(other.clone(), state.clone())

    def _compare(self, one: State, other: State) -> None:
        begin = one.history(), other.history()
        change = difference(_present(one), _present(other))
        for _ in range(PLIES_ON):
            actions = one.legal_actions()
            if change or not actions:
                break
            action = self._rng.choice(actions)
            # Equal keys promise equal futures, so a difference may show only after some plies.
            one.apply_action(action)
            other.apply_action(action)
            change = difference(_present(one) | _observed(one), _present(other) | _observed(other))
        if change:
            message = (
                f"the key is that of {begin[0]}, but after {one.history()[len(begin[0]) :]} more "
                f"{change}"
            )
            self._findings.add("key", message, begin[1])


def _present(state: State) -> dict[str, object]:
    return {
        "current_player()": state.current_player(),
        "legal_actions()": state.legal_actions(),
        "chance_outcomes()": state.chance_outcomes(),
        "returns()": state.returns(),
        "key()": state.key(),
    }


def _observed(state: State) -> dict[str, object]:
    players = range(state.game.num_players())
    return {f"observation({player})": text_of(state.observation(player)) for player in players}


SAMPLE = 64
"""Maximum number of actions tried in one position where trying all would be slow."""

Check = Callable[[State, random.Random], Iterator[str]]
"""Yields what is wrong with a position, which it leaves as it is; the generator draws samples."""


def check_clone(state: State, rng: random.Random) -> Iterator[str]:
    """A clone is equal, and what happens to it leaves the state as it was."""
    before = take_snapshot(state)
    clone = state.clone()
    if clone is state or type(clone) is not type(state):
        yield "clone() must return a new state of the same class"
    if change := difference(before, take_snapshot(clone)):
        yield f"of the clone, {change}"
    for _ in range(3):
        if actions := clone.legal_actions():
            clone.apply_action(rng.choice(actions))
    if change := difference(before, take_snapshot(state)):
        yield f"after {clone.history()[state.move_number() :]} on a clone, {change}"


def check_child(state: State, rng: random.Random) -> Iterator[str]:
    """A child is a clone with the action applied, and leaves its parent as it was."""
    before = take_snapshot(state)
    for action in _sample(state.legal_actions(), 4, rng):
        expected = _after(state, action)
        if change := difference(expected, take_snapshot(state.child(action))):
            yield f"of child({action}), {change} as after clone() and apply_action({action})"
        clone = state.clone()
        clone.apply_unchecked(action)
        if change := difference(expected, take_snapshot(clone)):
            yield f"after apply_unchecked({action}), {change} as after apply_action({action})"
        if change := difference(before, take_snapshot(state)):
            yield f"after child({action}) the parent's {change}"


def check_deterministic(state: State, rng: random.Random) -> Iterator[str]:
    """An action has the same effect a second time."""
    for action in state.legal_actions()[:4]:
        if change := difference(_after(state, action), _after(state, action)):
            yield f"the second time, after {action} {change}"


def _after(state: State, action: int) -> Snapshot:
    clone = state.clone()
    clone.apply_action(action)
    return take_snapshot(clone)


def check_serialise(state: State, rng: random.Random) -> Iterator[str]:
    """A state is rebuilt from its text."""
    text = state.serialize()
    if type(text) is not str:
        yield f"serialize() returned {shown(text)}"
    elif change := difference(take_snapshot(state), take_snapshot(state.game.deserialize(text))):
        yield f"after deserialize(serialize()), {change}"


def check_legal_actions(state: State, rng: random.Random) -> Iterator[str]:
    """Legal actions are ascending integers in range; `is_legal` and openings agree with them."""
    actions, limit = state.legal_actions(), action_limit(state)
    if any(type(action) is not int for action in actions):
        yield f"not all are of type int: {shown(actions)}"
    if any(a >= b for a, b in itertools.pairwise(actions)):
        yield f"not in ascending order without repeats: {shown(actions)}"
    fault = state.is_chance_node() and state.game.info.too_few_outcomes(max(actions, default=-1))
    if fault:
        yield fault
    elif actions and not (min(actions) >= 0 and max(actions) < limit):
        bound = "max_chance_outcomes" if state.is_chance_node() else "num_distinct_actions"
        yield f"not all from 0 to {limit - 1}, below GameInfo.{bound}: {shown(actions)}"
    if state.is_terminal() == bool(actions):
        what = "a terminal state has none" if actions else "a state that goes on has some"
        yield f"{what}, got {shown(actions)}"
    for action in [*_sample(range(limit), 4 * SAMPLE, rng), -1, limit, limit + 1000]:
        if bool(state.is_legal(action)) != (action in actions):
            yield f"is_legal({action}) is {state.is_legal(action)}, legal_actions() says not so"
    opening = state.opening_actions()
    if not set(actions).issuperset(opening) or bool(opening) != bool(actions):
        yield f"opening_actions() {shown(opening)} are not some of {shown(actions)}"


def check_illegal_refused(state: State, rng: random.Random) -> Iterator[str]:
    """An illegal action raises a typed error and changes nothing."""
    before = take_snapshot(state)
    legal, limit = set(state.legal_actions()), action_limit(state)
    illegal = [action for action in _sample(range(limit), 4 * SAMPLE, rng) if action not in legal]
    for action in [*_sample(illegal, 8, rng), -1, limit]:
        victim = state.clone()
        try:
            victim.apply_action(action)
        except (IllegalActionError, InvalidActionError):
            if change := difference(before, take_snapshot(victim)):
                yield f"the refusal of {action} changed the state: {change}"
        except Exception as error:
            message = f"action {action} raised {type(error).__name__}, no IllegalActionError"
            yield f"{message} or InvalidActionError"
        else:
            yield f"action {action} was accepted"


def check_action_text(state: State, rng: random.Random) -> Iterator[str]:
    """Every legal action is written differently, and read back.

    In a game that hides information, or in which players act at once, the text depends on the
    action alone: it is shown to players who have no state, or are not first to act in theirs.
    """
    info, start = state.game.info, state.game.new_initial_state()
    hides = info.simultaneous or not info.perfect_information
    texts: dict[str, int] = {}
    for action in _sample(state.legal_actions(), SAMPLE, rng):
        text = state.action_to_string(action)
        if hides and text != (other := start.action_to_string(action)):
            message = f"action {action} is written {text!r}, but {other!r} at the start"
            yield f"{message}; players who have no state need one text"
        if texts.setdefault(text, action) != action:
            yield f"actions {texts[text]} and {action} are both written {text!r}"
        try:
            if (result := state.string_to_action(text)) != action:
                yield f"{text!r}, written for {action}, is read as {result}"
        except GameError as error:
            yield f"{text!r} is not read back: {error}"
    with suppress(GameError):
        result = state.string_to_action("\0 no action")
        yield f"a text that is not an action is read as {result}"


def check_returns(state: State, rng: random.Random) -> Iterator[str]:
    """Returns are zero before the end, then within the bounds and of the constant sum.

    In a game with rewards on the way they are the sum of those so far.
    """
    returns = tuple(state.returns())
    if state.is_terminal():
        yield from _check_utilities("returns()", returns, state.game.info)
    elif state.game.info.intermediate_rewards:
        if len(returns) != state.game.num_players() or not all(map(math.isfinite, returns)):
            yield f"returns() is {returns}, not a number for each player"
    elif returns != (0.0,) * state.game.num_players():
        yield (
            f"returns() before the end is {returns}; it must be zeros, or GameInfo must declare "
            "intermediate_rewards"
        )
    if state.is_terminal():
        yield from _check_outcome(returns, state.game.info)
    truncated = tuple(state.truncated_returns())
    yield from _check_utilities("truncated_returns()", truncated, state.game.info)


def _check_utilities(method: str, values: tuple[float, ...], info: GameInfo) -> Iterator[str]:
    if len(values) != info.num_players:
        yield f"{method} is {values}: one value for each of {info.num_players} players is due"
    elif not all(info.min_utility <= value <= info.max_utility for value in values):
        yield f"{method} is {values}, beyond [{info.min_utility}, {info.max_utility}]"
    elif info.utility_sum is not None and abs(math.fsum(values) - info.utility_sum) > 1e-9:
        yield f"{method} is {values}, which sums to {math.fsum(values)}, not {info.utility_sum}"
    elif len(set(zip(info.teams, values, strict=False))) > len(set(info.teams)):
        yield f"{method} is {values}, which differ in one of the teams {info.teams}"


def _check_outcome(returns: tuple[float, ...], info: GameInfo) -> Iterator[str]:
    outcomes = (info.min_utility, (info.min_utility + info.max_utility) / 2, info.max_utility)
    if not info.payoffs and info.num_players == 2 and not set(returns) <= set(outcomes):
        yield (
            f"returns() is {returns}, not a loss, a draw or a win ({', '.join(map(str, outcomes))})"
            "; if the size of the returns counts, declare GameInfo.payoffs"
        )


def check_chance(state: State, rng: random.Random) -> Iterator[str]:
    """At a chance node positive probabilities sum to one over the legal actions."""
    outcomes = state.chance_outcomes()
    if not state.is_chance_node():
        if outcomes:
            yield f"chance_outcomes() away from a chance node: {shown(outcomes)}"
        return
    if [action for action, _ in outcomes] != state.legal_actions():
        yield f"outcomes {shown(outcomes)} are not legal_actions() {state.legal_actions()}"
    if not all(probability > 0 for _, probability in outcomes):
        yield f"not all are positive: {shown(outcomes)}"
    total = math.fsum(probability for _, probability in outcomes)
    if abs(total - 1) > 1e-9:
        yield f"probabilities sum to {total}, not 1"


def check_simultaneous(state: State, rng: random.Random) -> Iterator[str]:
    """Players who act at once are declared, and their actions can be given together."""
    acting = list(state.acting_players())
    if problem := _problem_of_actors(state, acting):
        yield problem
        return
    legal = {player: state.legal_actions_of(player) for player in range(state.game.num_players())}
    pending = state.pending_actions()
    for player, actions in legal.items():
        if bool(actions) != (player in acting or player in pending):
            yield f"legal_actions_of({player}) is {shown(actions)}, but {acting} are to act"
            return
    if not acting:
        return
    if state.legal_actions() != legal[acting[0]]:
        yield f"legal_actions() is {shown(state.legal_actions())}, not player {acting[0]}'s"
    chosen = {player: rng.choice(legal[player]) for player in acting}
    one, other = state.clone(), state.clone()
    one.apply_actions(chosen)
    for action in chosen.values():
        other.apply_action(action)
    if change := difference(take_snapshot(other), take_snapshot(one)):
        yield f"after apply_actions({chosen}), {change} as after these actions one by one"
    if one.pending_actions():
        yield f"after apply_actions({chosen}), pending_actions() is {one.pending_actions()}"


def _problem_of_actors(state: State, acting: list[int]) -> str:
    """Return what is wrong with who acts; empty if nothing is."""
    actor, current, pending = state.next_actor(), state.current_player(), state.pending_actions()
    joint = current == Player.SIMULTANEOUS
    if joint and not state.game.info.simultaneous:
        return "several players act at once, but GameInfo.simultaneous is not set"
    if sorted(set(acting).intersection(range(state.game.num_players()))) != acting:
        return f"acting_players() is {acting}, not some of the players, ascending"
    if actor != (acting[0] if acting else current) or (
        acting != [current] and acting and not joint
    ):
        return f"acting_players() is {acting}, next_actor() {actor}, current_player() {current}"
    if pending and not (joint and acting and max(pending) < acting[0]):
        return f"pending_actions() is {shown(pending)}, but {acting} are to act"
    return ""


def check_rewards(state: State, rng: random.Random) -> Iterator[str]:
    """A reward is what its transition adds to the returns; there is none at the start."""
    players = state.game.num_players()
    if not state.history() and tuple(state.rewards()) != (0.0,) * players:
        yield f"rewards() is {state.rewards()} before the first action; it must be zeros"
    before = state.returns()
    for action in _sample(state.legal_actions(), 4, rng):
        child = state.child(action)
        rewards, after = tuple(child.rewards()), child.returns()
        due = [now - then for now, then in zip(after, before, strict=True)]
        if len(rewards) != players or any(
            abs(reward - gain) > 1e-9 for reward, gain in zip(rewards, due, strict=True)
        ):
            yield (
                f"after {action} rewards() is {rewards}, but returns() was {before} and is {after}"
            )


def check_tensor(state: State, rng: random.Random) -> Iterator[str]:
    """A tensor has the stated shape, is float32 and finite."""
    shape = state.game.observation_tensor_shape()
    if not shape:
        return
    import numpy as np

    for player in range(state.game.num_players()):
        tensor = state.observation_tensor(player)
        if tensor.dtype != np.float32 or tensor.shape != shape:
            yield f"float32 of shape {shape} is due, got {tensor.dtype} of {tensor.shape}"
        elif not np.isfinite(tensor).all():
            yield f"player {player}'s is not finite"


CHECKS: Mapping[str, Check] = {
    "clone": check_clone,
    "deterministic": check_deterministic,
    "child": check_child,
    "serialise": check_serialise,
    "legal-actions": check_legal_actions,
    "illegal-action": check_illegal_refused,
    "action-text": check_action_text,
    "returns": check_returns,
    "rewards": check_rewards,
    "simultaneous": check_simultaneous,
    "chance": check_chance,
    "tensor": check_tensor,
}
"""The checks of one position, by the name of the rule that they check."""


def check_info(info: GameInfo) -> Iterator[str]:
    """The facts of a game do not contradict each other."""
    names = info.player_names
    total = 0.0 if info.utility_sum is None else info.utility_sum / max(1, info.num_players)
    facts = {
        "player_names names every player once": len(names) == len(set(names)) == info.num_players,
        "num_players is at least 1": info.num_players >= 1,
        "num_distinct_actions is at least 1": info.num_distinct_actions >= 1,
        "max_game_length is at least 1": info.max_game_length >= 1,
        "version is at least 1": info.version >= 1,
        "min_utility is less than max_utility": info.min_utility < info.max_utility,
        "utility_sum can be reached": info.utility_sum is None
        or info.min_utility <= total <= info.max_utility,
        "teams names the team of every player": len(info.teams) in (0, info.num_players),
    }
    return (f"{fact}; {info}" for fact, holds in facts.items() if not holds)


def action_limit(state: State) -> int:
    """Return the number below which the actions of the current player or of chance are."""
    info = state.game.info
    chance = state.current_player() == Player.CHANCE
    return info.max_chance_outcomes if chance else info.num_distinct_actions


def _sample(population: Sequence[int], size: int, rng: random.Random) -> list[int]:
    return list(population) if len(population) <= size else rng.sample(population, size)


MAX_REACHED = 20_000
"""Maximum number of objects visited in the search for a state."""

_LEAVES = (str, bytes, int, float, complex, type, ModuleType, BuiltinFunctionType)


def path_to_state(root: object) -> str:
    """Return the path from an object to a state in which something was played; empty for none.

    Attributes, slots, items, elements, closures and the objects of bound methods are followed;
    modules, classes and the globals of functions are not. At most `MAX_REACHED` objects are
    visited, nearest first.
    """
    objects: dict[int, object] = {}  # keeps visited objects alive, so that no id is reused
    frontier: deque[tuple[object, str]] = deque([(root, "")])
    while frontier and len(objects) < MAX_REACHED:
        item, path = frontier.popleft()
        if id(item) in objects or item is None or isinstance(item, _LEAVES):
            continue
        objects[id(item)] = item
        if isinstance(item, State) and item.move_number() > 0:
            return path
        frontier.extend((part, path + step) for step, part in _parts(item))
    return ""


def _parts(item: object) -> Iterator[tuple[str, object]]:
    if isinstance(item, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in item.items())
    elif isinstance(item, (list, tuple, set, frozenset, deque)):
        yield from ((f"[{index}]", value) for index, value in enumerate(item))
    elif isinstance(item, MethodType):
        yield ".__self__", item.__self__
    elif isinstance(item, FunctionType):
        for name, cell in zip(item.__code__.co_freevars, item.__closure__ or (), strict=True):
            yield f"<{name}>", cell.cell_contents
    for name in _attributes(item):
        try:
            yield f".{name}", object.__getattribute__(item, name)
        except AttributeError:  # an empty slot
            continue


def _attributes(item: object) -> list[str]:
    """Return the names of an object's own attributes; properties are not called."""
    names = set(getattr(item, "__dict__", {}))
    for base in type(item).__mro__:
        slots: str | Sequence[str] = base.__dict__.get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    return sorted(names - {"__dict__", "__weakref__"})


SIBLINGS = 8
"""Maximum number of children of one position that are compared with each other."""


def check_game(
    game: Game,
    *,
    seed: int = 0,
    games: int = 20,
    max_plies: int | None = None,
    worlds: int = 2000,
    belief: BeliefFactory | None = None,
    skip: Collection[str] = (),
) -> ConformanceReport:
    """Play random games and check every rule of `GAME_RULES` in all their positions.

    Args:
      game: the game.
      seed: of all that is random in the check; the same seed repeats it.
      games: random games to play.
      max_plies: maximum number of players' actions in a game; None to play to the end.
      worlds: maximum worlds of an enumerated belief; where there are more, the rules of beliefs
        are not checked from there on, which the report says.
      belief: builds the game's own belief, which is checked in place of `EnumeratedBelief`.
      skip: names of rules not to check.

    Raises:
      ConformanceError: rules are broken; it lists the first violation of each, with the actions
        that lead to it.
      ParameterError: `skip` names no rule.
    """
    refuse_unknown_rules(skip, GAME_RULES)
    findings = Findings(subject=repr(game), seed=seed, skip=skip)
    for message in check_info(game.info):
        findings.add("info", message, ())
    setup = _Setup(
        game=game,
        findings=findings,
        max_plies=max_plies,
        belief=belief or partial(PartingBelief, limit=worlds),
        keys=KeyIndex(findings, seed=seed),
        index=InformationIndex(findings),
    )
    for number in range(games):
        _RandomGame(setup, random.Random(f"{seed}/{number}")).play()
    return findings.report()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """What the games of one check share."""

    game: Game
    findings: Findings
    max_plies: int | None
    belief: BeliefFactory
    keys: KeyIndex
    index: InformationIndex


class _RandomGame:
    """One random game under check."""

    def __init__(self, setup: _Setup, rng: random.Random) -> None:
        self.setup, self.rng = setup, rng
        self.findings = setup.findings
        self.plies = 0
        self.actions: list[int] = []
        self.clones: list[tuple[State, Snapshot]] = []  # clones, and what they answered

    def play(self) -> None:
        """Play it; an exception of the game ends it and is noted."""
        game = self.setup.game
        self.findings.games += 1
        try:
            self.track = Track(game)
            self.views = [PlayerView(game, player) for player in range(game.num_players())]
            hides = not game.info.perfect_information
            self.checkers = [
                BeliefChecker(view, self.setup.belief, self.findings)
                for view in self.views
                if hides
            ]
            self._look(None)
            while not self._is_over():
                self._look(self._step())
            self._conclude()
        except Exception as error:
            self.findings.raised(error, "in a random game", self.actions)

    def _is_over(self) -> bool:
        state, limit = self.track.state, self.setup.game.max_game_length()
        if state.is_terminal():
            return True
        if self.plies >= limit and not state.is_chance_node():
            message = f"the game goes on after max_game_length() = {limit} plies"
            self.findings.add("game-length", message, self.actions)
            return True
        return self.setup.max_plies is not None and self.plies >= self.setup.max_plies

    def _step(self) -> Transition | None:
        """Take a random action; return the transition that it completes, if it does."""
        state = self.track.state
        actor, joint = state.next_actor(), state.current_player() == Player.SIMULTANEOUS
        action = random_action(state, self.rng)
        self.plies += actor != Player.CHANCE
        self._add_siblings()
        self.actions.append(action)
        taken = {**state.pending_actions(), actor: action}
        self.track.apply(action)
        return None if state.pending_actions() else Transition(taken, joint)

    def _add_siblings(self) -> None:
        """Compare the positions after other actions than the one that is taken, too."""
        actions = self.track.state.legal_actions()
        for action in self.rng.sample(actions, min(SIBLINGS, len(actions))):
            sibling = self.track.child(action)
            # Beside the path lie the positions that a player cannot tell from its own: where two
            # hidden actions look alike, a game leaks.
            self.setup.index.add(sibling)
            self.setup.keys.add(sibling.state)

    # -- checks in every position -------------------------------------------------------------

    def _look(self, last: Transition | None) -> None:
        state, findings = self.track.state, self.findings
        findings.positions += 1
        # Compared at the end: by then whatever a clone shares with its original has changed.
        self.clones.append((state.clone(), take_snapshot(state)))
        for rule, check in CHECKS.items():
            try:
                for message in check(state, self.rng):
                    findings.add(rule, message, state.history())
            except Exception as error:
                findings.raised(error, f"while '{rule}' was checked", self.actions)
        check_observations(state, self.views, findings=findings, last=last)
        self.setup.index.add(self.track)
        self.setup.keys.add(state.clone())
        if state.pending_actions():
            return  # nobody knows of them
        if self.setup.game.info.perfect_information:
            for view in self.views:
                if view.state.key() != state.key() or str(view.state) != str(state):
                    message = f"player {view.player}, who sees everything, has another state:"
                    findings.add("perfect-information", f"{message}\n{view.state}", self.actions)
        else:
            self._look_into_beliefs()

    def _look_into_beliefs(self) -> None:
        state = self.track.state
        for checker in self.checkers:
            observation = state.observation(checker.view.player)
            if observation is None:
                continue
            checker.observe(observation, state)
            checker.compare_worlds(self.track, self.setup.index, self.rng)
            own_turn = checker.view.player in state.acting_players()
            if own_turn and self.findings.beliefs <= RESAMPLED_POSITIONS:
                checker.check_resampling(state, self.rng)

    # -- checks at the end --------------------------------------------------------------------

    def _conclude(self) -> None:
        for clone, snapshot in self.clones:
            if change := difference(snapshot, take_snapshot(clone)):
                message = f"after the original played {self.actions}, of a clone {change}"
                self.findings.add("clone", message, clone.history())
        snapshots = [snapshot for _, snapshot in self.clones]
        try:
            self._replay(snapshots)
        except Exception as error:
            message = f"played again, {type(error).__name__}: {error}"
            self.findings.add("deterministic", message, self.actions)
        if not self.setup.game.info.perfect_information:
            for view in self.views:
                if path := path_to_state(view):
                    message = f"player {view.player}'s view leads to a state: view{path}"
                    self.findings.add("state-reachable", message, self.actions)

    def _replay(self, snapshots: Sequence[Snapshot]) -> None:
        state = self.setup.game.new_initial_state()
        for ply, before in enumerate(snapshots):
            if ply:
                state.apply_action(self.actions[ply - 1])
            if change := difference(before, take_snapshot(state)):
                message = f"played again, {change}"
                self.findings.add("deterministic", message, self.actions[:ply])
                return
