"""The table [format], seeds and teams: what contradicts itself is told by path before any game."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from miai.plugins.loader import registry
from miai_tournaments.config.load import Tournament, load_tournament
from miai_tournaments.formats.format import how_many

HEAD = '[tournament]\nname = "x"\n'
GAME = '[game]\nname = "tic_tac_toe"\n'
TWO = '[[players]]\nname = "ann"\nagent = "random"\n[[players]]\nname = "bob"\nagent = "random"\n'
DEEP = '[[players]]\nname = "deep"\nagent = "mcts"\n'
POKER = '[game]\nname = "kuhn_poker"\n'
MATCH = '[format]\nname = "match"\npairs = 9\n'
GO = '[game]\nname = "go"\nboard_size = 5\n'


def load(folder: Path, *parts: str) -> Tournament:
    path = folder / "x.toml"
    path.write_text("".join(parts))
    return load_tournament(path)


def test_a_round_robin_is_the_default_and_the_same_with_the_table(tmp_path: Path) -> None:
    plain = load(tmp_path, HEAD, GAME, TWO)
    output = load(tmp_path, HEAD, '[format]\nname = "round-robin"\n', GAME, TWO)
    own = load(tmp_path, HEAD, '[format]\nname = "round-robin"\nrounds = 10\n', GAME, TWO)
    for loaded in (plain, output, own):
        assert how_many(loaded.format) == "20 games"
        assert loaded.format.title() == "10 rounds"


PAGE = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1:]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_of_the_page_is_valid(tmp_path: Path, number: int) -> None:
    """With the tables that it leaves out."""
    text = EXAMPLES[number]
    missing = [part for part in (GAME, TWO) if part.partition("\n")[0] not in text]
    loaded = load(tmp_path, HEAD, text, *missing)
    assert loaded.format.most_games() > 1
    assert f"| `{loaded.config.format.name}` |" in PAGE


def test_the_page_names_every_format_and_its_parameters() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE))
    for component in registry().components("tournament-format"):
        for name in component.load_parameters().model_fields:
            assert f"`{name}`" in rows[component.name], (component.name, name)
