"""Opponents by strength."""

from __future__ import annotations

import pytest

import miai
from miai.api import game_names, opponents_of
from miai.playing.opponents import Opponent
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


@pytest.mark.parametrize(("name", "search"), [("pig", "mcts"), ("kuhn_poker", "ismcts")])
def test_a_game_without_opponents_has_random_moves_and_growing_searches(
    name: str, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = miai.load_game(name)
    random, *searches = opponents_of(game)
    assert random == Opponent(name="random", agent="random", summary="random moves")
    assert searches == [
        Opponent(
            name=f"{search}-{count}",
            agent=search,
            parameters={"simulations": count},
            summary=f"{search}, {count:,} simulations per move",
        )
        for count in (10, 100, 1000)
    ]
    stranger = Opponent(name="stranger", agent="unknown", summary="")
    monkeypatch.setattr("miai.api._default", lambda game: [random, stranger])
    assert opponents_of(game) == [random]


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
