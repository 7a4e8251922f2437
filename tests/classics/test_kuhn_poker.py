"""Kuhn poker: the deal, who sees what, and all histories beside OpenSpiel."""

from __future__ import annotations

from typing import Any

import pytest
from tests.framework.histories import state_after
from tests.framework.test_public import histories


def test_every_history_is_that_of_openspiel() -> None:
    spiel: Any = pytest.importorskip("pyspiel")
    start = spiel.load_game("kuhn_poker").new_initial_state()
    for state in histories(state_after("kuhn_poker")):
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
