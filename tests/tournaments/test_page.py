"""The page on tournaments: its configs are valid, and it names all commands, keys and defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.tournaments.support import RANDOMS, config_text, load, rule

from miai.plugins.loader import registry
from miai_tournaments.commands.tournament import app
from miai_tournaments.config.load import resolved_rules
from miai_tournaments.formats.format import how_many

PAGE = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)[::-1])  # the first of a language
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1:]

HEAD = '[tournament]\nname = "x"\n'
GAME = '[game]\nname = "tic_tac_toe"\n'
TWO = '[[players]]\nname = "ann"\nagent = "random"\n[[players]]\nname = "bob"\nagent = "random"\n'


def test_its_config_is_valid(tmp_path: Path) -> None:
    tournament = load(tmp_path, BLOCKS["toml"])
    assert [player.name for player in tournament.players] == ["mcts-1000", "gnugo"]


def test_its_commands_are_those_that_exist() -> None:
    known = {command.callback.__name__ for command in app.registered_commands if command.callback}
    output = set(re.findall(r"^miai tournament (\w+)", BLOCKS["sh"], re.MULTILINE))
    assert output == known


def test_settings_of_the_page_work(tmp_path: Path) -> None:
    settings = [s for s in re.findall(r"`--set ([^`]+)`", PAGE) if "path=" not in s]
    assert len(settings) == 4
    tournament = load(tmp_path, BLOCKS["toml"], *settings)
    assert tournament.config.tournament.rounds == 20
    assert tournament.players[0].given == {"simulations": 500}


# -- the tables [format] and [adjudication] -------------------------------------------------------


def test_a_round_robin_is_the_default_and_the_same_with_the_table(tmp_path: Path) -> None:
    for table in ("", '[format]\nname = "round-robin"\n'):
        for rounds in ("", "rounds = 10\n") if table else ("",):
            loaded = load(tmp_path, f"{HEAD}{table}{rounds}{GAME}{TWO}")
            assert how_many(loaded.format) == "20 games"
            assert loaded.format.title() == "10 rounds"


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_of_the_page_is_valid(tmp_path: Path, number: int) -> None:
    """With the tables that it leaves out."""
    text = EXAMPLES[number]
    missing = [part for part in (GAME, TWO) if part.partition("\n")[0] not in text]
    loaded = load(tmp_path, "".join([HEAD, text, *missing]))
    assert loaded.format.most_games() > 1
    assert f"| `{loaded.config.format.name}` |" in PAGE


def test_the_page_names_every_format_and_its_parameters() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE))
    for component in registry().components("tournament-format"):
        for name in component.load_parameters().model_fields:
            assert f"`{name}`" in rows[component.name], (component.name, name)


def test_rules_are_read_in_their_order_with_their_defaults(tmp_path: Path) -> None:
    text = config_text(*RANDOMS, adjudication={"hold_out": 0.25})
    text += rule("solved", "nodes = 7") + rule("resign-agreement")
    output = resolved_rules(load(tmp_path, text).config)
    assert output == {
        "hold_out": 0.25,
        "order": ["solved", "resign-agreement"],
        "rules": {
            "solved": {"nodes": 7},
            "resign-agreement": {"below": -0.9, "moves": 3, "from_ply": 0},
        },
    }
    changed = load(tmp_path, text, "adjudication.rules[solved].nodes=8", "adjudication.hold_out=1")
    assert resolved_rules(changed.config)["rules"]["solved"] == {"nodes": 8}


def test_a_config_without_rules_has_none(tmp_path: Path) -> None:
    output = resolved_rules(load(tmp_path, config_text(*RANDOMS)).config)
    assert output == {"hold_out": 0.0, "order": [], "rules": {}}


def test_the_page_names_every_rule_with_its_parameters_and_their_defaults() -> None:
    section = PAGE.partition("## Adjudication")[2]
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| .* \| (.*) \|$", section, re.MULTILINE))
    for component in registry().components("adjudicator"):
        output = rows[component.name]
        for name, info in component.load_parameters().model_fields.items():
            default = "none" if info.is_required() else f"{info.get_default():g}"
            assert re.search(rf"`{name}` \({default}[:)]", output), (component.name, name)
