"""docs/openspiel.md: its commands, its tournament, and its reproductions of faults."""

from __future__ import annotations

import random
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pettingzoo
import pytest
from tests.docs.page_parts import ROOT, blocks, commands, page, run
from tests.seeds import seed_of_test

import miai
from miai_openspiel.games import OpenSpielGame

PAGE = page("openspiel")
README = ROOT / "plugins" / "openspiel" / "README.md"
ENABLED = {"MIAI_DISABLE_PLUGINS": ""}


@pytest.mark.parametrize("words", commands(PAGE), ids=" ".join)
def test_a_command_of_the_page_plays_a_game(words: list[str], tmp_path: Path) -> None:
    assert "p0" in run(["miai", *words], tmp_path, **ENABLED).lower()


@pytest.mark.slow
def test_the_tournament_of_the_page_is_played(tmp_path: Path) -> None:
    (config,) = blocks(PAGE, "toml")
    (tmp_path / "dark-hex.toml").write_text(config)
    shown = run("miai tournament run dark-hex.toml --out run", tmp_path, **ENABLED)
    assert "12 games" in shown + (tmp_path / "run" / "report.txt").read_text()
    assert "ismcts" in run("miai tournament report run", tmp_path, **ENABLED)


@pytest.mark.parametrize(
    "code", re.findall(r"^( *)```python\n(.*?)^ *```", PAGE, re.S | re.M), ids=lambda code: ""
)
def test_code_of_the_page_prints_what_it_says(code: tuple[str, str], tmp_path: Path) -> None:
    indent, lines = code
    program = re.sub(f"^{indent}", "", lines, flags=re.M)
    said = re.findall(r"print\(.*\)  # (.*)", program)
    printed = run([sys.executable, "-c", program], tmp_path, **ENABLED).splitlines()
    assert printed == said


def test_the_readme_s_session(tmp_path: Path) -> None:
    program = f"import doctest; raise SystemExit(doctest.testfile({str(README)!r}, False).failed)"
    run([sys.executable, "-c", program], tmp_path, **ENABLED)


# -- the classic games of PettingZoo: each has a game of miai, and the rules are the same ---------


TABLE = dict(re.findall(r"^\| `(\w+_v\d)` \| `([^`]+)`", PAGE, re.M))


def game_of(name: str) -> miai.Game:
    """The game of a row of the page's table."""
    game, _, text = TABLE[name].partition(" --set game=")
    if game.startswith("openspiel"):
        return OpenSpielGame(text.strip("'") or game.removeprefix("openspiel:"))
    return miai.load_game(game)


def test_the_table_has_all_classic_games() -> None:
    names = (Path(pettingzoo.__file__).parent / "classic" / "all_modules.py").read_text()
    assert set(TABLE) == set(re.findall(r'"classic/(\w+)"', names))


@pytest.mark.parametrize("name", TABLE)
def test_a_classic_game_can_be_played(name: str) -> None:
    rng = random.Random(seed_of_test())
    state = game_of(name).new_initial_state()
    for _ in range(20):
        if state.is_terminal():
            break
        actions = state.legal_actions()
        state.apply_action(rng.choice(actions))
    assert state.history()


@pytest.mark.parametrize("name", ["connect_four_v3", "tictactoe_v3", "chess_v6"])
def test_a_game_goes_as_in_pettingzoo(name: str) -> None:
    """The same number of choices and, where actions have the same numbers, the same ends."""
    from importlib import import_module

    environment = import_module(f"pettingzoo.classic.{name}").raw_env()
    game, rng = game_of(name), random.Random(seed_of_test())
    for _ in range(3):
        environment.reset()
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < 60:
            seen = environment.observe(environment.agent_selection)
            mask = [n for n, legal in enumerate(seen["action_mask"]) if legal]
            if name == "chess_v6":
                assert len(mask) == len(state.legal_actions())
                action = rng.choice(state.legal_actions())
                play_chess(environment, mask, state.action_to_string(action))
                state.apply_action(action)
                continue
            assert mask == state.legal_actions()
            action = rng.choice(mask)
            environment.step(action)
            state.apply_action(action)
        if name != "chess_v6":
            assert state.is_terminal()
            rewards = [environment.rewards[agent] for agent in environment.possible_agents]
            assert tuple(rewards) == state.returns()


def play_chess(environment: Any, mask: list[int], text: str) -> None:
    """Play the move of a text in PettingZoo's game, which numbers moves in another way."""
    from pettingzoo.classic.chess import chess_utils

    board = environment.board
    move, mover = board.parse_san(text), 0 if board.turn else 1
    environment.step(next(a for a in mask if chess_utils.action_to_move(board, a, mover) == move))


def test_rock_paper_scissors_goes_as_in_pettingzoo() -> None:
    from pettingzoo.classic import rps_v2

    environment = rps_v2.raw_env(max_cycles=1)
    game = game_of("rps_v2")
    for choices in product(range(3), repeat=2):
        environment.reset()
        for choice in choices:
            environment.step(choice)
        state = game.new_initial_state()
        state.apply_actions(dict(enumerate(choices)))
        rewards = [environment.rewards[agent] for agent in environment.possible_agents]
        assert tuple(rewards) == state.returns() == state.rewards()
