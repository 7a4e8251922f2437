"""Phantom tic-tac-toe: who is told what, and the tree against OpenSpiel's."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import partial
from typing import Any

import pytest
from tests.framework.histories import state_after, view_of

import miai
from miai import Observation, State
from miai.api import renderer_for

GAME = miai.load_game("phantom_tic_tac_toe")
play = partial(state_after, GAME)


def test_only_the_mover_learns_of_a_refusal_and_moves_again() -> None:
    state = play(4, 4)
    assert str(state) == "...\n.x.\n..."
    assert state.current_player() == 1
    assert state.observation(0) is None
    left = (0, 1, 2, 3, 5, 6, 7, 8)
    assert state.observation(1) == Observation(1, 1, 4, {"stood": False}, left)
    assert state.information_state_string(0) == play(4).information_state_string(0)


def test_the_refused_cell_stays_known_to_be_taken() -> None:
    state = play(4, 4, 0)
    assert 4 not in play(4, 4, 0, 1).legal_actions()
    assert 4 in play(4, 0, 1).legal_actions()  # o never tried it
    assert state.observation(0) == Observation(0, 1, None, None, (0, 1, 2, 3, 5, 6, 7, 8))


@pytest.mark.parametrize(
    ("player", "board"),
    [(0, ".x.|.x.|...|o out of sight: 2"), (1, "o.o|.x.|...|x out of sight: 1")],
)
def test_a_board_shows_a_players_marks_and_what_refused_it(player: int, board: str) -> None:
    shown = renderer_for(GAME).render(view_of(GAME, player, [4, 4, 0, 1, 2]))
    assert shown.split() == board.replace("|", " ").split()


def test_both_players_learn_the_end() -> None:
    state = play(0, 3, 1, 4, 2)
    assert state.is_terminal()
    assert state.returns() == (1.0, -1.0)
    assert state.observation(0) == Observation(0, 0, 2, {"stood": True, "result": "x wins"})
    assert state.observation(1) == Observation(1, 0, None, {"result": "x wins"})


def test_the_longest_game_has_seventeen_actions() -> None:
    """Whoever moves bumps into every mark of the other that it can, and nobody wins early."""
    state = play()
    for cell in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        mover = state.current_player()
        for taken in state.history():
            board = str(state).replace("\n", "")
            if board[taken] == "ox"[mover] and state.is_legal(taken):
                state.apply_action(taken)
        state.apply_action(cell)
    assert state.is_terminal()
    assert state.returns() == (0.0, 0.0)
    assert len(state.history()) == GAME.max_game_length() == 17


def test_keys_forget_the_order_of_moves_and_nothing_else() -> None:
    assert play(0, 4, 8).key() == play(8, 4, 0).key()
    assert play(0, 4, 8).key() != play(0, 0, 4, 8).key()  # o knows more
    assert play(0, 4, 8).key() != play(4, 0, 8).key()


# -- OpenSpiel --------------------------------------------------------------------------------


def spiel_start() -> Any:
    spiel: Any = pytest.importorskip("pyspiel")
    return spiel.load_game("phantom_ttt").new_initial_state()


def test_histories_and_information_states_are_those_of_openspiel() -> None:
    """All histories of up to 4 actions fall into the same information states of the mover."""
    ours: dict[tuple[int, str], set[tuple[int, ...]]] = defaultdict(set)
    theirs: dict[tuple[int, str], set[tuple[int, ...]]] = defaultdict(set)
    frontier: list[tuple[State, Any]] = [(play(), spiel_start())]
    while frontier:
        state, other = frontier.pop()
        assert state.is_terminal() == other.is_terminal()
        mover, history = state.current_player(), tuple(state.history())
        assert mover == other.current_player()
        assert state.legal_actions() == other.legal_actions()
        ours[mover, state.information_state_string(mover)].add(history)
        theirs[mover, other.information_state_string(mover)].add(history)
        if len(history) < 4:
            frontier.extend((state.child(a), other.child(a)) for a in state.legal_actions())
    assert len(ours) == len(theirs) > 300
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, theirs.values()))


@pytest.mark.parametrize("seed", range(3))
def test_random_games_are_those_of_openspiel(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        state, other = play(), spiel_start()
        while not state.is_terminal():
            assert not other.is_terminal()
            assert state.current_player() == other.current_player()
            assert state.legal_actions() == other.legal_actions()
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            other.apply_action(action)
        assert other.is_terminal()
        assert tuple(other.returns()) == state.returns()
