"""What pages say of games, agents, searches, bounds and ratings is so."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import scipy
from tests.docs.page_parts import page, rows, section

import miai
from miai.api import game_names
from miai.beliefs.sets import numbers
from miai.errors import MiaiError
from miai.plugins.loader import registry
from miai.search.mcts import MctsParameters
from miai_miniblind.boards import square_name
from miai_miniblind.phantom_lines import sensing_lines
from miai_tournaments.ratings.ratings import ELO, PRIOR_GAMES
from miai_tournaments.ratings.sprt import Sprt

SECTIONS = {text.splitlines()[0]: text for text in page("games").split("\n## ")[1:]}


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


def test_games_that_hide_information_say_so() -> None:
    """The page's words for them, and the error that asks for a belief."""
    for name in SECTIONS:
        game = miai.load_game(name)
        if not game.info.perfect_information:
            assert "Information state as text" in SECTIONS[name]
            with pytest.raises(MiaiError, match="belief"):
                _ = miai.PlayerView(game, 0).state


def test_the_glossary_is_sorted_and_names_what_exists() -> None:
    terms = re.findall(r"^\*\*(.+?)\.\*\*", page("glossary"), re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) > 30
    for name in re.findall(r"`([A-Z]\w+)(?:\.(\w+))?`", page("glossary")):
        owner = getattr(miai, name[0])
        fields = {*dir(owner), *getattr(owner, "__annotations__", {})}
        assert not name[1] or name[1] in fields, name


def test_the_page_on_miniblind_names_the_diagonals_in_their_order() -> None:
    diagonals = sensing_lines(4)[7:]
    named = [[square_name(cell, 4) for cell in numbers(line)] for line in diagonals]
    assert f"in the order {', '.join(''.join(cells) for cells in named)}" in page("miniblind")


def test_the_page_on_searches_names_parameters_and_evaluators() -> None:
    named = rows(page("searches"))
    evaluators = {component.name for component in registry().components("evaluator")}
    assert named <= evaluators | set(MctsParameters.model_fields)
    assert {"random-rollout", "zero", "selection", "batch"} <= named


def test_the_page_on_beliefs_names_all_bounds_and_retention_policies() -> None:
    text = section(page("belief-search"), "Bounds and retention")
    for component in [*registry().components("bounds"), *registry().components("retention")]:
        if component.plugin == "miai":
            assert f"`{component.name}`" in text


def test_the_prior_spreads_players_as_the_page_on_ratings_says() -> None:
    found = re.findall(r"(?:by|of) (\d+) Elo", page("ratings"))
    spreads = dict(zip((0.5, 1.0), found, strict=False))
    for games, output in spreads.items():

        def density(x: float, games: float = games) -> float:
            return float((2 * np.cosh(x / 2)) ** -games)

        total = scipy.integrate.quad(density, -200, 200)[0]
        second = scipy.integrate.quad(lambda x: x * x * density(x), -200, 200)[0]
        assert ELO * math.sqrt(second / total) == pytest.approx(int(output), abs=1)
    assert len(spreads) == 2
    assert PRIOR_GAMES == 0.5


def test_the_bounds_of_the_page_on_ratings_are_those_configured() -> None:
    sprt = Sprt(0, 20)
    assert f"±{sprt.upper:.2f}" in page("ratings")
    assert sprt.lower == -sprt.upper
