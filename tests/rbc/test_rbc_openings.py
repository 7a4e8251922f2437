"""Openings from PGN and EPD, beside python-chess: games and positions in, files that mean harm."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rbc.games import rbc

from miai.errors import ConfigError
from miai.playing.openings import Opening
from miai.plugins.loader import registry
from miai.search.evaluators import Appraiser
from miai_rbc import chess_files
from miai_rbc.rbc_parameters import START_FEN
from miai_rbc.rules.actions import SENSE_NOTHING
from miai_rbc.rules.game import RbcGame

Read = Callable[..., list[Opening]]

ITALIAN = """[Event "A game of the tests"]
[ECO "C50"]
[Opening "Italian Game"]
[Result "*"]

1. e4 e5 {open} 2. Nf3 $1 (2. f4 exf4 (2... d5!?) 3. Nf3) 2... Nc6 3. Bc4 Bc5 ; quiet
4. c3 *
"""
LINES = {"e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3", "e2e4 e7e5 f2f4 e5f4 g1f3", "e2e4 e7e5 f2f4 d7d5"}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return what reads a text as a file of a name, with the reader of its suffix."""

    def reading(
        text: str | bytes, name: str = "x.pgn", *, game: RbcGame | None = None, **parameters: Any
    ) -> list[Opening]:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        found = registry().get("opening-reader", path.suffix[1:], game="rbc")
        openings: list[Opening] = found.build(game or rbc(), values=parameters).read(path)
        return openings

    return reading


def moves_of(opening: Opening) -> str:
    """Return an opening's moves in UCI notation; every other action senses nothing."""
    assert set(opening.actions[::2]) <= {SENSE_NOTHING}
    state = rbc().new_initial_state()
    return " ".join(state.action_to_string(action) for action in opening.actions[1::2])


def random_moves(rng: random.Random, plies: int) -> list[chess.Move]:
    board = chess.Board()
    moves: list[chess.Move] = []
    while len(moves) < plies and (legal := list(board.legal_moves)):
        moves.append(rng.choice(legal))
        board.push(moves[-1])
    return moves


# -- PGN ------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), plies=st.integers(1, 60))
def test_games_of_python_chess_are_played_move_by_move(
    tmp_path_factory: pytest.TempPathFactory, seed: int, plies: int
) -> None:
    moves = random_moves(random.Random(seed), plies)
    game = chess.pgn.Game()
    game.add_line(moves, comment="a line (of python-chess); 1. e4")
    path = tmp_path_factory.mktemp("pgn") / "one.pgn"
    path.write_text(f"{game}\n\n{game}\n")
    (opening,) = chess_files.PgnOpenings(rbc()).read(path)
    board, state = chess.Board(), rbc().new_initial_state()
    for number, move in enumerate(moves):
        board.push(move)
        for action in opening.actions[2 * number : 2 * number + 2]:
            state.apply_action(action)
        assert state.board().fen(en_passant="fen") == board.fen(en_passant="xfen"), seed
        assert state.senses, seed
    assert not opening.actions[2 * len(moves) :]


def test_main_lines_or_all_variations_are_openings(read: Read) -> None:
    (main,) = read(ITALIAN)
    assert (moves_of(main), main.name) == ("e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3", "C50 Italian Game")
    assert {moves_of(opening) for opening in read(ITALIAN, variations=True)} == LINES
    short = [moves_of(opening) for opening in read(ITALIAN, variations=True, plies=3)]
    assert short == ["e2e4 e7e5 g1f3", "e2e4 e7e5 f2f4"], "each once"


def test_players_observe_their_own_moves_and_captures(read: Read) -> None:
    (opening,) = read("1. e4 d5 2. exd5 Qxd5 3. Nc3 *")
    state = rbc().new_initial_state()
    output: list[Any] = []
    for action in opening.actions:
        state.apply_action(action)
        if (observation := state.observation(1)) is not None:
            output.append(observation.data)
    first = [{"captured": None}, [], {"requested": "d7d5", "taken": "d7d5", "captured": None}]
    second = [{"captured": "d5"}, [], {"requested": "d8d5", "taken": "d8d5", "captured": "d5"}]
    found = [data.get("sensed", data) for data in output]
    assert found == [*first, *second, {"captured": None}]


def test_both_players_learn_the_start_position(read: Read) -> None:
    (opening,) = read(ITALIAN, tell="position", plies=4)
    board = chess.Board()
    for move in moves_of(read(ITALIAN, plies=4)[0]).split():
        board.push_uci(move)
    assert opening == Opening(settings={"fen": board.fen()}, name="C50 Italian Game")
    state = rbc(**opening.settings).new_initial_state()
    assert state.board().fen() == board.fen()
    assert not state.history()


def test_games_start_where_the_game_does(read: Read) -> None:
    ending = "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1"
    text = f'[SetUp "1"]\n[FEN "{ending}"]\n\n1. e4 e5 *\n'
    assert moves_of(read(text, game=rbc(fen=ending))[0]) == "e2e4 e7e5"
    with pytest.raises(ConfigError, match=r"x\.pgn: game 1: starts from 4k3/4p3.*EPD"):
        read(text)


def test_a_null_move_is_a_pass_and_old_files_are_latin(read: Read) -> None:
    text = '[White "Gr\xfcnfeld"]\r\n\r\n1. e4 -- 2. d4\r\n'
    assert moves_of(read(text.encode("latin-1"))[0]) == "e2e4 pass d2d4"
    assert moves_of(read(b"\xef\xbb\xbf" + text.encode())[0]) == "e2e4 pass d2d4"


BAD_PGN = {
    "an illegal move": ("1. e4 e5 2. Ke3 *", r"x\.pgn: game 1: ply 3: illegal san: 'Ke3'"),
    "in the second game": ("1. e4 *\n\n1. e4 Ke6 *", r"game 2: ply 2: illegal san"),
    "an ambiguous move": ("1. Nf3 a6 2. d3 a5 3. Nd2 *", r"ply 5: ambiguous san: 'Nd2'"),
    "a misspelt piece": ("1. e4 Zf3 *", r"x\.pgn:1: 'Zf3' is not a move"),
    "a text": ("hello world", r"x\.pgn:1: 'hello' is not a move"),
    "nothing": ("", r"x\.pgn: holds no game"),
    "a game without moves": ('[White "me"]\n\n*\n', r"game 1: holds no moves"),
    "no text": (b"\x00\x01\x02", r"is not a text"),
    "an open comment": ("1. e4 *\n\n\n1. d4 {why", r"x\.pgn:4: the comment that begins here"),
    "an open variation": ("1. e4 (1. d4 d5\n\n1. c4", r"x\.pgn:2: the game ends within a var"),
    "a variation that did not begin": ("1. e4 e5) *", r"a variation that did not begin"),
    "a broken tag": ('[FEN "8/8\n\n1. e4 *', r"x\.pgn:1: .* is not a tag"),
    "a tag among moves": ('1. e4\n[Site "e5"]\n*', r"x\.pgn:2: a tag stands among moves"),
    "no position": ('[FEN "rubbish"]\n\n1. e4 *', r"game 1: expected 8 rows"),
    "another game": ('[Variant "Atomic"]\n\n1. e4 *', r"of the variant 'Atomic'"),
    "an unknown game": ('[Variant "zork"]\n\n1. e4 *', r"unsupported variant"),
    "a drawn game": ("1. Nf3 Nf6 2. Ng1 Ng8 " + "Nf3 Nf6 Ng1 Ng8 " * 24, r"ends the game"),
    "more than a game": ("Nf3 Nf6 Ng1 Ng8 " * 26, r"ply 101 'g1f3': 1/2-1/2 move limit"),
}


@pytest.mark.parametrize(("text", "said"), BAD_PGN.values(), ids=BAD_PGN)
def test_pgn_without_an_opening_is_refused(text: str | bytes, said: str, read: Read) -> None:
    with pytest.raises(ConfigError, match=said):
        read(text)


def test_huge_pgn_is_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "1. e4 " + "(1. d4 " * 200 + ")" * 200
    assert len(read(deep)) == 1, "variations are skipped"
    with pytest.raises(ConfigError, match="nested more than 100 deep"):
        read(deep, variations=True)
    monkeypatch.setattr(chess_files, "MAX_MOVES", 50)
    with pytest.raises(ConfigError, match="game 26: the file holds too many moves"):
        read("1. e4 e5 *\n\n" * 30)
    assert len(read("1. e4 e5 *\n\n" * 50, plies=1)) == 1
    with pytest.raises(ConfigError, match="is larger than"):
        read(b"{" + b" " * (16 << 20) + b"}")


# -- EPD and FEN ----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), plies=st.integers(0, 60))
def test_positions_of_python_chess_are_started_from(
    tmp_path_factory: pytest.TempPathFactory, seed: int, plies: int
) -> None:
    board = chess.Board()
    for move in random_moves(random.Random(seed), plies):
        board.push(move)
    path = tmp_path_factory.mktemp("epd") / "one.epd"
    operations = f'hmvc {board.halfmove_clock}; fmvn {board.fullmove_number}; id "no. {seed}";'
    path.write_text(f"{board.epd(en_passant='fen')} {operations}\n")
    (opening,) = chess_files.EpdOpenings(rbc()).read(path)
    assert (opening.actions, opening.name) == ((), f"no. {seed}")
    assert opening.settings == {"fen": board.fen(en_passant="fen")}
    state = rbc(**opening.settings).new_initial_state()
    assert state.board().fen(en_passant="xfen") == board.fen(en_passant="xfen")
    path.write_text(board.fen(en_passant="fen") + "\n")
    (again,) = chess_files.EpdOpenings(rbc()).read(path)
    assert again == Opening(settings=opening.settings)


def test_lines_of_epd_and_fen_may_be_mixed(read: Read) -> None:
    text = (
        "# a book\n\n"
        'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - bm Nf3; id "open game";\n'
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n"
        "4k3/8/8/8/8/8/4P3/4K3 b - - 7 30\n"
    )
    for name in ("x.epd", "x.fen"):
        one, two = read(text, name)
        assert one.name == "open game"
        assert one.settings["fen"].endswith("w KQkq - 0 1")
        assert two.settings["fen"].endswith("b - - 7 30")


KINGS = "4k3/8/8/8/8/8/8/4K3 w - - "
BAD_EPD = {
    "no king": ("4k3/8/8/8/8/8/8/8 w - -", r"x\.epd:1: .*white has 0 kings"),
    "two kings": (KINGS + "\n4k2k/8/8/8/8/8/8/4K3 w - -", r"x\.epd:2: .*black has 2 kings"),
    "a pawn at the end": ("4k2P/8/8/8/8/8/8/4K3 w - -", "a pawn stands on the first or last rank"),
    "no such en passant": ("4k3/8/8/8/8/8/8/4K3 w - e6", "no pawn can just have moved two squares"),
    "too few fields": ("4k3/8/8/8/8/8/8/4K3 w", "needs pieces, side to move, castling"),
    "a short board": ("4k3/8/8/4K3 w - -", "expected 8 rows"),
    "an illegal best move": (KINGS + "bm Ke5;", "illegal san: 'Ke5'"),
    "a broken operation": (KINGS + "1id 3;", "x.epd:1"),
    "a clock that is none": (KINGS + "0 0 0", "x.epd:1"),
    "a clock beyond the end": (KINGS + "100 1", "the game is over: 1/2-1/2 move limit"),
    "a game that is over": (KINGS + "hmvc 100;", "the game is over: 1/2-1/2 move limit"),
    "nothing": ("# no position\n", "holds no position"),
    "no text": (b"\xff\xfe\x00", "is not UTF-8 text"),
    "a long line": (KINGS + "id " + "x" * 5000, "is too long"),
    "moves": ("e4 e5", "is not a position"),
}


@pytest.mark.parametrize(("text", "said"), BAD_EPD.values(), ids=BAD_EPD)
def test_invalid_epd_is_refused(text: str | bytes, said: str, read: Read) -> None:
    with pytest.raises(ConfigError, match=said):
        read(text, "x.epd")


def test_a_king_in_check_may_be_captured(read: Read) -> None:
    (opening,) = read("4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "x.fen")
    state = rbc(**opening.settings).new_initial_state()
    for text in ("sense -", "e7e8"):
        state.apply_action(state.string_to_action(text))
    assert state.returns() == (1.0, -1.0)
    assert opening.settings["fen"] != START_FEN


# -- the evaluator --------------------------------------------------------------------------------


def test_the_engine_values_the_board_for_white() -> None:
    fens = {
        "4k3/pppp4/8/8/8/8/PPPP4/4K3 {} - - 0 1": 0.0,
        "4k3/pppp4/8/8/8/8/PPPP4/3QK3 {} - - 0 1": 0.9,
        "3qk3/pppp4/8/8/8/8/PPPP4/4K3 {} - - 0 1": -0.9,
    }
    component = registry().get("evaluator", "engine", game="rbc")
    for fen, value in fens.items():
        for side in "wb":
            game = rbc(fen=fen.format(side))
            appraiser = Appraiser(game, "evaluator", "engine", {"depth": 2})
            found = appraiser.advantage(game.new_initial_state(), seed=1)
            wanted = found > 0.9 if value > 0 else found < -0.9 if value < 0 else abs(found) < 0.15
            assert wanted
            evaluator = component.build(game, values={"depth": 2})
            ((white, black),) = evaluator.evaluate([game.new_initial_state()])
            assert white == found == -black
    mate = rbc(fen="4k3/4R3/8/8/8/8/8/4K3 w - - 0 1").new_initial_state()
    both = component.build(rbc(), values={}).evaluate([mate, rbc().new_initial_state()])
    assert both.shape == (2, 2)
    assert both[0, 0] == pytest.approx(1.0)
    assert abs(both[1, 0]) < 0.15
