"""The page on tournaments: its config is valid, its commands and keys are those that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from miai_tournaments.commands.tournament import app
from miai_tournaments.config import schema
from miai_tournaments.config.load import load_tournament

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tournaments.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_its_config_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(block("toml"))
    tournament = load_tournament(path)
    assert [player.name for player in tournament.players] == ["mcts-1000", "gnugo"]


# The reference of all keys

TABLES: dict[str, type[schema.ConfigSection]] = {
    "[tournament]": schema.TournamentSection,
    "[format]": schema.FormatSection,
    "[game]": schema.GameSection,
    "[time]": schema.TimeSection,
    "[openings]": schema.OpeningsSection,
    "[openings.balance]": schema.BalanceSection,
    "[adjudication]": schema.AdjudicationSection,
    "[[adjudication.rules]]": schema.RuleSection,
    "[limits]": schema.LimitsSection,
    "[run]": schema.RunSection,
    "[[players]]": schema.PlayerSection,
}
DRAWN = "drawn"


def reference() -> dict[str, list[list[str]]]:
    """Return the rows of each table of the reference: key, value, default, meaning."""
    page = (DOCS / "tournament-config.md").read_text(encoding="utf-8")
    return {
        title: [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in part.splitlines()
            if line.startswith("| `")
        ]
        for title, part in re.findall(
            r"^## `([^`]*)`$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
        )
    }


def test_the_reference_has_every_table() -> None:
    assert set(reference()) == set(TABLES)
    used = set(schema.TournamentConfig.model_fields) - {"plugins"}  # is above the tables
    assert {title.strip("[]").split(".")[0] for title in TABLES} == used


@pytest.mark.parametrize("title", TABLES)
def test_the_reference_has_every_key_with_its_default_and_bounds(title: str) -> None:
    fields = dict(TABLES[title].model_fields)
    fields = {name: field for name, field in fields.items() if not name.endswith("parameters")}
    rows = reference()[title]
    assert [row[0].strip("`") for row in rows] == list(fields)
    for (_, value, default, meaning), field in zip(rows, fields.values(), strict=True):
        if field.default_factory is not None:
            assert default == DRAWN
        elif title == "[format]":
            assert (
                default.strip('`"') == schema.TournamentConfig.model_fields["format"].default.name
            )
        elif field.is_required():
            assert default == "required"
        elif field.default is None or field.default == ():
            assert default == "none"
        else:
            assert tomllib.loads(f"x = {default.strip('`')}") == {"x": field.default}
        bounds = [
            2.0 ** int(bound[2:]) if "^" in bound else float(bound)
            for bound in re.findall(r"(?:from|to|above|below) ([\d.,^]+)", value.replace(",", ""))
        ]
        expected = [
            float(getattr(limit, name))
            for limit in field.metadata
            for name in ("ge", "gt", "le", "lt")
            if hasattr(limit, name)
        ]
        assert bounds == expected
        assert meaning.endswith(".")


def test_its_commands_are_those_that_exist() -> None:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    output = set(re.findall(r"^miai tournament (\w+)", block("sh"), re.MULTILINE))
    assert output == known


def test_settings_of_the_page_work(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(block("toml"))
    settings = re.findall(r"`--set ([^`]+)`", PAGE)
    settings = [s for s in settings if "path=" not in s]
    assert len(settings) == 4
    tournament = load_tournament(path, settings)
    assert tournament.config.tournament.rounds == 20
    assert tournament.players[0].given == {"simulations": 500}
