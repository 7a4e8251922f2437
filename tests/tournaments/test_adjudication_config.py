"""The table [adjudication]: what cannot judge the games is told by path before any of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tournaments.support import RANDOMS, config_text, rule

from miai.plugins.loader import registry
from miai_tournaments.config.load import Tournament, load_tournament, resolved_rules

GO = {"name": "go", "board_size": 5, "komi": 7}
TERRITORY = {"name": "go", "board_size": 5, "rules": "japanese"}
PAIRINGS = (
    '[format]\nname = "pairings"\n[[format.pairings]]\nfirst = "ann"\nsecond = "bob"\n'
    "settings = {komi = 6.5}\n[[format.pairings]]\nfirst = 'cid'\nsecond = 'bob'\n"
)


def load(folder: Path, text: str, *settings: str) -> Tournament:
    path = folder / "x.toml"
    path.write_text(text)
    return load_tournament(path, settings)


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


PAGE = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")


def test_the_page_names_every_rule_with_its_parameters_and_their_defaults() -> None:
    section = PAGE.partition("## Adjudication")[2]
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| .* \| (.*) \|$", section, re.MULTILINE))
    for component in registry().components("adjudicator"):
        output = rows[component.name]
        for name, info in component.load_parameters().model_fields.items():
            default = "none" if info.is_required() else f"{info.get_default():g}"
            assert re.search(rf"`{name}` \({default}[:)]", output), (component.name, name)
