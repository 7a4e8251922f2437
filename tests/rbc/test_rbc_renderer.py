"""What a person who plays is shown: all that it was told, and nothing of the true board."""

from __future__ import annotations

import random
import re
from functools import cache
from xml.etree import ElementTree

import chess
import chess.svg
import pytest
from tests.rbc.games import rbc

from miai import PlayerView
from miai.api import renderer_for
from miai.render import Clickable, Clicks, HintingRenderer, Region
from miai_rbc.rules.game import RbcState, window

Cells = dict[int, str]


def cells_of(text: str) -> Cells:
    """Return what is shown on each square of the last board in a text."""
    cells: Cells = {}
    files: str = ""
    for line in text.splitlines():
        if re.fullmatch(r"   [a-h](  [a-h]){7}", line):
            files = line.replace(" ", "")
        if found := re.fullmatch(r"([1-8])  (.{23}) \1", line):
            for file, cell in zip(files, re.findall("..(?: |$)", f"{found[2]} "), strict=True):
                cells[chess.parse_square(f"{file}{found[1]}")] = cell.strip()
    assert len(cells) in (0, 64)
    return cells


def shown(view: PlayerView) -> str:
    return renderer_for(view.game).render(view)


def hint(view: PlayerView) -> str:
    renderer = renderer_for(view.game)
    assert isinstance(renderer, HintingRenderer)
    return renderer.hint(view)


class Table:
    """A game with the views of both players."""

    def __init__(self, *texts: str, fen: str = chess.STARTING_FEN) -> None:
        self.state: RbcState = rbc(fen=fen).new_initial_state()
        self.views = [PlayerView(self.state.game, player) for player in (0, 1)]
        self._tell()
        self.play(*texts)

    def play(self, *texts: str) -> None:
        for text in texts:
            self.apply(self.state.string_to_action(text))

    def apply(self, action: int) -> None:
        self.state.apply_action(action)
        self._tell()

    def _tell(self) -> None:
        for player, view in enumerate(self.views):
            observation = self.state.observation(player)
            if observation is not None:
                view.observe(observation)

    def shown(self, player: int) -> str:
        return shown(self.views[player])

    def cells(self, player: int) -> str:
        """Return the board as its cells in one line, a1 first."""
        cells = cells_of(self.shown(player))
        return " ".join(cells[square] for square in chess.SQUARES)


def check(table: Table, player: int) -> int:
    """Check what is shown against the true board; return how many squares are certain."""
    board = table.state.board()
    theirs = board.occupied_co[player == 1]
    cells = cells_of(table.shown(player))
    for square, cell in cells.items():
        piece = board.piece_at(square)
        if piece is not None and piece.color == (player == 0):
            assert cell == piece.symbol()
        elif cell == "x":
            assert theirs >> square & 1
        elif cell == ".":
            assert piece is None
        elif cell != "?" and not cell.endswith("'"):
            assert piece is not None
            assert cell == piece.symbol()
        else:
            assert cell in ("?", "x'") or cell[0].isupper() == (player == 1)
    assert f"The opponent has {theirs.bit_count()} of 16 pieces" in table.shown(player)
    return sum(cell != "?" and not cell.endswith("'") for cell in cells.values())


@pytest.mark.parametrize("seed", range(3))
def test_squares_shown_as_certain_are_true(seed: int) -> None:
    """Over random games, when it is the player's turn: then nothing can have changed."""
    print("seed", seed)
    rng = random.Random(seed)
    table = Table()
    for _ in range(120):
        legal = table.state.legal_actions()
        table.apply(rng.choice(legal))
        if table.state.is_terminal():
            break
        check(table, table.state.current_player())


def test_the_start_is_known_and_fades_with_the_opponent_s_moves() -> None:
    table = Table()
    assert check(table, 0) == 64
    assert table.cells(1).split().count("?") == 32
    assert table.cells(1).split().count("P'") == 8
    table.play("sense -", "e2e4", "sense -", "e7e5")
    assert cells_of(table.shown(0))[chess.E7] == "p'"
    assert cells_of(table.shown(0))[chess.E5] == "?"


def test_a_sense_shows_its_window_now_and_is_remembered_later() -> None:
    table = Table("sense -", "e2e4", "sense -", "e7e5", "sense e6")
    cells = cells_of(table.shown(0))
    assert [cells[s] for s in (chess.E5, chess.E7, chess.D7, chess.D6)] == ["p", ".", "p", "."]
    assert "Sensed last, this turn, d5 to f7: pe5 pd7 pf7.\n" in table.shown(0)
    assert "Sensed last, this turn, d3 to f5: no enemy pieces.\n" in Table("sense e4").shown(0)
    table.play("d2d4", "sense -", "e5d4")
    cells = cells_of(table.shown(0))
    assert (cells[chess.E5], cells[chess.E7], cells[chess.D4]) == ("p'", "?", "x")
    assert "Sensed last, in turn 1, d5 to f7: pe5 pd7 pf7.\n" in table.shown(0)
    assert "the opponent captured your pawn on d4.\n" in table.shown(0)
    assert "You have lost: pawn d4 (turn 2).\n" in table.shown(0)
    table.play("sense d4")
    assert cells_of(table.shown(0))[chess.D4] == "p"


def test_the_king_is_where_it_was_seen_last() -> None:
    table = Table("sense -", "e2e4", "sense -", "e7e5", "sense -", "pass", "sense -", "e8e7")
    assert "its king was last known on e8, turn 0" in table.shown(0)
    table.play("sense e7")
    assert "its king was last known on e7, turn 2" in table.shown(0)
    assert cells_of(table.shown(0))[chess.E8] == "."


def test_moves_are_reported_as_requested_and_as_taken() -> None:
    table = Table("sense -", "e2e4", "sense -", "e7e5", "sense -", "f1a6", "sense -", "pass")
    assert "Your last move: f1a6.\n" in table.shown(0)
    table.play("sense -", "a6c8")
    assert "Your last move: a6c8, cut short to a6b7; it captured on b7.\n" in table.shown(0)
    assert "The opponent has 15 of 16 pieces; you captured on b7 (turn 2)" in table.shown(0)
    table.play("sense -", "c8b7")
    assert "the opponent captured your bishop on b7" in table.shown(0)
    table.play("sense -", "e4e5")
    assert "Your last move: e4e5 was requested and not made.\n" in table.shown(0)
    assert cells_of(table.shown(0))[chess.E5] == "x"  # so something stood there
    table.play("sense -", "pass", "sense -", "pass")
    assert "Your last move: a pass.\n" in table.shown(0)


def test_lines_fit_a_terminal_of_eighty_columns() -> None:
    table = Table("sense e6", "e2e4", "sense e3", "e7e5")
    for line in [*table.shown(0).splitlines(), *hint(table.views[0]).splitlines()]:
        assert len(line) <= 80


def test_hints_say_what_can_be_typed() -> None:
    table = Table(fen="4k3/P7/8/8/8/8/8/4K3 w - - 0 1")
    assert "such as sense e5" in hint(table.views[0])
    assert hint(table.views[1]) == ""
    table.play("sense -")
    assert hint(table.views[0]).endswith("unless its move ends with n, b or r: a7a8n.")
    plain = Table("sense -")
    assert "queen" not in hint(plain.views[0])
    found = re.search("such as (....), or pass", hint(plain.views[0]))
    assert found
    plain.play(found[1])  # is legal


def test_a_pawn_s_capture_that_failed_shows_an_empty_square() -> None:
    table = Table("sense -", "e2e4", "sense -", "d7d5", "sense d6", "pass", "sense -", "d5d4")
    assert cells_of(table.shown(0))[chess.D5] == "p'"
    table.play("sense -", "e4d5")
    assert "Your last move: e4d5 was requested and not made.\n" in table.shown(0)
    assert cells_of(table.shown(0))[chess.D5] == "."


# -- clicks ----------------------------------------------------------------------------------------


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
