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
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from miai.errors import GameError, IllegalActionError, InvalidActionError
from miai.game import Game, GameInfo, Player, State
from miai.information import Determinizer, PlayerView
from miai.testing.findings import (
    GAME_RULES,
    ConformanceReport,
    Findings,
    refuse_unknown_rules,
    shown,
)
from miai.testing.hidden import (
    RESAMPLED_POSITIONS,
    BeliefChecker,
    BeliefFactory,
    InformationIndex,
    PartingBelief,
    Track,
    check_observations,
    check_perfect_information,
    check_resampling,
)
from miai.testing.snapshot import Snapshot, difference, take_snapshot, text_of

MAX_COMPARED = 500
"""Maximum number of pairs of positions with equal keys that one check plays on."""


class KeyIndex:
    """Compares positions with equal keys, by playing both on in the same way.

    Attributes:
      plies: how far they are played on at most.
    """

    def __init__(self, findings: Findings, *, seed: int, plies: int = 12) -> None:
        self.plies = plies
        self._findings = findings
        self._rng = random.Random(seed)
        self._seen: dict[Hashable, State] = {}
        self._compared = 0

    def add(self, state: State) -> None:
        """Compare a position, which must not change, with the first one that had its key."""
        other = self._seen.setdefault(state.key(), state)
        if other.history() != state.history() and self._compared < MAX_COMPARED:
            self._compared += 1
            self._compare(other.clone(), state.clone())

    def _compare(self, one: State, other: State) -> None:
        begin = one.history(), other.history()
        changed = difference(_present(one), _present(other))
        for _ in range(self.plies):
            actions = one.legal_actions()
            if changed or not actions:
                break
            action = self._rng.choice(actions)
            one.apply_action(action)
            other.apply_action(action)
            changed = difference(_present(one) | _observed(one), _present(other) | _observed(other))
        if changed:
            message = (
                f"the key is that of {begin[0]}, but after {one.history()[len(begin[0]) :]} more "
                f"{changed}"
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


def check_replay(
    game: Game, actions: Sequence[int], snapshots: Sequence[Snapshot], findings: Findings
) -> None:
    """The same actions lead to the same positions again.

    Args:
      snapshots: of the initial state and of the state after each action.
    """
    state = game.new_initial_state()
    for ply, before in enumerate(snapshots):
        if ply:
            state.apply_action(actions[ply - 1])
        if changed := difference(before, take_snapshot(state)):
            message = f"played again, {changed}"
            findings.add("deterministic", message, actions[:ply])
            return


SAMPLE = 64
"""Maximum number of actions tried in one position where trying all would be slow."""


@dataclass(frozen=True, slots=True)
class CheckedPosition:
    """One position under test.

    Attributes:
      state: the position; checks leave it as it is.
      findings: where violations go.
      rng: draws a sample where trying everything would be slow.
    """

    state: State
    findings: Findings
    rng: random.Random

    def add(self, rule: str, message: str) -> None:
        """Note that a rule is broken here."""
        self.findings.add(rule, message, self.state.history())


Check = Callable[[CheckedPosition], None]


def check_clone(position: CheckedPosition) -> None:
    """A clone is equal, and what happens to it leaves the state as it was."""
    state = position.state
    before = take_snapshot(state)
    clone = state.clone()
    if clone is state or type(clone) is not type(state):
        position.add("clone", "clone() must return a new state of the same class")
    if changed := difference(before, take_snapshot(clone)):
        position.add("clone", f"of the clone, {changed}")
    for _ in range(3):
        if actions := clone.legal_actions():
            clone.apply_action(position.rng.choice(actions))
    if changed := difference(before, take_snapshot(state)):
        message = f"after {clone.history()[state.move_number() :]} on a clone, {changed}"
        position.add("clone", message)


def check_child(position: CheckedPosition) -> None:
    """A child is a clone with the action applied, and leaves its parent as it was."""
    state = position.state
    before = take_snapshot(state)
    for action in _sample(state.legal_actions(), 4, position.rng):
        applied = _after(state, action)
        if changed := difference(applied, _after(state, action)):
            position.add("deterministic", f"the second time, after {action} {changed}")
            return
        if changed := difference(applied, take_snapshot(state.child(action))):
            message = f"of child({action}), {changed} as after clone() and apply_action({action})"
            position.add("child", message)
        clone = state.clone()
        clone.apply_unchecked(action)
        if changed := difference(applied, take_snapshot(clone)):
            message = f"after apply_unchecked({action}), {changed} as after apply_action({action})"
            position.add("child", message)
        if changed := difference(before, take_snapshot(state)):
            position.add("child", f"after child({action}) the parent's {changed}")


def _after(state: State, action: int) -> Snapshot:
    clone = state.clone()
    clone.apply_action(action)
    return take_snapshot(clone)


def check_serialise(position: CheckedPosition) -> None:
    """A state is rebuilt from its text."""
    state = position.state
    text = state.serialize()
    if type(text) is not str:
        position.add("serialise", f"serialize() returned {shown(text)}")
        return
    rebuilt = state.game.deserialize(text)
    if changed := difference(take_snapshot(state), take_snapshot(rebuilt)):
        message = f"after deserialize(serialize()), {changed}"
        position.add("serialise", message)


def check_legal_actions(position: CheckedPosition) -> None:
    """Legal actions are ascending integers in range; `is_legal` and openings agree with them."""
    state = position.state
    actions = state.legal_actions()
    limit = action_limit(state)
    add = position.add
    if any(type(action) is not int for action in actions):
        add("legal-actions", f"not all are of type int: {shown(actions)}")
    if any(a >= b for a, b in itertools.pairwise(actions)):
        add("legal-actions", f"not in ascending order without repeats: {shown(actions)}")
    if actions and not (min(actions) >= 0 and max(actions) < limit):
        add("legal-actions", f"not all from 0 to {limit - 1}: {shown(actions)}")
    if state.is_terminal() == bool(actions):
        what = "a terminal state has none" if actions else "a state that goes on has some"
        add("legal-actions", f"{what}, got {shown(actions)}")
    legal = set(actions)
    for action in [*_sample(range(limit), 4 * SAMPLE, position.rng), -1, limit, limit + 1000]:
        if bool(state.is_legal(action)) != (action in legal):
            message = f"is_legal({action}) is {state.is_legal(action)}, legal_actions() says not so"
            add("legal-actions", message)
    opening = state.opening_actions()
    if not legal.issuperset(opening) or bool(opening) != bool(actions):
        add("legal-actions", f"opening_actions() {shown(opening)} are not some of {shown(actions)}")


def check_illegal_refused(position: CheckedPosition) -> None:
    """An illegal action raises a typed error and changes nothing."""
    state = position.state
    before = take_snapshot(state)
    legal = set(state.legal_actions())
    limit = action_limit(state)
    illegal = [
        action for action in _sample(range(limit), 4 * SAMPLE, position.rng) if action not in legal
    ]
    for action in [*_sample(illegal, 8, position.rng), -1, limit]:
        victim = state.clone()
        try:
            victim.apply_action(action)
        except (IllegalActionError, InvalidActionError):
            if changed := difference(before, take_snapshot(victim)):
                message = f"the refusal of {action} changed the state: {changed}"
                position.add("illegal-action", message)
        except Exception as error:
            message = f"action {action} raised {type(error).__name__}, no IllegalActionError"
            position.add("illegal-action", f"{message} or InvalidActionError")
        else:
            position.add("illegal-action", f"action {action} was accepted")


def check_action_text(position: CheckedPosition) -> None:
    """Every legal action is written differently, and read back.

    In a game that hides information the text depends on the action alone: it is shown to players
    who have no state.
    """
    state = position.state
    if not state.game.info.perfect_information:
        _check_text_without_state(position)
    texts: dict[str, int] = {}
    for action in _sample(state.legal_actions(), SAMPLE, position.rng):
        text = state.action_to_string(action)
        if texts.setdefault(text, action) != action:
            message = f"actions {texts[text]} and {action} are both written {text!r}"
            position.add("action-text", message)
        try:
            read = state.string_to_action(text)
        except GameError as error:
            position.add("action-text", f"{text!r} is not read back: {error}")
            continue
        if read != action:
            message = f"{text!r}, written for {action}, is read as {read}"
            position.add("action-text", message)
    try:
        read = state.string_to_action("\0 no action")
    except GameError:
        return
    position.add("action-text", f"a text that is not an action is read as {read}")


def _check_text_without_state(position: CheckedPosition) -> None:
    state, start = position.state, position.state.game.new_initial_state()
    for action in _sample(state.legal_actions(), SAMPLE, position.rng):
        here, there = state.action_to_string(action), start.action_to_string(action)
        if here != there:
            message = f"action {action} is written {here!r}, but {there!r} at the start"
            position.add("action-text", f"{message}; players who have no state need one text")


def check_returns(position: CheckedPosition) -> None:
    """Returns are zero before the end, then within the bounds and of the constant sum."""
    state = position.state
    returns = tuple(state.returns())
    if state.is_terminal():
        _check_utilities("returns()", returns, position)
    elif returns != (0.0,) * state.game.num_players():
        message = f"returns() before the end is {returns}; it must be zeros"
        position.add("returns", message)
    _check_utilities("truncated_returns()", tuple(state.truncated_returns()), position)


def check_chance(position: CheckedPosition) -> None:
    """At a chance node positive probabilities sum to one over the legal actions."""
    state = position.state
    outcomes = state.chance_outcomes()
    if not state.is_chance_node():
        if outcomes:
            message = f"chance_outcomes() away from a chance node: {shown(outcomes)}"
            position.add("chance", message)
        return
    if [action for action, _ in outcomes] != state.legal_actions():
        message = f"outcomes {shown(outcomes)} are not legal_actions() {state.legal_actions()}"
        position.add("chance", message)
    if not all(probability > 0 for _, probability in outcomes):
        position.add("chance", f"not all are positive: {shown(outcomes)}")
    total = math.fsum(probability for _, probability in outcomes)
    if abs(total - 1) > 1e-9:
        position.add("chance", f"probabilities sum to {total}, not 1")


def check_tensor(position: CheckedPosition) -> None:
    """A tensor has the stated shape, is float32 and finite."""
    state = position.state
    shape = state.game.observation_tensor_shape()
    if not shape:
        return
    import numpy as np

    for player in range(state.game.num_players()):
        tensor = state.observation_tensor(player)
        if tensor.dtype != np.float32 or tensor.shape != shape:
            message = f"float32 of shape {shape} is due, got {tensor.dtype} of {tensor.shape}"
            position.add("tensor", message)
        elif not np.isfinite(tensor).all():
            position.add("tensor", f"player {player}'s is not finite")


CHECKS: Mapping[str, Check] = {
    "clone": check_clone,
    "child": check_child,
    "serialise": check_serialise,
    "legal-actions": check_legal_actions,
    "illegal-action": check_illegal_refused,
    "action-text": check_action_text,
    "returns": check_returns,
    "chance": check_chance,
    "tensor": check_tensor,
}
"""The checks of one position, by the name of the rule that they check."""


def check_info(info: GameInfo, findings: Findings) -> None:
    """The facts of a game do not contradict each other."""
    wrong = {
        "player_names names every player once": len(set(info.player_names)) == info.num_players
        and len(info.player_names) == info.num_players,
        "num_players is at least 1": info.num_players >= 1,
        "num_distinct_actions is at least 1": info.num_distinct_actions >= 1,
        "max_game_length is at least 1": info.max_game_length >= 1,
        "version is at least 1": info.version >= 1,
        "min_utility is less than max_utility": info.min_utility < info.max_utility,
        "utility_sum can be reached": info.utility_sum is None
        or info.min_utility <= info.utility_sum / max(1, info.num_players) <= info.max_utility,
    }
    for fact, ok in wrong.items():
        if not ok:
            findings.add("info", f"{fact}; {info}", ())


def action_limit(state: State) -> int:
    """Return the number below which the actions of the current player or of chance are."""
    info = state.game.info
    chance = state.current_player() == Player.CHANCE
    return info.max_chance_outcomes if chance else info.num_distinct_actions


def _check_utilities(method: str, values: tuple[float, ...], position: CheckedPosition) -> None:
    info = position.state.game.info
    if len(values) != info.num_players:
        message = f"{method} is {values}: one value for each of {info.num_players} players is due"
        position.add("returns", message)
    elif not all(info.min_utility <= value <= info.max_utility for value in values):
        message = f"{method} is {values}, beyond [{info.min_utility}, {info.max_utility}]"
        position.add("returns", message)
    elif info.utility_sum is not None and abs(math.fsum(values) - info.utility_sum) > 1e-9:
        message = f"{method} is {values}, which sums to {math.fsum(values)}, not {info.utility_sum}"
        position.add("returns", message)


def _sample(population: Sequence[int], most: int, rng: random.Random) -> list[int]:
    return list(population) if len(population) <= most else rng.sample(population, most)


MAX_REACHED = 20_000
"""Maximum number of objects visited in the search for a state."""

_LEAVES = (str, bytes, int, float, complex, type, ModuleType, BuiltinFunctionType)


def check_unreachable(state: State, views: Sequence[PlayerView], findings: Findings) -> None:
    """No attribute path leads from what a player receives to a state of the game in progress."""
    for view in views:
        if path := path_to_state(view):
            message = f"player {view.player}'s view leads to a state: view{path}"
            findings.add("state-reachable", message, state.history())


def path_to_state(root: object) -> str:
    """Return the path from an object to a state in which something was played; empty for none.

    Attributes, slots, items, elements, closures and the objects of bound methods are followed;
    modules, classes and the globals of functions are not. At most `MAX_REACHED` objects are
    visited, nearest first.
    """
    seen: dict[int, object] = {}  # keeps visited objects alive, so that no id is reused
    frontier: deque[tuple[object, str]] = deque([(root, "")])
    while frontier and len(seen) < MAX_REACHED:
        item, path = frontier.popleft()
        if id(item) in seen or item is None or isinstance(item, _LEAVES):
            continue
        seen[id(item)] = item
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
    determinizer: Determinizer | None = None,
    skip: Collection[str] = (),
) -> ConformanceReport:
    """Play random games and check every rule of `GAME_RULES` in all their positions.

    Args:
      game: the game.
      seed: of all that is random in the check; the same seed repeats it.
      games: random games to play.
      max_plies: maximum number of players' actions in a game; None to play to the end.
      worlds: most worlds of an enumerated belief; where there are more, the rules of beliefs
        are not checked from there on, which the report says.
      belief: builds the game's own belief, which is checked in place of `EnumeratedBelief`.
      determinizer: the game's own; by default the worlds are drawn from the belief.
      skip: names of rules not to check.

    Returns:
      What was looked at, and what could not be.

    Raises:
      ConformanceError: rules are broken; it lists the first violation of each, with the actions
        that lead to it.
      ParameterError: `skip` names no rule.
    """
    refuse_unknown_rules(skip, GAME_RULES)
    findings = Findings(subject=repr(game), seed=seed, skip=skip)
    check_info(game.info, findings)
    setup = _Setup(
        game=game,
        findings=findings,
        max_plies=max_plies,
        belief=belief or _enumerated(worlds),
        determinizer=determinizer,
        keys=KeyIndex(findings, seed=seed),
        index=InformationIndex(findings),
    )
    for number in range(games):
        _RandomGame(setup, random.Random(f"{seed}/{number}")).play()
    return findings.report()


def _enumerated(limit: int) -> BeliefFactory:
    return lambda game, player: PartingBelief(game, player, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """What the games of one check share."""

    game: Game
    findings: Findings
    max_plies: int | None
    belief: BeliefFactory
    determinizer: Determinizer | None
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
        self.findings.games += 1
        try:
            self._begin()
            self._look(None)
            while not self._is_over():
                self._look(self._step())
            self._conclude()
        except Exception as error:
            self.findings.raised(error, "in a random game", self.actions)

    def _begin(self) -> None:
        game = self.setup.game
        self.track = Track(game)
        self.views = [PlayerView(game, player) for player in range(game.num_players())]
        hides = not game.info.perfect_information
        self.checkers = [
            BeliefChecker(view, self.setup.belief, self.findings) for view in self.views if hides
        ]

    def _is_over(self) -> bool:
        state, limit = self.track.state, self.setup.game.max_game_length()
        if state.is_terminal():
            return True
        if self.plies >= limit and not state.is_chance_node():
            message = f"the game goes on after max_game_length() = {limit} plies"
            self.findings.add("game-length", message, self.actions)
            return True
        return self.setup.max_plies is not None and self.plies >= self.setup.max_plies

    def _step(self) -> tuple[int, int]:
        """Take a random action; return who acted and how."""
        state = self.track.state
        actor = state.current_player()
        if actor == Player.CHANCE:
            outcomes = state.chance_outcomes()
            weights = [probability for _, probability in outcomes]
            action = self.rng.choices([action for action, _ in outcomes], weights)[0]
        else:
            action = self.rng.choice(state.legal_actions())
            self.plies += 1
        self._add_siblings()
        self.actions.append(action)
        self.track.apply(action)
        return actor, action

    def _add_siblings(self) -> None:
        """Compare the positions after other actions than the one that is taken, too."""
        actions = self.track.state.legal_actions()
        for action in self.rng.sample(actions, min(SIBLINGS, len(actions))):
            sibling = self.track.child(action)
            self.setup.index.add(sibling)
            self.setup.keys.add(sibling.state)

    # -- checks in every position -------------------------------------------------------------

    def _look(self, last: tuple[int, int] | None) -> None:
        state, findings = self.track.state, self.findings
        findings.positions += 1
        self.clones.append((state.clone(), take_snapshot(state)))
        position = CheckedPosition(state, findings, self.rng)
        for rule, check in CHECKS.items():
            try:
                check(position)
            except Exception as error:
                findings.raised(error, f"while '{rule}' was checked", self.actions)
        check_observations(state, self.views, findings=findings, last=last)
        self.setup.index.add(self.track)
        self.setup.keys.add(state.clone())
        if self.setup.game.info.perfect_information:
            check_perfect_information(state, self.views, findings)
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
            if state.current_player() == checker.view.player:
                self._resample(checker)

    def _resample(self, checker: BeliefChecker) -> None:
        if self.findings.beliefs <= RESAMPLED_POSITIONS:
            check_resampling(
                self.track.state,
                checker,
                findings=self.findings,
                rng=self.rng,
                determinizer=self.setup.determinizer,
            )

    # -- checks at the end --------------------------------------------------------------------

    def _conclude(self) -> None:
        for clone, snapshot in self.clones:
            if changed := difference(snapshot, take_snapshot(clone)):
                message = f"after the original played {self.actions}, of a clone {changed}"
                self.findings.add("clone", message, clone.history())
        snapshots = [snapshot for _, snapshot in self.clones]
        try:
            check_replay(self.setup.game, self.actions, snapshots, self.findings)
        except Exception as error:
            message = f"played again, {type(error).__name__}: {error}"
            self.findings.add("deterministic", message, self.actions)
        if not self.setup.game.info.perfect_information:
            check_unreachable(self.track.state, self.views, self.findings)
