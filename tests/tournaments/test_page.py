"""The page on tournaments: its config is valid, its commands and keys are those that exist."""

from __future__ import annotations

import re
from pathlib import Path

from miai_tournaments.commands.tournament import app
from miai_tournaments.config import schema
from miai_tournaments.config.load import load_tournament

PAGE = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_its_config_is_valid_and_says_what_the_defaults_are(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(block("toml"))
    tournament = load_tournament(path)
    assert [player.name for player in tournament.players] == ["mcts-1000", "gnugo"]
    sections: dict[str, type[schema.ConfigSection]] = {
        "tournament": schema.TournamentSection,
        "time": schema.TimeSection,
        "openings": schema.OpeningsSection,
        "run": schema.RunSection,
    }
    for name, model in sections.items():
        table = re.search(rf"^\[{name}\](.*?)^\[", block("toml"), re.DOTALL | re.MULTILINE)
        assert table
        keys = set(re.findall(r"^(?:# )?(\w+) =", table[1], re.MULTILINE))
        hidden = {"periods", "period_seconds", "move_deadline"}  # of byo-yomi, and rarely needed
        assert keys <= set(model.model_fields) <= keys | hidden | {"parameters"}
    defaults = re.findall(r"^(\w+) = .*\(default (\w+)\)", block("toml"), re.MULTILINE)
    assert dict(defaults) == {"seed": "0", "rounds": "10"}
    assert schema.TournamentSection(name="x").rounds == 10
    for key in ("grace", "warm_agents"):
        assert f"{key} = {getattr(schema.RunSection(), key)}" in block("toml")


def test_its_commands_are_those_that_exist() -> None:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    told = set(re.findall(r"^miai tournament (\w+)", block("sh"), re.MULTILINE))
    assert told == known


def test_settings_of_the_page_work(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(block("toml"))
    settings = re.findall(r"`--set ([^`]+)`", PAGE)
    settings = [s for s in settings if "path=" not in s]
    assert len(settings) == 4
    tournament = load_tournament(path, settings)
    assert tournament.config.tournament.rounds == 20
    assert tournament.players[0].given == {"simulations": 500}
