"""A person at the terminal sees only what its seat observes, in every game that hides information.

Each game is played twice through the command line, with two histories that the person's seat cannot
tell apart. What is printed until the end of the game must be the same, byte for byte.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import miai
from miai import Agent, ClockReading, Decision, Game, Observation, Player, State
from miai.cli.app import build_app
from miai.plugins.loader import registry
from miai.render import action_text

OVER = "The game is over"


def hidden_games() -> list[str]:
    """Return the names of all registered games that hide information."""
    names = [component.name for component in registry().components("game")]
    return [name for name in names if not miai.load_game(name).info.perfect_information]


HIDDEN = hidden_games()
SEATS = [(name, seat) for name in HIDDEN for seat in range(miai.load_game(name).num_players())]
ALL_SEEING = {(name, 1) for name in ("mini_rbc", "phantom_lines", "sub_hunt")}
"""Seats from which nothing is hidden."""

MAX_PLIES = 24
TRIES = 30
NODES = 4000


# -- two histories that look the same from a seat --------------------------------------------------


def random_history(game: Game, seat: int, rng: random.Random) -> list[int]:
    """Return a random game up to a late turn of the seat; empty if it has none."""
    state, history, cut = game.new_initial_state(), list[int](), 0
    while not state.is_terminal() and len(history) < MAX_PLIES:
        if state.current_player() == seat:
            cut = len(history)
        history.append(rng.choice(state.legal_actions()))
        state.apply_action(history[-1])
    return history[:cut]


def seen_by(game: Game, seat: int, history: Sequence[int]) -> list[Observation]:
    """Return what a seat observes in a history."""
    state = game.new_initial_state()
    seen = [state.observation(seat)]
    for action in history:
        state.apply_action(action)
        seen.append(state.observation(seat))
    return [observation for observation in seen if observation is not None]


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


# -- playing a history through the command line ----------------------------------------------------


class Scripted(Agent):
    """Plays given actions. It thinks aloud, and reports its secret in its statistics."""

    def __init__(self, game: Game, actions: Iterator[int], secret: str, pause: float) -> None:
        super().__init__(game)
        self.actions, self.secret, self.pause = actions, secret, pause
        self.component = "random"

    def act(self, clock: ClockReading) -> Decision:
        time.sleep(self.pause)
        self.pause = 0.0
        action = next(self.actions)
        print(self.secret)
        print(self.secret, file=sys.stderr)
        statistics: dict[str, Any] = {
            "value": len(self.secret) / 10,
            "simulations": len(self.secret),
            "pv": [action],
        }
        return Decision(action, statistics=statistics)


def played(
    name: str,
    seat: int,
    history: Sequence[int],
    monkeypatch: pytest.MonkeyPatch,
    *,
    secret: str,
    pause: float,
) -> str:
    """Return all that the command prints while a person plays its part of a history, and resigns.

    The other players are the agent ``random``, which is replaced.
    """
    game = miai.load_game(name)
    state = namer = game.new_initial_state()
    state = state.clone()
    parts: dict[int, list[int]] = {player: [] for player in (-1, *range(game.num_players()))}
    for action in history:
        parts[int(state.current_player())].append(action)
        state.apply_action(action)
    answers = [action_text(namer, action) for action in parts[seat]]
    chance = iter(parts[int(Player.CHANCE)])
    others = [player for player in range(game.num_players()) if player != seat]
    scripts = {player: iter(parts[player]) for player in others}
    queue = iter(others)
    make_agent = miai.make_agent

    def make(agent: str, game: Game, **values: Any) -> Agent:
        if agent != "random":
            return make_agent(agent, game, **values)
        return Scripted(game, scripts[next(queue)], secret, pause)

    with monkeypatch.context() as patch:
        patch.setattr("miai.api.make_agent", make)
        patch.setattr("miai.playing.match._draw", lambda outcomes, rng: next(chance))
        words = ["play", name]
        for player, called in enumerate(game.info.player_names):
            words += [f"--{called}", "human" if player == seat else "random"]
        typed = "".join(f"{answer}\n" for answer in (*answers, "moves", "help", "undo", "resign"))
        result = CliRunner().invoke(build_app(), words, input=typed)
    assert result.exit_code == 0, result.output
    assert secret in result.output.partition(OVER)[2]
    return result.output


@pytest.mark.parametrize(("name", "seat"), SEATS)
def test_two_histories_that_look_the_same_print_the_same(
    name: str, seat: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = twins(name, seat)
    if (name, seat) in ALL_SEEING:
        assert (first, second) == ([], [])
        return
    assert first != second
    shown = [
        played(name, seat, history, monkeypatch, secret=secret, pause=pause)
        for history, secret, pause in ((first, "aha", 0.0), (second, "oh dear", 0.3))
    ]
    before, after = zip(*(text.split(OVER, 1) for text in shown), strict=True)
    assert before[0] == before[1]
    assert "aha" not in before[0]
    assert all("The full position:\n" in text for text in after)
    assert list(tmp_path.iterdir()) == []


def test_every_game_is_played_in_a_seat_from_which_something_is_hidden() -> None:
    assert {name for name, seat in SEATS if (name, seat) not in ALL_SEEING} == set(HIDDEN)
    assert {"kuhn_poker", "mini_rbc", "phantom_tic_tac_toe", "rbc", "sub_hunt"} <= set(HIDDEN)


# -- who may sit and who may watch -----------------------------------------------------------------


@pytest.mark.parametrize("name", HIDDEN)
def test_two_people_at_one_terminal_do_not_play_a_hidden_game(name: str) -> None:
    result = CliRunner().invoke(build_app(), ["play", name])
    assert isinstance(result.exception, miai.errors.ConfigError)
    last = miai.load_game(name).info.player_names[-1]
    assert f"choose agents for all players but one, such as --{last} random" in str(
        result.exception
    )
    assert result.output == ""


def test_who_watches_two_agents_sees_everything() -> None:
    words = ["play", "kuhn_poker", "--first", "random", "--second", "random"]
    result = CliRunner().invoke(build_app(), words)
    assert result.output.startswith("  1. chance ")
    assert "cards: first " in result.output
