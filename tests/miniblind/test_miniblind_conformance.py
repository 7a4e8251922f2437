"""The games keep the contract of games, and agents play them."""

from __future__ import annotations

from typing import Any

import pytest

import miai
from miai.testing import check_game

GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "mini_rbc": ("mini_rbc", {"max_turns": 6}),
    "decoy": ("mini_rbc", {"size": 4, "window": 2, "decoy": True, "max_turns": 4}),
    "one decoy start": ("mini_rbc", {"decoy": True, "starts": ["e5d4", "d4e5"], "max_turns": 2}),
    "phantom_lines": ("phantom_lines", {}),
    "3x4": ("phantom_lines", {"columns": 4, "own": ["a1", "d3"]}),
    "sub_hunt": ("sub_hunt", {"size": 4, "max_turns": 3}),
    "no pings": ("sub_hunt", {"size": 3, "pings": 0, "blast": 1, "max_turns": 6}),
}


@pytest.mark.parametrize(("name", "values"), GAMES.values(), ids=GAMES)
def test_games_keep_their_contract(name: str, values: dict[str, Any]) -> None:
    report = check_game(miai.load_game(name, **values), games=4)
    assert report.beliefs > 15
    assert report.skipped == ()


@pytest.mark.parametrize("name", ["mini_rbc", "phantom_lines", "sub_hunt"])
def test_agents_play_them(name: str) -> None:
    game = miai.load_game(name)
    record = miai.play(game, [miai.make_agent("random", game) for _ in range(2)], seed=1)
    assert record.loser is None  # nobody forfeited
    assert sum(record.returns) == 0
    assert len(record.moves) > 3
