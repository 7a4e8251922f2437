"""Tic-tac-toe against published counts, an independent implementation and its known value."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import Any

import pytest
from tests.framework.histories import TTT, state_after
from tests.framework.tree_games import states_of

from miai.errors import InvalidActionError

play = partial(state_after, TTT)
states = cache(partial(states_of, TTT))


def test_published_counts_of_positions() -> None:
    """5,478 positions, 958 of them final."""
    assert len(states()) == 5478
    assert Counter((*state.returns(), state.result_to_string()) for state in states()) == {
        (1.0, -1.0, "x wins"): 626,
        (-1.0, 1.0, "o wins"): 316,
        (0.0, 0.0, "draw"): 16,
        (0.0, 0.0, ""): 5478 - 958,
    }


def test_boards_and_names_of_cells() -> None:
    state = play(0, 4, 8)
    assert str(state) == "x..\n.o.\n..x"
    assert state.action_to_string(2) == "c3"
    assert [play().action_to_string(a) for a in (0, 4, 6, 8)] == ["a3", "b2", "a1", "c1"]
    assert state.string_to_action(" B3 ") == 1
    with pytest.raises(InvalidActionError, match="'d1'"):
        state.string_to_action("d1")


def test_every_position_is_that_of_openspiel() -> None:
    """Every position, by one path each, with the same actions, mover, returns and text."""
    spiel: Any = pytest.importorskip("pyspiel")
    theirs_at_start = spiel.load_game("tic_tac_toe").new_initial_state()
    for state in states():
        theirs = theirs_at_start.clone()
        for action in state.history():
            theirs.apply_action(action)
        assert str(theirs) == str(state)
        assert theirs.is_terminal() == state.is_terminal()
        assert theirs.legal_actions() == state.legal_actions()
        assert tuple(theirs.returns()) == state.returns()
        assert state.is_terminal() or theirs.current_player() == state.current_player()
