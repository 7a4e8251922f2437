"""Searches with networks that ask about enclosed groups, and the network that is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.tsumego.test_tsumego_in_play import (
    FIVE_ON_THE_SECOND_LINE,
    STRAIGHT_THREE,
    VITAL,
    board_of,
    state_of,
)

import miai
from miai import Parameters
from miai_go.rules.game import GoState
from miai_go.tsumego.adviser import network_adviser

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


@pytest.fixture
def state() -> GoState:
    return state_of(board_of(FIVE_ON_THE_SECOND_LINE).stones(), first=1)


def search_of(state: GoState, name: str, **values: Any) -> Any:
    more: dict[str, Any] = {
        "simulations": 24,
        "leaves": 4,
        "network": {"precision": "fp32"},
    } | values
    agent = miai.make_agent(name, state.game, **more)
    search = agent.search  # type: ignore[attr-defined]  # SearchAgent's, hidden by make_agent
    search.new_game(1)
    return search


def priors_of(search: Any, state: GoState) -> dict[str, float]:
    output = search.analyse(state, seconds=100).statistics["priors"]
    return {state.action_to_string(action): prior for action, prior in output}


@pytest.mark.parametrize("name", ["alphago", "alphazero"])
def test_the_vital_points_get_a_part_of_the_priors_once(name: str, state: GoState) -> None:
    off = priors_of(search_of(state, name), state)
    search = search_of(state, name, adviser="solver")
    first = priors_of(search, state)
    share = sum(first[point] for point in VITAL)
    assert share > 0.2 + sum(off[point] for point in VITAL) / 2
    assert sum(first.values()) == pytest.approx(1, abs=0.01)
    assert priors_of(search, state) == first
    result = search.search(state)
    assert result.statistics["advice"]["critical"] == 1
    assert state.action_to_string(result.action) in VITAL


def test_the_next_root_is_asked_about_and_kept_trees_are_not_changed(state: GoState) -> None:
    search = search_of(state, "alphazero", adviser="solver")
    action = search.search(state).action
    assert state.action_to_string(action) in VITAL
    state.apply_action(action)
    search.advance(action)
    result = search.search(state)
    assert result.statistics["advice"]["critical"] == 0  # White is dead now
    assert result.statistics["reused"] > 0


def test_gumbel_selection_respects_it_too(state: GoState) -> None:
    search = search_of(state, "alphazero", search="gumbel", adviser="solver")
    assert state.action_to_string(search.search(state).action) in VITAL


def test_the_network_says_which_group_is_critical() -> None:
    board = board_of(STRAIGHT_THREE)
    seen = network_adviser(state_of(board.stones(), first=1).game, Parameters())
    advice = seen.look(board, 0)
    assert advice.statistics == {"asked": 1, "critical": 1, "solved": 1, "nodes": 0}
    assert np.flatnonzero(advice.weights).tolist() == [1]  # B1
    assert 0 < advice.weights.max() < 1
    again = seen.look(board, 0)
    assert (again.weights == advice.weights).all()


def test_mcts_asks_the_network() -> None:
    state = state_of(board_of(STRAIGHT_THREE).stones(), first=1)
    agent = miai.make_agent("mcts", state.game, simulations=40, seed=1, adviser="network")
    search = agent.search  # type: ignore[attr-defined]  # SearchAgent's, hidden by make_agent
    search.new_game(1)
    first = search.search(state)
    search.new_game(1)
    assert search.search(state) == first
    assert first.statistics["advice"]["critical"] == 1
