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
