"""What every state does, whatever the game."""

from __future__ import annotations

import numpy as np
import pytest
from tests.whole_texts import assert_transcript, refusal

import miai
from miai.errors import IllegalActionError, InvalidActionError, InvalidStateError


@pytest.fixture
def state() -> miai.State:
    return miai.load_game("tic_tac_toe").new_initial_state()


def test_an_action_may_be_a_number_of_numpy(state: miai.State) -> None:
    state.apply_action(int(np.int64(3)))
    state.apply_action(np.int64(4))  # type: ignore[arg-type]  # what is under test
    assert [type(action) for action in state.history()] == [int, int]
    assert state.serialize() == "[3,4]"


@pytest.mark.parametrize("action", [True, 1.5, None, "3", -1, 9, 10**30])
def test_invalid_actions_are_refused_and_change_nothing(state: miai.State, action: object) -> None:
    with pytest.raises(InvalidActionError, match="tic_tac_toe"):
        state.apply_action(action)  # type: ignore[arg-type]  # what is under test
    assert state.history() == []


def test_an_illegal_action_carries_the_position(state: miai.State) -> None:
    state.apply_action(4)
    with pytest.raises(IllegalActionError) as caught:
        state.apply_action(4)
    assert caught.value.action == 4
    assert caught.value.position == str(state)
    assert str(state) in str(caught.value)


def test_nothing_is_legal_after_the_end(state: miai.State) -> None:
    for action in (0, 3, 1, 4, 2):
        state.apply_action(action)
    with pytest.raises(IllegalActionError, match="the game is over"):
        state.apply_action(5)


def test_invalid_state_text_is_refused() -> None:
    read = miai.load_game("tic_tac_toe").deserialize
    assert_transcript("states.txt", lambda text: refusal(lambda: read(text)))
    for text in ("", "[" * 100_000):
        with pytest.raises(InvalidStateError, match="JSON list"):
            read(text)
