"""Kuhn poker: the deal, who sees what, and all histories beside OpenSpiel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import miai
from miai import State

GAME = miai.load_game("kuhn_poker")


def play(*texts: str) -> State:
    state = GAME.new_initial_state()
    for text in texts:
        state.apply_action(state.string_to_action(text))
    return state


def states(state: State | None = None) -> Iterator[State]:
    state = state or GAME.new_initial_state()
    yield state
    for action in state.legal_actions():
        yield from states(state.child(action))


# -- rules ------------------------------------------------------------------------------------


def test_counts_of_the_tree() -> None:
    """6 deals with 5 endings each, and 12 information states of the players."""
    all_states = list(states())
    assert sum(state.is_terminal() for state in all_states) == 6 * 5
    assert sum(state.is_chance_node() for state in all_states) == 1 + 3
    movers = [s for s in all_states if s.current_player() >= 0]
    assert len(movers) == 6 * 4
    assert len({s.information_state_string(s.current_player()) for s in movers}) == 12


def test_every_history_is_that_of_openspiel() -> None:
    spiel: Any = pytest.importorskip("pyspiel")
    start = spiel.load_game("kuhn_poker").new_initial_state()
    for state in states():
        theirs = start.clone()
        for ply, action in enumerate(state.history()):
            theirs.apply_action(action - 2 if ply < 2 else action)  # their cards are 0 to 2
        assert theirs.current_player() == state.current_player()
        assert tuple(theirs.returns()) == state.returns()
        if state.is_chance_node():
            cards = {card + 2: probability for card, probability in theirs.chance_outcomes()}
            assert cards == pytest.approx(dict(state.chance_outcomes()))
        else:
            assert theirs.legal_actions() == state.legal_actions()
