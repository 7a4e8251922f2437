"""The matrix games: rewards by their tables, and the rules of games."""

from __future__ import annotations

from typing import Any

import pytest
from tests.seeds import seed_of_test

import miai
from miai.testing import check_game

TABLES: dict[str, dict[tuple[str, str], tuple[float, float]]] = {
    "matching_pennies": {
        ("heads", "heads"): (1, -1),
        ("heads", "tails"): (-1, 1),
        ("tails", "heads"): (-1, 1),
        ("tails", "tails"): (1, -1),
    },
    "rock_paper_scissors": {
        ("rock", "rock"): (0, 0),
        ("rock", "paper"): (-1, 1),
        ("rock", "scissors"): (3, -3),
        ("paper", "scissors"): (-1, 1),
        ("paper", "rock"): (1, -1),
        ("scissors", "paper"): (1, -1),
        ("scissors", "rock"): (-3, 3),
    },
    "prisoners_dilemma": {
        ("cooperate", "cooperate"): (3, 3),
        ("cooperate", "defect"): (0, 5),
        ("defect", "cooperate"): (5, 0),
        ("defect", "defect"): (1, 1),
    },
}
VALUES: dict[str, dict[str, Any]] = {"rock_paper_scissors": {"rock": 3.0}}


@pytest.mark.parametrize("name", TABLES)
def test_rewards_are_those_of_the_table_and_add_up(name: str) -> None:
    table = TABLES[name]
    game = miai.load_game(name, rounds=len(table), **VALUES.get(name, {}))
    state, sums = game.new_initial_state(), [0.0, 0.0]
    for pair, rewards in table.items():
        assert state.current_player() == miai.Player.SIMULTANEOUS
        actions = [
            next(a for a in state.legal_actions_of(p) if state.action_to_string(a) == text)
            for p, text in enumerate(pair)
        ]
        state.apply_actions(dict(enumerate(actions)))
        assert state.rewards() == rewards
        sums = [a + b for a, b in zip(sums, rewards, strict=True)]
        assert state.returns() == tuple(sums)
    assert state.is_terminal()
    info = game.info
    assert all(info.min_utility <= value <= info.max_utility for value in sums)


@pytest.mark.parametrize("name", TABLES)
def test_the_rules_of_games_are_kept(name: str) -> None:
    game = miai.load_game(name, rounds=3, **VALUES.get(name, {}))
    assert check_game(game, games=3, seed=seed_of_test()).positions == 3 * 7
