"""The rules that can be checked in one position, whatever came before it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from miai.errors import GameError, IllegalActionError, InvalidActionError
from miai.game import GameInfo, Player, State
from miai.testing.findings import Findings, shown
from miai.testing.snapshot import Snapshot, difference, take_snapshot

SAMPLE = 64
"""Most actions of one position that are tried where trying all would be slow."""


@dataclass(frozen=True, slots=True)
class Position:
    """One position under test.

    Attributes:
      state: the position; checks leave it as it is.
      findings: where violations go.
      rng: draws what is tried where trying everything would be slow.
    """

    state: State
    findings: Findings
    rng: random.Random

    def add(self, rule: str, message: str) -> None:
        """Note that a rule is broken here."""
        self.findings.add(rule, message, self.state.history())


Check = Callable[[Position], None]


def check_clone(position: Position) -> None:
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


def check_child(position: Position) -> None:
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


def check_serialise(position: Position) -> None:
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


def check_legal_actions(position: Position) -> None:
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


def check_illegal_refused(position: Position) -> None:
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


def check_action_text(position: Position) -> None:
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
    position.add("action-text", f"a text that is no action is read as {read}")


def _check_text_without_state(position: Position) -> None:
    state, start = position.state, position.state.game.new_initial_state()
    for action in _sample(state.legal_actions(), SAMPLE, position.rng):
        here, there = state.action_to_string(action), start.action_to_string(action)
        if here != there:
            message = f"action {action} is written {here!r}, but {there!r} at the start"
            position.add("action-text", f"{message}; players who have no state need one text")


def check_returns(position: Position) -> None:
    """Returns are zero before the end, then within the bounds and of the constant sum."""
    state = position.state
    returns = tuple(state.returns())
    if state.is_terminal():
        _check_utilities("returns()", returns, position)
    elif returns != (0.0,) * state.game.num_players():
        message = f"returns() before the end is {returns}; it must be zeros"
        position.add("returns", message)
    _check_utilities("truncated_returns()", tuple(state.truncated_returns()), position)


def check_chance(position: Position) -> None:
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


def check_tensor(position: Position) -> None:
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
    for fact, holds in wrong.items():
        if not holds:
            findings.add("info", f"{fact}; {info}", ())


def action_limit(state: State) -> int:
    """Return the number below which the actions of the current player or of chance are."""
    info = state.game.info
    chance = state.current_player() == Player.CHANCE
    return info.max_chance_outcomes if chance else info.num_distinct_actions


def _check_utilities(method: str, values: tuple[float, ...], position: Position) -> None:
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
