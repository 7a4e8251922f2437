"""Histories that one seat of a game that hides information cannot tell apart."""

from __future__ import annotations

import random

from tests.framework.histories import seen_by

import miai
from miai import Game, State
from miai.api import game_names

HIDDEN = [name for name in game_names() if not miai.load_game(name).info.perfect_information]
"""All registered games that hide information."""
SEATS = [(name, seat) for name in HIDDEN for seat in range(miai.load_game(name).num_players())]
ALL_SEEING = {("mini_rbc", 1)}
"""Seats from which nothing is hidden."""

MAX_PLIES = 24
TRIES = 30
NODES = 4000


def random_history(game: Game, seat: int, rng: random.Random) -> list[int]:
    """Return a random game up to a late turn of the seat; empty if it has none."""
    state, history, cut = game.new_initial_state(), list[int](), 0
    while not state.is_terminal() and len(history) < MAX_PLIES:
        if state.current_player() == seat:
            cut = len(history)
        history.append(rng.choice(state.legal_actions()))
        state.apply_action(history[-1])
    return history[:cut]


def twin_of(game: Game, seat: int, history: list[int], rng: random.Random) -> list[int] | None:
    """Return another history with the same observations of the seat; None if none was found."""
    target = seen_by(game, seat, history)
    start = game.new_initial_state()
    begun = 0 if start.observation(seat) is None else 1
    stack: list[tuple[State, int, list[int]]] = [(start, begun, [])]
    for _ in range(NODES):
        if not stack:
            return None
        state, index, path = stack.pop()
        if index == len(target):
            if state.current_player() == seat and path != history:
                return path
            continue
        actions = state.legal_actions()
        if state.current_player() == seat:
            actions = [action for action in actions if action == target[index].action]
        rng.shuffle(actions)
        same = history[len(path)] if len(path) < len(history) else None
        if same in actions and rng.random() < 0.6:  # else many games end in a contradiction
            actions.remove(same)
            actions.append(same)
        for action in actions:
            child = state.child(action)
            observation = child.observation(seat)
            if observation is None:
                stack.append((child, index, [*path, action]))
            elif observation == target[index]:
                stack.append((child, index + 1, [*path, action]))
    return None


def twins(name: str, seat: int) -> tuple[list[int], list[int]]:
    """Return the longest pair found; both empty if the seat can tell all histories apart."""
    game, rng = miai.load_game(name), random.Random(seat)
    best: tuple[list[int], list[int]] = [], []
    for _ in range(TRIES):
        history = random_history(game, seat, rng)
        if len(history) <= len(best[0]):
            continue
        other = twin_of(game, seat, history, rng)
        if other is not None:
            assert seen_by(game, seat, other) == seen_by(game, seat, history)
            best = history, other
    return best
