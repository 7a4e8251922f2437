"""What every state does, whatever the game."""

from __future__ import annotations

import numpy as np
import pytest
from tests.framework.histories import TTT, state_after
from tests.whole_texts import assert_transcript, refusal

import miai
from miai.errors import IllegalActionError, InvalidActionError, InvalidStateError


@pytest.fixture
def state() -> miai.State:
    return TTT.new_initial_state()


def test_an_action_may_be_a_number_of_numpy(state: miai.State) -> None:
    state.apply_action(int(np.int64(3)))
    state.apply_action(np.int64(4))  # type: ignore[arg-type]  # what is under test
    assert [type(action) for action in state.history()] == [int, int]
    assert state.serialize() == "[3,4]"


@pytest.mark.parametrize("action", [True, 1.5, None, "3", -1, 9, 10**30])
def test_invalid_actions_are_refused_and_change_nothing(state: miai.State, action: object) -> None:
    with pytest.raises(
        InvalidActionError,
        match=r"tic_tac_toe: (actions are integers below num_distinct_actions = 9|an action is an)",
    ):
        state.apply_action(action)  # type: ignore[arg-type]  # what is under test
    assert state.history() == []


def test_an_illegal_action_carries_the_position(state: miai.State) -> None:
    state.apply_action(4)
    with pytest.raises(IllegalActionError, match=r"4 \(b2\) is not legal here") as caught:
        state.apply_action(4)
    assert (caught.value.action, caught.value.position) == (4, "...\n.x.\n...")
    assert str(state) in str(caught.value)
    with pytest.raises(IllegalActionError, match="the game is over"):
        state_after(TTT, 0, 3, 1, 4, 2, 5)


def test_invalid_state_text_is_refused() -> None:
    read = TTT.deserialize
    assert_transcript("states.txt", lambda text: refusal(lambda: read(text)))
    for text in ("", "[" * 100_000):
        with pytest.raises(InvalidStateError, match="JSON list"):
            read(text)
