"""Components that the framework brings itself."""

from __future__ import annotations

import pytest
from tests.framework.histories import seen_by

import miai
from miai.errors import BeliefTooLargeError, ParameterError
from miai.plugins.loader import registry


def belief_after(*moves: str, limit: int = 1000) -> miai.BeliefState[miai.State]:
    """Return what player 0 of phantom tic-tac-toe believes after some moves, by the component."""
    game = miai.load_game("phantom_tic_tac_toe")
    component = registry().get("belief", "enumerated", game=game.info.name)
    belief: miai.BeliefState[miai.State] = component.build(game, 0, values={"limit": limit})
    namer = game.new_initial_state()
    for observation in seen_by(game, 0, list(map(namer.string_to_action, moves))):
        belief.observe(observation)
    return belief


def test_beliefs_are_built_by_name_and_hold_the_worlds() -> None:
    # o is in one of eight cells, having bumped into b2 or not.
    assert len(belief_after("b2", "a1")) == 16


def test_its_limit_is_a_parameter() -> None:
    with pytest.raises(BeliefTooLargeError, match="more than 3 worlds"):
        belief_after("b2", "a1", limit=3)
    with pytest.raises(ParameterError, match="limit"):
        belief_after(limit=0)
