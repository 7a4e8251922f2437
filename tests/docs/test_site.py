"""The pages that the documentation site generates from the registry and the packages."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import catalogue
import miai
from common import evidence
from miai.api import game_names
from miai.parameters import describe_parameters
from miai.plugins.loader import registry
from miai.testing import AGENT_RULES, GAME_RULES, RENDERER_RULES
from miai_tournaments.config.schema import TournamentConfig

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(DOCS / "pictures", folder / "pictures")
    catalogue.write_pages(folder)
    return folder


def test_every_game_and_every_agent_has_a_page_with_its_parameters(site: Path) -> None:
    for kind, folder in (("game", "games"), ("agent", "agents"), ("search", "agents")):
        for component in registry().components(kind):
            name = component.name if kind == "game" else catalogue.slug(component)
            if kind == "game" and component.needs_parameters:
                continue  # the page on programs is about it
            text = (site / "catalogue" / folder / f"{name}.md").read_text(encoding="utf-8")
            for parameter in describe_parameters(component.load_parameters()):
                assert f"`{parameter['name']}`\n: " in text, (name, parameter["name"])


def test_every_key_of_a_tournament_s_config_is_explained(site: Path) -> None:
    page = (site / "catalogue" / "config.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `\[+([\w.]+)\]+`$(.*?)(?=^## |\Z)", page, re.M | re.S))
    tables = {title.split(".")[0] for title in sections}
    assert tables == set(TournamentConfig.model_fields) - {"plugins"}
    for title, (model, *_) in catalogue.CONFIG.items():
        meanings = dict(re.findall(r"^`(\w+)`\n: (.+)$", sections[title.strip("[]")], re.M))
        assert set(meanings) == set(model.model_fields)
    assert "`memory`\n: Maximum mebibytes" in sections["limits"]
    assert "integer or null; from 16; to 16777216" in sections["limits"]


def test_every_rule_of_the_checks_is_explained(site: Path) -> None:
    page = (site / "catalogue" / "checks.md").read_text(encoding="utf-8")
    for rule in (*GAME_RULES, *AGENT_RULES, *RENDERER_RULES):
        assert f"- **{rule}**: " in page
    assert "playing on one leaves the other as it was." in page


def test_no_page_takes_the_place_of_one_that_sphinx_makes(site: Path) -> None:
    """A page named `search` left the search of the site without its results."""
    pages = {path.stem for folder in (DOCS, site) for path in folder.glob("*.md")}
    assert not pages & {"search", "genindex", "modindex", "py-modindex"}


def test_every_game_has_a_picture_that_needs_nothing_else(site: Path) -> None:
    drawn = {path.stem for path in (site / "catalogue" / "pictures").glob("*.svg")}
    assert drawn >= set(game_names())
    for name in drawn:
        picture = (site / "catalogue" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        used = set(re.findall(r'href="#([\w-]+)"', picture))
        defined = set(re.findall(r'id="([\w-]+)"', picture))
        assert used <= defined, used - defined


def test_pages_are_the_same_each_time(site: Path) -> None:
    paths = sorted((site / "catalogue").rglob("*.*"))
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
    catalogue.write_pages(site)
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
    assert before == after
    assert len(before) > 30


def test_pages_of_components_that_are_gone_are_removed(site: Path) -> None:
    stale = site / "catalogue" / "games" / "no_such_game.md"
    stale.write_text("# gone", encoding="utf-8")
    catalogue.write_pages(site)
    assert not stale.exists()


def test_what_was_measured_of_an_agent_is_on_its_page(site: Path) -> None:
    names = {c.name for kind in ("agent", "search") for c in registry().components(kind)}
    measured = [row for row in evidence.rows().values() if row.agents]
    assert {agent for row in measured for agent in row.agents} <= names
    page = (site / "catalogue" / "agents" / "go-alphago.md").read_text(encoding="utf-8")
    (row,) = (row for row in measured if row.name == "alphago-gnugo")
    assert row.result() in page
    assert (evidence.OLD in page) == any(r.is_old() for r in measured if "alphago" in r.agents)


def test_a_position_is_drawn_for_every_game() -> None:
    for name in game_names():
        game = miai.load_game(name)
        assert not catalogue.position_of(game).is_terminal()
        assert catalogue.picture_of(game)


def test_every_page_by_hand_is_in_a_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([\w/-]+)$", index, re.MULTILINE))
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages <= listed, pages - listed
