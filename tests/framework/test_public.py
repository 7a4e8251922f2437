"""What all players learn alike, against values that follow from the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.framework.histories import state_after

from miai import State
from miai.public import private_part, public_part, public_state


def test_in_kuhn_poker_the_bets_are_public_and_the_cards_private() -> None:
    state = state_after("kuhn_poker", 4, 2, 0)  # K and J; the first player passes
    assert list(map(json.loads, public_state(state))) == [{"actor": -1}, {"actor": 0, "action": 0}]
    dealt = state_after("kuhn_poker", 4, 2)
    assert private_part(dealt, 0) == {"data": {"card": "K"}, "legal_actions": [0, 1]}
    assert private_part(dealt, 1) == {"data": {"card": "J"}, "legal_actions": []}


def test_in_phantom_tic_tac_toe_a_refusal_is_not_public() -> None:
    # x takes b2; o names it and is refused, then takes a3; x completes the row with a2 and c2.
    state = state_after("phantom_tic_tac_toe", 4, 4, 0, 3, 8, 5)
    x, o, end = {"actor": 0}, {"actor": 1}, {"actor": 0, "data": {"result": "x wins"}}
    assert list(map(json.loads, public_state(state))) == [x, o, x, o, end]
    refused = state_after("phantom_tic_tac_toe", 4, 4)
    assert (public_part(refused), private_part(refused, 0)) == (None, None)
    legal = [0, 1, 2, 3, 5, 6, 7, 8]
    own = {"actor": 1, "action": 4, "data": {"stood": False}, "legal_actions": legal}
    assert private_part(refused, 1) == own


def histories(state: State) -> Iterator[State]:
    yield state
    for action in state.legal_actions():
        yield from histories(state.child(action))


def test_whoever_cannot_tell_two_states_apart_has_one_public_state() -> None:
    """Brute force: all histories of Kuhn poker, by each player's information state."""
    seen: dict[tuple[int, str], tuple[str, ...]] = {}
    for state in histories(state_after("kuhn_poker")):
        for player in range(2):
            key = player, state.information_state_string(player)
            assert seen.setdefault(key, public_state(state)) == public_state(state)
    assert len(set(seen.values())) == 10  # 9 of betting, and the start
