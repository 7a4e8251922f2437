"""Goofspiel: the same games as in OpenSpiel, and what players see of the bids."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pyspiel
import pytest
from tests.seeds import seed_of_test
from tests.slow import with_slow

import miai
import miai.render
from miai import PlayerView
from miai.testing import check_game

ORDERS = ("random", "ascending", "descending")
RETURNS = ("win_loss", "point_difference", "total_points")
CASES = [
    {"players": players, "num_cards": cards, "points_order": order, "returns_type": returns}
    for (players, cards), order, returns in product([(2, 5), (3, 4)], ORDERS, RETURNS)
]


@pytest.mark.parametrize("values", CASES)
def test_games_go_as_in_openspiel(values: dict[str, Any]) -> None:
    rng = random.Random(seed_of_test())
    game, other_game = miai.load_game("goofspiel", **values), pyspiel.load_game("goofspiel", values)
    # OpenSpiel's minimum is rounded to a whole number.
    assert game.max_utility() == pytest.approx(other_game.max_utility())
    for _ in range(8):
        state, other = game.new_initial_state(), other_game.new_initial_state()
        while not state.is_terminal():
            assert int(state.current_player()) == other.current_player()
            if state.is_chance_node():
                assert dict(state.chance_outcomes()) == pytest.approx(dict(other.chance_outcomes()))
                action = rng.choice(state.legal_actions())
                state.apply_action(action)
                other.apply_action(action)
                continue
            for player in range(values["players"]):
                assert state.legal_actions_of(player) == other.legal_actions(player)
            actions = [rng.choice(other.legal_actions(p)) for p in range(values["players"])]
            state.apply_actions(dict(enumerate(actions)))
            other.apply_actions(actions)
        if not other.is_terminal():  # OpenSpiel lets chance turn up the only prize that is left
            other.apply_action(other.legal_actions()[0])
        assert state.returns() == pytest.approx(other.returns())


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("values", with_slow(CASES[::4], CASES[8]))
def test_the_rules_of_games_are_kept(values: dict[str, Any], hidden: bool) -> None:
    game = miai.load_game("goofspiel", **values, imp_info=hidden)
    report = check_game(game, games=2, seed=seed_of_test())
    assert (report.beliefs > 0) == hidden


def test_hidden_bids_show_the_winner_only() -> None:
    game = miai.load_game(
        "goofspiel", num_cards=3, players=3, points_order="descending", imp_info=True
    )
    state = game.new_initial_state()
    assert state.legal_actions_of(2) == [0, 1, 2]
    state.apply_actions({0: 2, 1: 2, 2: 0})  # 3, 3 and 1 for the prize 3: nobody
    seen: Any = state.observation(2)
    assert (seen.actor, seen.action, seen.actions) == (miai.Player.SIMULTANEOUS, 0, ())
    assert seen.data == {"winners": [None]}
    state.apply_actions({0: 1, 1: 0, 2: 2})  # the last cards 1, 2, 2 are bid by themselves
    seen = state.observation(0)
    assert seen.data == {"winners": [2, None]}
    assert state.is_terminal()
    assert state.returns() == (-0.5, -0.5, 1.0)
    assert state.information_state_string(0) == "3:3>- 2:2>2 1:1>-"


def test_points_are_rewards_on_the_way() -> None:
    game = miai.load_game(
        "goofspiel", num_cards=3, points_order="descending", returns_type="total_points"
    )
    state, total = game.new_initial_state(), [0.0, 0.0]
    view = PlayerView(game, 1)
    for actions in ({0: 1, 1: 2}, {0: 2, 1: 0}):
        state.apply_action(actions[0])
        assert state.rewards() == (0.0, 0.0)
        assert state.observation(1) is None
        state.apply_action(actions[1])
        total = [a + b for a, b in zip(total, state.rewards(), strict=True)]
        view.observe(state.observation(1))  # type: ignore[arg-type]  # it is there
    assert tuple(total) == state.returns() == (2.0, 4.0)  # 2 loses to 3; 3 beats 1; 1 loses to 2
    assert view.state.key() == state.key()
