"""The page on tournaments: its config is valid, its commands and keys are those that exist."""

from __future__ import annotations

import re
from pathlib import Path

from miai_tournaments.commands.tournament import app
from miai_tournaments.config.load import load_tournament

PAGE = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)[::-1])  # the first of a language


def test_its_config_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(BLOCKS["toml"])
    tournament = load_tournament(path)
    assert [player.name for player in tournament.players] == ["mcts-1000", "gnugo"]


def test_its_commands_are_those_that_exist() -> None:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    output = set(re.findall(r"^miai tournament (\w+)", BLOCKS["sh"], re.MULTILINE))
    assert output == known


def test_settings_of_the_page_work(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(BLOCKS["toml"])
    settings = re.findall(r"`--set ([^`]+)`", PAGE)
    settings = [s for s in settings if "path=" not in s]
    assert len(settings) == 4
    tournament = load_tournament(path, settings)
    assert tournament.config.tournament.rounds == 20
    assert tournament.players[0].given == {"simulations": 500}
