"""Where to click on a board of Go: at the points that the picture shows, and nowhere else."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from tests.go.positions import go, play
from tests.whole_texts import assert_expected

from miai import PlayerView
from miai.api import renderer_for
from miai.render import Clickable, Clicks
from miai_go.rules.game import GoState, Phase
from miai_go.rules.render import BoardPart, GoRenderer, board_definitions

MARGIN, CELL = 24, 20


def renderer_of(state: GoState) -> Clickable:
    renderer = renderer_for(state.game)
    assert isinstance(renderer, Clickable)
    return renderer


def clicks_of(state: GoState) -> Clicks:
    return renderer_of(state).clicks(PlayerView.at(state, state.current_player()))


@pytest.mark.parametrize("size", [2, 9, 19, 25])
def test_points_are_where_their_coordinates_are_drawn(size: int) -> None:
    state = go(board_size=size).new_initial_state()
    renderer = renderer_of(state)
    root = ElementTree.fromstring(str(renderer.svg_definitions()))
    labels = {t.text: (float(t.attrib["x"]), float(t.attrib["y"])) for t in root.iter("text")}
    regions = clicks_of(state).regions
    assert len(regions) == size * size
    for region in regions:
        x, y, width, height = region.box
        assert x + width / 2 == labels[region.name[0]][0]
        assert y + height / 2 == labels[region.name[1:]][1] - 4  # the base line is a bit lower
        assert width == height == CELL  # so that the regions touch, and none covers another


@pytest.mark.parametrize("vertex", ["A1", "J9", "C7", "H2", "J1"])
def test_a_stone_appears_where_it_was_clicked(vertex: str) -> None:
    state = play(go(board_size=9).new_initial_state(), vertex)
    renderer = renderer_of(state)
    svg = renderer.svg(PlayerView.at(state, 1))
    ((column, row),) = re.findall(r'd="M(\d+) (\d+)h0" stroke="#111111"', svg)
    region = next(region for region in clicks_of(state).regions if region.name == vertex)
    x, y, width, height = region.box
    centre = (MARGIN + CELL * int(column), MARGIN + CELL * int(row))
    assert centre == (x + width / 2, y + height / 2)


@pytest.mark.parametrize(("moves", "black"), [("A1 J9", 40), ("A1", 41)])
def test_recorded_owners_are_those_of_the_player_to_move(moves: str, black: int) -> None:
    state = play(go(board_size=9).new_initial_state(), moves)
    renderer = renderer_of(state)
    assert isinstance(renderer, GoRenderer)
    owners = [1.0] * 40 + [-1.0] * 41
    svg = renderer.svg_estimate(PlayerView.at(state, 0), owners)
    squares = {
        fill: path.count("M") for path, fill in re.findall('d="([^"]*z)" fill="(#.{6})"', svg)
    }
    assert squares == {"#111111": black, "#fbfbfb": 81 - black}
    own = renderer.svg_estimate(PlayerView.at(state, 0))
    for bad in (owners[1:], ["x"] * 81, [None] * 81, "x" * 81, {"x": 1.0}):
        assert renderer.svg_estimate(PlayerView.at(state, 0), bad) == own


def test_free_points_are_clicked_and_a_pass_is_a_button() -> None:
    state = play(go(board_size=5).new_initial_state(), "C3 C4")
    actions = clicks_of(state).actions
    assert set(state.legal_actions()) - set(actions) == {state.game.pass_action}
    assert all(path == (state.action_to_string(action),) for action, path in actions.items())
    assert ("C3",) not in actions.values()
    assert len(actions) == 23


def test_a_chain_is_named_by_the_stone_that_is_marked() -> None:
    game = go(board_size=5, dead_stones="agreement")
    state = play(game.new_initial_state(), "B2 D4 B3 D5 pass pass")
    assert state.phase == Phase.PROPOSE
    assert set(clicks_of(state).actions.values()) == {("B2",), ("D4",)}
    renderer = renderer_of(state)
    svg = renderer.svg_state(state)
    (path,) = re.findall(r'd="([^"]*)" fill="none" stroke="#2f8fd8"', svg)
    corners = [tuple(map(float, corner)) for corner in re.findall(r"M([\d.]+) ([\d.]+)h", path)]
    assert corners == [pytest.approx((0.82, 2.82)), pytest.approx((2.82, 0.82))]
    state.apply_action(state.string_to_action("B2"))
    assert set(clicks_of(state).actions.values()) == {("D4",)}
    state.apply_action(state.game.pass_action)
    texts = [state.action_to_string(action) for action in state.legal_actions()]
    assert texts == ["pass", "resume"]  # to accept or not: two buttons
    assert not clicks_of(state).actions
    assert "#2f8fd8" not in renderer.svg_state(state)


def test_territory_and_dead_stones_are_drawn_at_the_end() -> None:
    moves = "B1 D1 B2 D2 B3 D3 B4 D4 B5 D5 E3 pass pass"
    game = go(board_size=5, rules="japanese", dead_stones="agreement")
    state = play(game.new_initial_state(), moves)
    renderer = renderer_of(state)
    assert isinstance(renderer, GoRenderer)
    drawn = [str(renderer.svg_definitions()), str(board_definitions(13, BoardPart(3, 2, 9)))]
    drawn += [f"{picture}{meaning}" for picture, meaning in renderer.legend()]
    for text in ("E3", "pass", "pass"):  # E3 is dead
        view = PlayerView.at(state, state.current_player())
        drawn += [renderer.svg(view), renderer.hint(view), renderer.styled(view).plain]
        state.apply_action(state.string_to_action(text))
    assert state.is_terminal()
    drawn += [renderer.svg_state(state), renderer.svg_estimate(PlayerView.at(state, 0))]
    assert_expected("go/board.svg", "\n".join(drawn))
