"""A person at the terminal sees only what its seat observes, in every game that hides information.

Each game is played twice through the command line, with two histories that the person's seat cannot
tell apart. What is printed until the end of the game must be the same, byte for byte.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.framework.twin_histories import ALL_SEEING, HIDDEN, SEATS, twins
from tests.slow import with_slow
from typer.testing import CliRunner

import miai
from miai import Agent, ClockReading, Decision, Game
from miai.cli.app import build_app
from miai.render import action_text

OVER = "The game is over"


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
        print(self.secret, flush=True)
        print(self.secret, file=sys.stderr, flush=True)
        os.write(1, f"{self.secret} of its engine\n".encode())
        os.write(2, f"{self.secret} of its logger\n".encode())
        statistics: dict[str, Any] = {
            "value": len(self.secret) / 10,
            "simulations": len(self.secret),
            "pv": [action],
        }
        return Decision(action, statistics=statistics)


def parts_of(game: Game, history: Sequence[int]) -> dict[int, list[int]]:
    """Return the actions of each player in a history, and those of chance as -1."""
    state = game.new_initial_state()
    parts: dict[int, list[int]] = {player: [] for player in (-1, *range(game.num_players()))}
    for action in history:
        parts[int(state.current_player())].append(action)
        state.apply_action(action)
    return parts


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
    parts = parts_of(game, history)
    answers = [action_text(game.new_initial_state(), action) for action in parts[seat]]
    chance = iter(parts[-1])
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
    for text in (secret, f"{secret} of its engine", f"{secret} of its logger"):
        assert f"\n{text}\n" in result.output.partition(OVER)[2]
    return result.output


@pytest.mark.parametrize(("name", "seat"), with_slow(SEATS, ("rbc", 0), ("rbc", 1)))
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
    assert {"kuhn_poker", "mini_rbc", "phantom_tic_tac_toe", "rbc"} <= set(HIDDEN)


# -- who may sit and who may watch -----------------------------------------------------------------


def test_who_watches_two_agents_sees_everything() -> None:
    words = ["play", "kuhn_poker", "--first", "random", "--second", "random"]
    result = CliRunner().invoke(build_app(), words)
    assert result.output.startswith("  1. chance ")
    assert "cards: first " in result.output
