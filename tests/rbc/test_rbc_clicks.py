"""Where to click on the board of blind chess, and what its picture says about earlier turns."""

from __future__ import annotations

import random
import re
from functools import cache
from xml.etree import ElementTree

import chess
import chess.svg
import pytest
from tests.rbc.test_rbc_renderer import Table

from miai import PlayerView
from miai.api import renderer_for
from miai.render import Clickable, Clicks, Region
from miai_rbc.rules.game import window

COLOURS = {chess.WHITE: "white", chess.BLACK: "black"}


def renderer_of(view: PlayerView) -> Clickable:
    renderer = renderer_for(view.game)
    assert isinstance(renderer, Clickable)
    return renderer


def clicks(table: Table, player: int) -> Clicks:
    return renderer_of(table.views[player]).clicks(table.views[player])


def regions(table: Table, player: int) -> dict[str, Region]:
    return {region.name: region for region in clicks(table, player).regions}


@cache
def drawn_at(square: int, player: int) -> tuple[float, ...]:
    """Return the box in which python-chess itself draws a square."""
    svg = chess.svg.board(orientation=player == 0, borders=True, fill={square: "#123456"})
    root = ElementTree.fromstring(svg)
    (rect,) = [e for e in root.iter() if e.attrib.get("fill") == "#123456"]
    return tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height"))


@pytest.mark.parametrize("player", [0, 1])
def test_each_square_is_where_python_chess_draws_it(player: int) -> None:
    places = regions(Table("sense -", "e2e4"), player)
    assert list(places) == chess.SQUARE_NAMES
    for square in chess.SQUARES:
        assert places[chess.square_name(square)].box == drawn_at(square, player)


@pytest.mark.parametrize("player", [0, 1])
def test_the_halo_of_a_sense_is_its_window(player: int) -> None:
    table = Table(*("sense -", "pass")[: 2 * player])
    for square, region in enumerate(regions(table, player).values()):
        boxes = [drawn_at(other, player) for other in window(square)]
        left, top = (min(box[axis] for box in boxes) for axis in (0, 1))
        right, bottom = (max(box[axis] for box in boxes) + 45 for axis in (0, 1))
        assert region.halo == (left, top, right - left, bottom - top)
    assert clicks(table, player).actions == {s: (chess.square_name(s),) for s in chess.SQUARES}


@pytest.mark.parametrize("player", [0, 1])
def test_moves_go_from_square_to_square(player: int) -> None:
    print("seed", player)
    rng = random.Random(player)
    table, count = Table(), 0
    while not table.state.is_terminal() and count < 400:
        legal = table.state.legal_actions()
        if not table.state.senses and table.state.current_player() == player:
            actions = clicks(table, player).actions
            texts = {table.state.action_to_string(a): path for a, path in actions.items()}
            count += len(texts)
            assert all((text[:2], text[2:4]) == path for text, path in texts.items())
            assert len(texts) == len(legal) - 1
            assert all(region.halo is None for region in regions(table, player).values())
        table.apply(rng.choice(legal))
    assert count > 100


def test_promotions_share_their_clicks() -> None:
    table = Table("sense -", fen="7k/4P3/8/8/8/8/8/K7 w - - 0 1")
    actions = clicks(table, 0).actions
    texts = [table.state.action_to_string(a) for a, p in actions.items() if p == ("e7", "e8")]
    assert texts == ["e7e8", "e7e8n", "e7e8b", "e7e8r"]


# -- the picture -----------------------------------------------------------------------------------


def svg(table: Table, player: int) -> str:
    view = table.views[player]
    return renderer_of(view).svg(view)


def squares_of(path: str, player: int) -> set[str]:
    places = {drawn_at(square, player)[:2]: chess.square_name(square) for square in chess.SQUARES}
    return {places[float(x), float(y)] for x, y in re.findall(r"M(\d+) (\d+)", path)}


def dates(table: Table, player: int) -> dict[str, int]:
    """Return the numbers drawn in the upper right corners of squares."""
    corners = {}
    for square in chess.SQUARES:
        x, y, width, _ = drawn_at(square, player)
        corners[x + width, y] = chess.square_name(square)
    (group,) = re.findall(r'<g class="seen".*?</g>', svg(table, player)) or [""]
    return {
        corners[float(x) + 2, float(y) - 11]: int(turn)
        for x, y, turn in re.findall(r'<text x="(\d+)" y="(\d+)">(\d+)</text>', group)
    }


def test_pieces_seen_earlier_bear_the_turn_in_which_they_were_seen() -> None:
    table = Table()
    assert dates(table, 0) == {}  # the start is known
    table.play("sense -", "e2e4", "sense -", "h7h6")
    start = dict.fromkeys(chess.SQUARE_NAMES[48:], 0)
    assert dates(table, 0) == start
    table.play("sense d7")
    seen = {chess.square_name(square) for square in window(chess.D7)}
    assert dates(table, 0) == {s: turn for s, turn in start.items() if s not in seen}
    table.play("pass", "sense -", "h6h5")
    assert dates(table, 0) == {s: 1 if s in seen else turn for s, turn in start.items()}
    table.play("sense g6")  # nothing on h6 any more, a pawn on h5
    assert "h7" not in dates(table, 0)
    table.play("pass", "sense -", "pass")
    assert dates(table, 0)["h5"] == 2
    assert dates(table, 0)["a8"] == 0
