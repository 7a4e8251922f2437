"""Every installed game is played by clicks in its picture, which shows what its player knows."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from tests.framework.histories import state_after, view_of
from tests.framework.twin_histories import ALL_SEEING
from tests.slow import with_slow

import miai
from miai import Game, PlayerView, State
from miai.api import game_names, renderer_for
from miai.render import BeliefDrawingRenderer, Clickable, ExplainedRenderer
from miai.testing import check_renderer

GAMES = game_names()
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in GAMES if name != "go"),
    ("go", {"board_size": 5}),
    ("go", {"board_size": 3, "dead_stones": "agreement"}),
    ("goofspiel", {"players": 3, "imp_info": True, "num_cards": 4}),
    ("goofspiel", {"imp_info": True, "points_order": "descending"}),
    ("mini_rbc", {"size": 4, "window": 2, "decoy": True}),
    ("mini_rbc", {"size": 6, "window": 4}),
    ("pig", {"players": 6, "goal": 12}),
]
IDS = ["-".join(map(str, (name, *values.values()))) for name, values in VARIANTS]
BUTTONS = {"pass", "resume", "sense -", "bet", "hold"}
"""Actions without a place of their own on a board."""


def clickable(game: Game) -> Clickable:
    renderer = renderer_for(game)
    assert isinstance(renderer, Clickable)
    return renderer


def decisions(game: Game, seed: int, *, plies: int = 80) -> Iterator[tuple[State, PlayerView]]:
    """Play a random game, and yield each position in which a player decides, with its view."""
    print("seed", seed)
    rng = random.Random(seed)
    state = game.new_initial_state()
    views = [PlayerView(game, player) for player in range(game.num_players())]
    while True:
        for view in views:
            observation = state.observation(view.player)
            if observation is not None:
                view.observe(observation)
        if state.is_terminal() or state.move_number() >= plies:
            return
        if not state.is_chance_node():
            yield state, views[state.next_actor()]
        state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param(
            name,
            values,
            id=identity,
            marks=[pytest.mark.slow] if "rbc" in name or "dark" in name else [],
        )
        for (name, values), identity in zip(VARIANTS, IDS, strict=True)
    ],
)
def test_renderers_keep_the_rules(name: str, values: dict[str, Any]) -> None:
    game = miai.load_game(name, **values)
    assert isinstance(renderer_for(game), Clickable)
    assert check_renderer(game, seed=1, games=1, max_plies=24).positions > 3


COLOURS = re.compile(r'(?:stroke|fill)="(#[0-9a-f]{6})"')


@pytest.mark.parametrize(("name", "values"), with_slow(VARIANTS, *VARIANTS[-3:-1]), ids=IDS)
def test_each_mark_in_a_picture_is_in_the_legend(name: str, values: dict[str, Any]) -> None:
    """Colours that only some positions have are signs, unless they are those of pieces."""
    game = miai.load_game(name, **values)
    renderer = renderer_for(game)
    if name in ("goofspiel", "kuhn_poker", "pig"):  # cards and dice explain themselves
        assert not isinstance(renderer, ExplainedRenderer)
        return
    assert isinstance(renderer, ExplainedRenderer)
    drawn: set[str] = set()
    for seed in range(2):
        for _, view in decisions(game, seed):
            drawn |= set(COLOURS.findall(renderer.svg(view)))
    explained = {c for sample, _ in renderer.legend() for c in COLOURS.findall(sample)}
    assert drawn - explained <= PIECES_AND_TEXT.get(name, {"#222222", "#ffffff", "#f6f3ec"})


PIECES_AND_TEXT = {
    "go": {"#111111", "#fbfbfb"},
    "tic_tac_toe": {"#0072b2", "#d55e00"},
    "phantom_tic_tac_toe": {"#222222", "#0072b2", "#d55e00"},
}
"""Colours of marks that belong to players, and of captions."""


@pytest.mark.parametrize(("name", "values"), VARIANTS, ids=IDS)
@pytest.mark.parametrize("seed", with_slow(range(3), 1, 2))
def test_every_legal_action_is_a_click_or_a_button(
    name: str, values: dict[str, Any], seed: int
) -> None:
    game = miai.load_game(name, **values)
    renderer = clickable(game)
    count = 0
    for state, view in decisions(game, seed):
        count += 1
        actions = renderer.clicks(view).actions
        legal = set(state.legal_actions())
        buttons = {state.action_to_string(action) for action in legal - set(actions)}
        assert buttons <= BUTTONS
        by_path = defaultdict(list)
        for action, path in actions.items():
            by_path[path].append(state.action_to_string(action))
        for texts in by_path.values():
            assert len(texts) == 1 or {text[:4] for text in texts} == {texts[0][:4]}
            assert len(texts) == 1 or name in ("rbc", "dark-chess")
    assert count > 1


# -- beliefs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "values"), [("phantom_tic_tac_toe", {}), ("mini_rbc", {})])
@pytest.mark.parametrize("seed", range(2))
def test_beliefs_are_as_orange_as_their_worlds_say(
    name: str, values: dict[str, Any], seed: int
) -> None:
    game = miai.load_game(name, **values)
    renderer = renderer_for(game)
    assert isinstance(renderer, BeliefDrawingRenderer)
    coloured = 0
    for state, view in decisions(game, seed, plies=14):
        if (name, view.player) in ALL_SEEING:
            continue
        belief = miai.EnumeratedBelief(game, view.player)
        for observation in view.observations:
            belief.observe(observation)
        belief.weights = [
            2 * n / len(belief) / (len(belief) + 1) for n in range(1, len(belief) + 1)
        ]
        drawn = renderer.svg_belief(belief, view, state)
        heat = {
            (float(x), float(y)): float(opacity)
            for path, opacity in re.findall(r'd="([^"]*)" fill="#e69f00" opacity="([\d.]+)"', drawn)
            for x, y in re.findall(r"M(\d+) (\d+)h", path)
        }
        hidden = {"x": "o", "o": "x", "white": "kd", "hunter": "nesw"}
        letters = hidden[game.info.player_names[view.player]]
        texts = ["".join(str(world).split()) for world in belief]
        idle = clickable(game).clicks(PlayerView(game, 0)).regions
        order = sorted(idle, key=lambda region: (region.box[1], region.box[0]))
        assert len(order) == len(texts[0])
        for cell, region in enumerate(order):
            share = sum(
                w for text, w in zip(texts, belief.weights, strict=True) if text[cell] in letters
            )
            drawn_share = heat.get(region.box[:2], 0)
            assert drawn_share == pytest.approx(max(share, 0.1) if share else 0, abs=0.0501)
            coloured += share > 0
    assert coloured > 5


# -- the small blind games -------------------------------------------------------------------------


def test_mini_rbc_moves_from_square_to_square() -> None:
    game = miai.load_game("mini_rbc")
    renderer, namer = clickable(game), game.new_initial_state()
    view = view_of(game, 0, state_after(game, "@e5", "sense c3").history())
    clicks = renderer.clicks(view)
    paths = {namer.action_to_string(action): path for action, path in clicks.actions.items()}
    assert paths["Kb2"] == ("b1", "b2")
    assert paths["Ra4"] == ("a1", "a4")
    others = set(view.legal_actions) - set(clicks.actions)
    assert [namer.action_to_string(action) for action in others] == ["pass"]
    # The king that was seen is drawn on its square, and no square is grey.
    svg = renderer.svg(view)
    assert "sensed: king on e5" in svg
    region = next(region for region in clicks.regions if region.name == "e5")
    king = r'<use href="#mini_rbc-king" transform="translate\((\d+) (\d+)\)[^"]*" fill="#222222"'
    ((x, y),) = re.findall(king, svg)
    assert (float(x), float(y)) == region.box[:2]
    assert 'opacity="0.5"' not in svg
    black = view_of(game, 1, state_after(game, "@e5", "sense c3", "Kb2").history())
    paths = {namer.action_to_string(a): p for a, p in renderer.clicks(black).actions.items()}
    assert paths["kd4"] == ("e5", "d4")
