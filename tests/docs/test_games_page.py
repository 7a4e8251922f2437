"""The pages on games and terms, and the classics' README, say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import miai
from miai.api import game_names
from miai.errors import MiaiError
from miai.plugins.loader import registry

ROOT = Path(__file__).parents[2]
GAMES = (ROOT / "docs" / "games.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
SECTIONS = {text.splitlines()[0]: text for text in GAMES.split("\n## ")[1:]}


def test_every_game_has_a_section_with_its_players_and_parameters() -> None:
    components = {component.name: component for component in registry().components("game")}
    assert sorted(SECTIONS) == game_names()
    for name, text in SECTIONS.items():
        for player in miai.load_game(name).info.player_names:
            assert f"`{player}`" in text, name
        for parameter in components[name].load_parameters().model_fields:
            assert f"`{parameter}`" in text, name


@pytest.mark.parametrize("name", ["tic_tac_toe", "phantom_tic_tac_toe", "kuhn_poker"])
def test_actions_are_written_as_the_page_says(name: str) -> None:
    state = miai.load_game(name).new_initial_state()
    text = SECTIONS["tic_tac_toe" if name == "phantom_tic_tac_toe" else name]
    pairs = re.findall(r"`(\w+)` is (?:action )?(\d)", text) or re.findall(r"`(\w)` \((\d)\)", text)
    assert len(pairs) >= 3
    for written, action in pairs:
        assert state.action_to_string(int(action)) == written


def test_the_glossary_is_sorted_and_names_what_exists() -> None:
    terms = re.findall(r"^\*\*(.+?)\.\*\*", GLOSSARY, re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) > 30
    for name in re.findall(r"`([A-Z]\w+)(?:\.(\w+))?`", GLOSSARY):
        owner = getattr(miai, name[0])
        fields = {*dir(owner), *getattr(owner, "__annotations__", {})}
        assert not name[1] or name[1] in fields, name


def test_games_that_hide_information_say_so() -> None:
    """The page's words for them, and the error that asks for a belief."""
    for name in SECTIONS:
        game = miai.load_game(name)
        if not game.info.perfect_information:
            assert "Information state as text" in SECTIONS[name]
            with pytest.raises(MiaiError, match="belief"):
                _ = miai.PlayerView(game, 0).state
