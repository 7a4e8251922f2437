"""Reconnaissance Blind Chess keeps the rules that `miai.testing` checks, with its own belief."""

from __future__ import annotations

import random

import pytest
from tests.rbc.games import follow, rbc
from tests.seeds import seed_of_test

import miai
from miai import Game, State
from miai.information import BeliefState
from miai.testing import check_game
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.rules.game import RbcGame

ENDGAME = "8/8/4k3/8/8/3K4/4P3/8 w - - 0 1"


def exact(game: Game, player: int) -> BeliefState[State]:
    assert isinstance(game, RbcGame)
    return RbcBelief(game, player, limit=20_000)


@pytest.mark.parametrize(
    ("limits", "turns"),
    [
        ({"full_turn_limit": 10}, 20),
        ({"full_turn_limit": None, "reversible_moves_limit": 4}, 4 * 127),
        ({"full_turn_limit": 10_000, "reversible_moves_limit": 4}, 4 * 127),
    ],
)
def test_a_game_is_as_long_as_its_limits_allow(limits: dict[str, int | None], turns: int) -> None:
    """Of 126 moves that cannot be taken back, 96 are steps of pawns and 30 captures."""
    assert rbc(**limits).max_game_length() == 2 * turns


@pytest.mark.slow
@pytest.mark.parametrize("fen", [ENDGAME, "8/P3k3/8/8/8/8/3K3p/8 b - - 3 9"])
def test_the_game_and_its_belief_keep_the_rules(fen: str) -> None:
    report = check_game(rbc(fen=fen, full_turn_limit=12), games=2, seed=5, belief=exact)
    assert report.games == 2
    assert report.beliefs > 20


def test_the_clocks_of_worlds_are_what_the_player_can_know() -> None:
    seed = seed_of_test()
    output = 0
    for played in follow(rbc(fen=ENDGAME), random.Random(seed), 60, limit=5_000):
        for belief in played.beliefs:
            assert belief.fullmove_number == played.state.fullmove_number
            assert belief.quiet >= played.state.halfmove_clock
            output += belief.quiet == played.state.halfmove_clock
            assert next(iter(belief)).halfmove_clock == belief.quiet
    assert output


def test_searches_over_worlds_play_it_on_its_own_belief() -> None:
    game = rbc(full_turn_limit=3)
    agents = [miai.make_agent("ismcts", game, simulations=2, seed=1)]
    agents.append(miai.make_agent("pimc", game, simulations=2, worlds=2, seed=1))
    record = miai.play(game, agents, seed=1)
    assert record.termination == "terminal", record.detail
    assert all(move.statistics["belief"] for move in record.moves)
