"""Tic-tac-toe against published counts, an independent implementation and its known value."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import miai
from miai import State
from miai.errors import IllegalActionError, InvalidActionError

GAME = miai.load_game("tic_tac_toe")


def play(*actions: int) -> State:
    state = GAME.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@lru_cache(maxsize=1)
def reachable() -> dict[object, State]:
    """All positions by key."""
    found: dict[object, State] = {}
    frontier = [GAME.new_initial_state()]
    while frontier:
        state = frontier.pop()
        if state.key() not in found:
            found[state.key()] = state
            frontier.extend(state.child(action) for action in state.legal_actions())
    return found


def least_of_symmetric(state: State) -> str:
    """Return one text for a board, its rotations and reflections."""
    board = np.array(list(str(state).replace("\n", ""))).reshape(3, 3)
    turned = [np.rot90(board, turns) for turns in range(4)]
    return min("".join(b.ravel()) for t in turned for b in (t, t.T))


def test_published_counts_of_positions() -> None:
    """5,478 positions, 958 of them final; up to symmetry 765 and 138."""
    states = list(reachable().values())
    final = [state for state in states if state.is_terminal()]
    assert len(states) == 5478
    assert Counter((*state.returns(), state.result_to_string()) for state in states) == {
        (1.0, -1.0, "x wins"): 626,
        (-1.0, 1.0, "o wins"): 316,
        (0.0, 0.0, "draw"): 16,
        (0.0, 0.0, ""): 5478 - 958,
    }
    assert len({least_of_symmetric(state) for state in states}) == 765
    assert len({least_of_symmetric(state) for state in final}) == 138


def test_boards_and_names_of_cells() -> None:
    state = play(0, 4, 8)
    assert str(state) == "x..\n.o.\n..x"
    assert state.action_to_string(2) == "c3"
    assert [play().action_to_string(a) for a in (0, 4, 6, 8)] == ["a3", "b2", "a1", "c1"]
    assert state.string_to_action(" B3 ") == 1
    with pytest.raises(InvalidActionError, match="'d1'"):
        state.string_to_action("d1")


def test_refusals_carry_the_position() -> None:
    state = play(4)
    with pytest.raises(IllegalActionError) as refused:
        state.apply_action(4)
    assert refused.value.position == "...\n.x.\n..."
    assert "4 (b2) is not legal here" in str(refused.value)
    with pytest.raises(InvalidActionError, match="from 0 to 8, got 9"):
        state.apply_action(9)
    with pytest.raises(IllegalActionError, match="the game is over"):
        play(0, 3, 1, 4, 2).apply_action(8)


def test_every_position_is_that_of_openspiel() -> None:
    """Every position, by one path each, with the same actions, mover, returns and text."""
    spiel: Any = pytest.importorskip("pyspiel")
    theirs_at_start = spiel.load_game("tic_tac_toe").new_initial_state()
    for state in reachable().values():
        theirs = theirs_at_start.clone()
        for action in state.history():
            theirs.apply_action(action)
        assert str(theirs) == str(state)
        assert theirs.is_terminal() == state.is_terminal()
        assert theirs.legal_actions() == state.legal_actions()
        assert tuple(theirs.returns()) == state.returns()
        assert state.is_terminal() or theirs.current_player() == state.current_player()
