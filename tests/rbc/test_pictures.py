"""Pictures: what they show is what python-chess counts, and nothing that was not told."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import chess
import numpy as np
import pytest
from tests.rbc.games import Played, follow, rbc
from tests.whole_texts import assert_expected, assert_transcript

import miai
from miai import Observation
from miai.cli.main import main
from miai.squares import FOG
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.pictures import draw_belief, draw_observation
from miai_rbc.reconchess.histories import ReconchessRecords
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed, move_of_name

Captured = pytest.CaptureFixture[str]
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
SVG = "{http://www.w3.org/2000/svg}"
LIMIT = 20_000
HALF = 22.5  # of a square


class Picture:
    """A parsed picture."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)
        self.corners = {
            chess.parse_square(e.attrib["class"][-2:]): (float(e.attrib["x"]), float(e.attrib["y"]))
            for e in self.root.iter()
            if e.get("class", "").startswith("square ")
        }

    def of_class(self, name: str) -> list[ET.Element]:
        return [e for e in self.root.iter() if e.get("class") == name]

    def words(self) -> str:
        return "\n".join(text.text or "" for text in self.root.iter(f"{SVG}text"))

    def squares(self) -> dict[int, ET.Element]:
        """Return what is drawn of each square of a belief."""
        groups = [g for g in self.root.iter(f"{SVG}g") if g.find(f"{SVG}title") is not None]
        return {chess.parse_square(g.attrib["data-square"]): g for g in groups}

    def outlines(self) -> dict[int, str]:
        """Return the names of the outlined pieces by square."""
        return {
            chess.parse_square(e.attrib["data-square"]): used(e).removeprefix("outline-")
            for e in self.of_class("truth")
        }

    def pieces(self) -> dict[int, str]:
        """Return the pieces on the board by square, as their colour and `chess.piece_name`."""
        squares = {corner: square for square, corner in self.corners.items()}
        uses = {
            tuple(map(float, re.findall(r"[\d.]+", e.attrib["transform"]))): e.attrib["href"]
            for e in self.root.findall(f"{SVG}use")
            if "transform" in e.attrib
        }
        return {squares[(x, y)]: href.removeprefix("#") for (x, y), href in uses.items()}

    def filled(self) -> set[int]:
        """Return the squares in fog."""
        squares = {corner: square for square, corner in self.corners.items()}
        return {
            squares[(float(e.attrib["x"]), float(e.attrib["y"]))]
            for e in self.root.findall(f"{SVG}rect")
            if e.get("fill") == FOG
        }

    def square_at(self, x: float, y: float) -> int:
        """Return the square on which a point lies."""
        (square,) = (
            square
            for square, (left, top) in self.corners.items()
            if left < x < left + 2 * HALF and top < y < top + 2 * HALF
        )
        return square

    def arrows(self) -> list[tuple[str, bool]]:
        """Return the moves of the arrows, and whether each is pale."""
        moves = []
        parts = self.of_class("arrow")
        for line, head in zip(parts[::2], parts[1::2], strict=True):
            x, y = map(float, head.attrib["points"].split()[0].split(","))
            start = self.square_at(float(line.attrib["x1"]), float(line.attrib["y1"]))
            name = chess.square_name(start) + chess.square_name(self.square_at(x, y))
            moves.append((name, float(line.attrib["opacity"]) < 0.5))
        return moves


def used(group: ET.Element) -> str:
    use = group.find(f"{SVG}use")
    assert use is not None
    return use.attrib["href"].removeprefix("#")


def place_of(group: ET.Element) -> tuple[float, float, float]:
    """Return the middle of a piece and its size."""
    found = re.fullmatch(r"translate\((.*),(.*)\) scale\((.*)\)", group.attrib["transform"])
    assert found is not None
    x, y, scale = map(float, found.groups())
    return x + HALF * scale, y + HALF * scale, 2 * HALF * scale


def name_of(piece: chess.Piece) -> str:
    return f"{'white' if piece.color else 'black'}-{chess.piece_name(piece.piece_type)}"


def games(seed: int, plies: int = 14) -> Iterator[Played]:
    print("seed", seed)
    yield from follow(rbc(), random.Random(seed), plies, limit=LIMIT)


# -- beliefs -------------------------------------------------------------------------------------


def counted(boards: BoardSet, weights: np.ndarray[Any, Any]) -> dict[int, Counter[str]]:
    """Return the probability of each piece on each square, by python-chess."""
    chances: dict[int, Counter[str]] = defaultdict(Counter)
    for board, weight in zip(boards.boards(), weights / weights.sum(), strict=True):
        for square, piece in board.piece_map().items():
            chances[square][name_of(piece)] += weight
    return chances


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, True)])
def test_opacity_is_probability(seed: int, weighted: bool) -> None:
    for played in games(seed, plies=11):
        for belief in played.beliefs:
            if len(belief) > 800:
                continue
            draw = np.random.default_rng(seed)
            weights = draw.random(len(belief)) if weighted else np.ones(len(belief))
            picture = Picture(draw_belief(belief, weights=weights if weighted else None))
            check_squares(picture, counted(belief.boards, weights), belief.player)


def check_squares(picture: Picture, chances: dict[int, Counter[str]], player: int) -> None:
    drawn = picture.squares()
    assert drawn.keys() == chances.keys()
    opponent = ("black", "white")[player]
    for square, group in drawn.items():
        heat = [float(e.attrib["fill-opacity"]) for e in group if e.get("class") == "heat"]
        theirs = sum(c for name, c in chances[square].items() if name.startswith(opponent))
        assert heat == ([pytest.approx(theirs, abs=1e-4)] if theirs > 1e-9 else [])
        shown = [(used(g), float(g.attrib["opacity"])) for g in group.findall(f"{SVG}g")]
        likely = [(n, c) for n, c in chances[square].most_common(4) if c >= 0.01]
        assert [c for _, c in shown] == pytest.approx([c for _, c in likely], abs=1e-4)
        for name, opacity in shown:
            assert opacity == pytest.approx(chances[square][name], abs=1e-4)
        for piece in group.findall(f"{SVG}g"):
            x, y, size = place_of(piece)
            assert picture.square_at(x, y) == square
            assert size == (2 * HALF if len(shown) == 1 else HALF)


def test_a_square_lists_all_its_numbers() -> None:
    boards, _ = BoardSet.of_fens([chess.STARTING_FEN]).after_opponent(None)
    title = Picture(draw_belief(boards, 1)).squares()[chess.E4].find(f"{SVG}title")
    assert title is not None
    assert title.text == "e4: white pawn 4.7619 %"


def test_it_says_whose_it_is_and_how_many_boards() -> None:
    boards, _ = BoardSet.of_fens([chess.STARTING_FEN]).after_opponent(None)
    assert "black's view: 21 boards\n" in Picture(draw_belief(boards, 1)).words()
    white = Picture(draw_belief(BoardSet(boards.rows[:1]), 0))
    black = Picture(draw_belief(BoardSet(boards.rows[:1]), 1))
    assert "white's view: 1 board\n" in white.words()
    (left, bottom), (right, top) = white.corners[chess.A1], white.corners[chess.H8]
    assert left < right
    assert bottom > top
    assert (black.corners[chess.H8], black.corners[chess.A1]) == ((left, bottom), (right, top))
    empty = Picture(draw_belief(BoardSet(boards.rows[:0]), 0))
    assert "0 boards" in empty.words()
    assert not empty.squares()


def test_a_belief_that_is_a_sample_says_so() -> None:
    belief = RbcBelief(rbc(), 1, limit=512)
    belief.observe(Observation(1, data={"captured": None}))
    for _ in range(3):
        belief.take_in(OpponentMoved(None))
        belief.take_in(Sensed(0, np.zeros(7, np.uint64)))
        belief.take_in(Moved(0, 0, None))
    assert belief.stashed
    assert "boards, a sample; others are stashed\n" in Picture(draw_belief(belief)).words()


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("middle", [0, 7, 28, 56, 63])
def test_the_window_is_framed(middle: int, player: int) -> None:
    boards = BoardSet.of_fens([chess.STARTING_FEN])
    picture = Picture(draw_belief(boards, player, sensed=middle))
    (frame,) = picture.of_class("window")
    x, y, width, height = (float(frame.attrib[a]) for a in ("x", "y", "width", "height"))
    for square, (left, top) in picture.corners.items():
        inside = x <= left < x + width and y <= top < y + height
        assert inside == (chess.square_distance(middle, square) <= 1)
    assert {width % 45, height % 45} == {0}
    for sensed in (None, 64):
        picture = Picture(draw_belief(boards, player, sensed=sensed))
        assert not picture.of_class("window")
        assert "sensed" not in picture.words()


@pytest.mark.slow
def test_the_truth_is_outlined_only_if_asked() -> None:
    for played in games(1, plies=8):
        board = played.state.board()
        for belief in played.beliefs:
            assert "outline" not in draw_belief(belief)
            picture = Picture(draw_belief(belief, truth=board))
            theirs = board.occupied_co[belief.player == 1]
            assert picture.outlines() == {
                square: chess.piece_name(piece.piece_type)
                for square, piece in board.piece_map(mask=theirs).items()
            }
            for outline in picture.of_class("truth"):
                x, y, _ = place_of(outline)
                assert chess.square_name(picture.square_at(x, y)) == outline.attrib["data-square"]


def test_a_belief_of_another_player_is_refused() -> None:
    boards, _ = BoardSet.of_fens([chess.STARTING_FEN]).after_opponent(None)
    with pytest.raises(ValueError, match="whose it is"):
        draw_belief(boards)
    with pytest.raises(ValueError, match="player 0's, not player 1's"):
        draw_belief(RbcBelief(rbc(), 0), 1)
    with pytest.raises(ValueError, match="one weight for each of 21 boards"):
        draw_belief(boards, 1, weights=np.ones(20))
    for bad in (np.zeros(21), np.zeros(21) + np.nan, np.linspace(-1.0, 1.0, 21)):
        with pytest.raises(ValueError, match="finite, not negative and not all 0"):
            draw_belief(boards, 1, weights=bad)


# -- safe and well-formed ------------------------------------------------------------------------


def pictures() -> Iterator[str]:
    for played in games(7, plies=6):
        board = played.state.board()
        for belief in played.beliefs:
            yield draw_belief(belief, truth=board, sensed=28)
            yield draw_observation(belief.events[-3:], belief.player, own=board)


def test_a_picture_scales_and_refers_to_nothing_outside_it() -> None:
    for svg in pictures():
        root = ET.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.get("viewBox")
        assert root.get("width") is None
        ids = {e.attrib["id"] for e in root.iter() if "id" in e.attrib}
        assert len(ids) == sum("id" in e.attrib for e in root.iter())
        for e in root.iter():
            assert e.tag.removeprefix(SVG) not in ("script", "style", "image", "foreignObject", "a")
            for name, value in e.attrib.items():
                assert not name.startswith("on")
                if name.endswith("href"):
                    assert value[0] == "#"
                    assert value[1:] in ids
                for reference in re.findall(r"url\((.*?)\)", value):
                    assert reference[1:] in ids
        assert set(re.findall(r"https?:[^\"]*", svg)) <= NAMESPACES


@pytest.mark.parametrize(
    ("heading", "shown"),
    [
        ('<script>alert("1 & 2")</script>', '<script>alert("1 & 2")</script>'),
        ("a\nb\x00c\ud800d\x1b[2J", "a b\ufffdc\ufffdd\ufffd[2J"),
        ("]]><!-- &amp; \u0142\U0001f40e", "]]><!-- &amp; \u0142\U0001f40e"),
    ],
)
def test_any_text_is_shown_as_text(heading: str, shown: str) -> None:
    boards = BoardSet.of_fens([chess.STARTING_FEN])
    seen = draw_observation([], 0, own=chess.Board(), heading=heading)
    for svg in (draw_belief(boards, 0, heading=heading), seen):
        root = ET.fromstring(svg.encode("ascii"))
        assert root.findtext(f"{SVG}title") == shown
        assert root.findtext(f"{SVG}text") == shown
    long = Picture(draw_belief(boards, 0, heading=heading + "x" * 10_000))
    assert max(map(len, long.words().splitlines())) < 80, "it ends at the picture's edge"


# -- observations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "made", "captured", "shown", "text"),
    [
        ("e2e4", "e2e4", None, [("e2e4", False)], "Moved e2e4."),
        ("f1b5", "f1d3", 19, [("f1b5", True), ("f1d3", False)], "captured on d3 (ring)."),
        ("e2e3", None, None, [("e2e3", True)], "no move was made."),
        (None, None, None, [], "Passed."),
    ],
)
def test_moves_are_arrows(
    asked: str | None, made: str | None, captured: int | None, shown: Any, text: str
) -> None:
    move = Moved(move_of_name(asked), move_of_name(made), captured)
    events: list[Event] = [OpponentMoved(None), Sensed(0, np.zeros(7, np.uint64)), move]
    picture = Picture(draw_observation(events, 0, own=chess.Board()))
    assert picture.arrows() == shown
    assert text in picture.words()
    assert len(picture.of_class("circle")) == (captured is not None)


def test_what_was_not_told_is_not_drawn() -> None:
    """Boards with other pieces of the opponent have the same picture."""
    events: list[Event] = [OpponentMoved(None), Sensed(0, np.zeros(7, np.uint64))]
    other = chess.Board()
    other.remove_piece_at(chess.D8)
    one, two = (draw_observation(events, 0, own=board) for board in (chess.Board(), other))
    assert one == two


def test_captures_are_marked_where_they_were() -> None:
    move = move_of_name("d7c6")
    events: list[Event] = [OpponentMoved(chess.C6), Moved(move, move, chess.C6)]
    picture = Picture(draw_observation(events, 1, own=chess.Board()))
    (ring,) = picture.of_class("circle")
    assert picture.square_at(float(ring.attrib["cx"]), float(ring.attrib["cy"])) == chess.C6
    (cross,) = (e for e in picture.root.iter(f"{SVG}use") if e.get("href") == "#xx")
    assert (float(cross.attrib["x"]), float(cross.attrib["y"])) == picture.corners[chess.C6]
    assert "captured on c6 (cross)" in picture.words()


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game of seven turns that was stopped before white's eighth move."""
    game = miai.load_game("rbc")
    agents = [miai.make_agent("rbc-random", game) for _ in range(2)]
    record = miai.play(game, agents, seed=11, move_limit=29)
    assert len(record.moves) == 29
    path = tmp_path_factory.mktemp("history") / "game.json"
    path.write_text(ReconchessRecords().write(record))
    return path


def command(monkeypatch: pytest.MonkeyPatch, *words: object) -> object:
    """Run ``miai rbc`` in this process; return its exit status."""
    monkeypatch.setattr(sys, "argv", ["miai", "rbc", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


COMMANDS = {
    "belief": "--player white --turn 3 --truth",
    "observation": "--player black --turn 1 --phase after-move --show observation",
}


def test_the_command_draws_what_was_read(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    file = tmp_path / "picture.svg"
    for name, line in COMMANDS.items():
        words = ("picture", history, *line.split())
        assert command(monkeypatch, *words, "--output", file) == 0
        assert capsys.readouterr() == (f"written to {file}\n", "")
        assert_expected(f"rbc/pictures/{name}.svg", file.read_text())
        assert command(monkeypatch, *words) == 0
        assert capsys.readouterr().out == file.read_text()


def test_a_mistake_or_a_file_that_is_no_history_costs_one_line(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def answer(line: str) -> str:
        assert command(monkeypatch, "picture", history, *line.split()) == 2
        out, error = capsys.readouterr()
        return out + error.rstrip()

    assert_transcript("picture-mistakes.txt", answer)

    (tmp_path / "x.json").write_text("{}")
    for file in ("x.json", "missing.json", ""):
        words = (tmp_path / file, "--player", "white", "--turn", 0)
        assert command(monkeypatch, "picture", *words) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert str(tmp_path / file) in error
