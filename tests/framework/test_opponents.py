"""Opponents by strength."""

from __future__ import annotations

import pytest

import miai
from miai.api import game_names, opponents_of
from miai.plugins.kinds import AGENT
from miai.plugins.loader import registry

GAMES = game_names()


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_opponents_with_valid_parameters(name: str) -> None:
    game = miai.load_game(name)
    ranks = opponents_of(game)
    assert len(ranks) > 1
    assert len({opponent.name for opponent in ranks}) == len(ranks)
    for opponent in ranks:
        registry().get(AGENT, opponent.agent, game=name).fill(opponent.parameters)
        assert opponent.summary


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "phantom_tic_tac_toe"])
def test_the_default_opponents_play_and_the_last_is_stronger_than_the_first(name: str) -> None:
    game = miai.load_game(name)
    ranks = opponents_of(game)
    weak, strong = ranks[0], ranks[-1]
    points = 0.0
    for seed in range(12):
        players = [
            miai.make_agent(o.agent, game, seed=seed, **o.parameters)
            for o in ((weak, strong) if seed % 2 else (strong, weak))
        ]
        points += miai.play(game, players, seed=seed).returns[seed % 2]
    assert points >= 6
