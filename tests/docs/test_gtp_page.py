"""The page on GTP: its settings of engines work, those of GNU Go in games."""

from __future__ import annotations

import contextlib
import re
import tomllib
from typing import Any

import pytest
from tests.docs.page_parts import blocks, page

import miai
from miai.parameters import build_parameters
from miai_go.gtp.engine_parameters import GtpParameters
from miai_go.rules.game import GoGame
from miai_tournaments.config.schema import LimitsSection, TournamentConfig

BLOCKS = [tomllib.loads(block) for block in blocks(page("gtp"), "toml")]
(GAME,) = [block for block in BLOCKS if "openings" in block]
PLAYERS: dict[str, dict[str, Any]] = {
    player["name"]: player for block in BLOCKS for player in block.get("players", ())
}
OPTIONS = dict(re.findall(r"^\| `([\w-]+)` \| `(--.*)` \|$", page("gtp"), re.M))


def test_its_settings_are_accepted() -> None:
    (limits,) = [block["limits"] for block in BLOCKS if "limits" in block]
    assert LimitsSection(**limits).new_game_seconds > 60
    assert len(PLAYERS) == 4
    for player in PLAYERS.values():
        given = {key: value for key, value in player.items() if key not in ("name", "agent")}
        build_parameters(GtpParameters, given)
    config = {**GAME, "tournament": {"name": "guests"}, "players": list(PLAYERS.values())}
    assert len(TournamentConfig(**config).players) == 4


@pytest.mark.slow
@pytest.mark.engine("gnugo")
def test_gnu_go_plays_the_game_of_the_page() -> None:
    """With the page's options, but at its lowest level, which answers at once."""
    settings = dict(GAME["game"])
    game = miai.load_game(settings.pop("name"), **settings)
    assert isinstance(game, GoGame)
    assert not game.rules.suicide
    command = PLAYERS["gnugo"]["command"].replace("--level 10 ", "--level 1 ")
    assert "--level 1 " in command
    with contextlib.closing(miai.make_agent("gtp", game, command=command)) as gnugo:
        record = miai.play(game, [gnugo, miai.make_agent("fast-random", game)], seed=1)
    assert record.returns[0] == 1.0, record.detail


@pytest.mark.engine("gnugo")
@pytest.mark.parametrize("rules", sorted(OPTIONS))
def test_gnu_go_accepts_every_game_with_its_options(rules: str) -> None:
    game = miai.load_game("go", board_size=9, rules=rules)
    command = f"gnugo --mode gtp --level 1 {OPTIONS[rules]} --seed {{seed}}"
    with contextlib.closing(miai.make_agent("gtp", game, command=command)) as gnugo:
        gnugo.new_game(1, player=0)


def test_there_are_options_for_every_preset() -> None:
    assert sorted(OPTIONS) == ["aga", "chinese", "japanese", "tromp-taylor"]
