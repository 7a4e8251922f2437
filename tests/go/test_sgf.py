"""SGF: games read and written, variations, set-up, openings, and files that mean harm."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf as sgfmill_sgf
from sgfmill import sgf_moves
from tests.go.positions import go

import miai
from miai.errors import GameError, RecordError
from miai.record import GameRecord, MoveRecord, PlayerRecord, Termination
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame, Start
from miai_go.rules.game_parameters import SgfOpeningParameters
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import SgfGame, SgfOpenings, read_bytes, read_file
from miai_go.sgf.writing import SgfRecords, state_to_sgf


def only(text: str | bytes) -> SgfGame:
    games = read_bytes(text.encode() if isinstance(text, str) else text)
    assert len(games) == 1
    return games[0]


def names(game: SgfGame, actions: tuple[int, ...]) -> str:
    return " ".join(vertex(action, game.size) for action in actions)


# -- reading --------------------------------------------------------------------------------------

COMMENTED = r"""
 a header of an e-mail, which readers skip
(;FF[4]GM[1]SZ[9]CA[UTF-8]AP[test:1]PB[Kurosaki \] (3d)]PW[Ōtake]KM[5.5]RU[Japanese]RE[B+2.5]
  C[Brackets: (;\]) and a \\ backslash:
second line]
;B[ee]BL[59.5] ;W[ce]C[first (] (
  ;B[eg];W[gc] ( ;B[tt];W[];B[cc] ) ( ;B[gg]C[a)] )
) (
  ;B[gc]N[other] (;W[cc]) (;W[cg];B[gg])
))
"""


def test_a_commented_game_with_variations_is_read() -> None:
    game = only(COMMENTED)
    assert (game.size, game.komi, game.handicap) == (9, 5.5, 0)
    assert (game.black, game.white, game.result) == ("Kurosaki ] (3d)", "Ōtake", "B+2.5")
    assert game.preset() == "japanese"
    assert names(game, game.main_line().actions) == "E5 C5 E3 G7 pass pass C7"
    assert [names(game, line.actions) for line in game.lines()] == [
        "E5 C5 E3 G7 pass pass C7",
        "E5 C5 E3 G7 G3",
        "E5 C5 G7 C7",
        "E5 C5 G7 C3 G3",
    ]
    assert game.count_variations() == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "(;SZ[9]RE[B+2.5];B[cc](;W[gg](;B[ee])(;B[dd]))(;W[cg];B[ee]))",
            "the file gives B+2.5, 2 variations of the file left out",
        ),
        ("(;SZ[9];B[cc](;W[gg])(;W[cg]))", "1 variation of the file left out"),
        ("(;SZ[9];B[cc];W[gg])", ""),
    ],
)
def test_a_record_says_how_many_variations_it_leaves_out(text: str, said: str) -> None:
    (record,) = SgfRecords().read(text.encode(), source="x.sgf")
    assert record.detail == said


def test_handicap_and_set_up_become_parameters_of_the_game() -> None:
    game = only("(;SZ[9]HA[2]AB[gc][cg]KM[0.5]RU[Chinese];W[ee];B[cc])")
    line = game.main_line()
    state = game.replay(go(**game.parameters()), line)
    assert state.game.parameters.handicap == 2
    assert state.game.white_bonus == 2.5
    assert line.actions == (40, 56)
    study = only("(;SZ[9]AB[aa:bb][dd]AW[cc][ee]PL[W];W[gg])")
    values = study.parameters()
    assert values["first_player"] == "white"
    assert (
        values["black_stones"] == ["A8", "B8", "A9", "B9", "D6"] or len(values["black_stones"]) == 5
    )
    assert study.replay(go(**values), study.main_line()).board.color_at(24) == 2


def test_handicap_stones_written_as_moves_are_a_handicap() -> None:
    game = only("(;SZ[9]HA[3];B[gc];B[cg];B[gg];W[ee];B[cc])")
    line = game.main_line()
    assert len(line.start.black) == 3
    assert line.start.to_move == 1
    assert game.parameters()["handicap_points"] == ["C3", "G3", "G7"]
    assert names(game, line.actions) == "E5 C7"


def test_set_up_in_the_midst_of_a_game_starts_a_new_position() -> None:
    game = only("(;SZ[5];B[aa];W[bb];AE[bb]AW[cc][dd]PL[B];B[bb];W[ee])")
    line = game.main_line()
    assert line.start == Start((20,), (8, 12), to_move=0)
    assert names(game, line.actions) == "B4 E1"
    assert game.replay(go(**game.parameters()), line).board.color_at(16) == 1


def test_a_player_who_moves_twice_starts_a_new_position() -> None:
    line = only("(;SZ[5];B[aa];W[bb];W[cc];B[dd])").main_line()
    assert line.start == Start((20,), (16,), to_move=1)
    assert line.actions == (12, 8)


def test_captures_happen_before_a_later_position_is_taken() -> None:
    line = only("(;SZ[5];B[ba];W[aa];B[ab];B[ee])").main_line()
    assert line.start == Start((15, 21), (), to_move=0), "A5 was taken"


def test_a_collection_holds_several_games() -> None:
    games = read_bytes(b"(;SZ[9];B[ee])\n\n(;SZ[13];B[gg];W[cc])")
    assert [game.size for game in games] == [9, 13]
    assert "game 2" in str(caught(lambda: games[1].replay(go(), games[1].main_line())))


def caught(call: Any) -> SgfError:
    with pytest.raises(SgfError) as info:
        call()
    return info.value


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("(;SZ[9]CA[UTF-8]PB[本因坊])".encode(), "本因坊"),
        ("(;SZ[9]PB[本因坊])".encode(), "本因坊"),
        ("(;SZ[9]CA[gb18030]PB[古力])".encode("gb18030"), "古力"),
        ("(;SZ[9]CA[Shift_JIS]PB[秀策])".encode("shift_jis"), "秀策"),
        ("(;SZ[9]PB[Müller])".encode("latin-1"), "Müller"),
        ("\ufeff(;SZ[9]PB[Müller])".encode(), "Müller"),
    ],
)
def test_charsets(data: bytes, name: str) -> None:
    assert only(data).black == name


def test_old_and_odd_spellings_are_read() -> None:
    game = only("(;GaMe[1]SiZe[9];Black[ee];White[cc])".replace("GaMe", "GM").replace("SiZe", "SZ"))
    assert game.main_line().actions == (40, 56)
    assert only("(;SZ[19];B[tt];W[aa])").main_line().actions == (361, 342)
    assert only("(;)").size == 19


# -- what means harm ------------------------------------------------------------------------------

HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no SGF data"),
    "prose": (b"hello world", "no SGF data"),
    "html": (b"<html><body>404</body></html>", "no SGF data"),
    "null byte": (b"(;SZ[9]C[a\0b])", "line 1: contains a null byte"),
    "utf-16": ("(;SZ[9];B[ee])".encode("utf-16"), "null byte"),
    "cut short": (b"(;SZ[9];B[ee];W[ce]", r"1 of its '\(' are not closed"),
    "open value": (b"(;SZ[9]\n;C[never ends", r"line 2: a property value's '\[' is not closed"),
    "escaped end": (b"(;SZ[9]C[\\])", "not closed"),
    "deep": (b"(;B[aa]" * 5000 + b")" * 5000, "variations inside each other"),
    "deeper": (b"(" * 50_000, "variations inside each other"),
    "many brackets": (b"(;C" + b"[" * 100_000, "line 1"),
    "many nodes": (b"(" + b";" * 200_001 + b")", "more than 200000 nodes"),
    "many values": (b"(;SZ[9]AB" + b"[aa]" * 500_001 + b")", "more than 500000 property values"),
    "giant": (b"(;C[" + b"x" * 5_000_000 + b"])", "larger than"),
    "giant value": (b"(;C[" + b"x" * 300_000 + b"])", "longer than"),
    "long line": (b"(;SZ[9]" + b";B[tt];W[tt]" * 5001 + b")", "more than 10000 moves"),
    "size 26": (b"(;SZ[26])", r"SZ\[26\] is not a board size"),
    "size 0": (b"(;SZ[0])", "not a board size"),
    "size negative": (b"(;SZ[-9])", "not a board size"),
    "size huge": (b"(;SZ[" + b"9" * 5000 + b"])", "not a board size"),
    "size oblong": (b"(;SZ[9:13])", "not a board size"),
    "size word": (b"(;SZ[nine])", "not a board size"),
    "size unicode": ("(;CA[UTF-8]SZ[\uff19])".encode(), "not a board size"),
    "chess": (b"(;GM[3])", "is not Go"),
    "charset": (b"(;CA[rot13]SZ[9])", "charset"),
    "charset path": (b"(;CA[../../etc/passwd]SZ[9])", "charset"),
    "charset bytes": (b"(;CA[zlib]SZ[9])", "charset"),
    "not utf-8": (b"(;CA[UTF-8]\nSZ[9]PB[\xff\xfe])", "line 2: is not valid text in the charset"),
    "no value": (b"(;SZ[9];B)", "property with no values"),
    "no node": (b"(SZ[9])", "no SGF data"),
    "value without name": (b"(;[aa])", "unexpected value"),
    "move off": (b"(;SZ[9];B[aa];W[jj])", r"node 3: W\[jj\] is malformed or off"),
    "move long": (b"(;SZ[9];B[aaa])", "node 2"),
    "move empty on 21": (b"(;SZ[21];B[zz])", "node 2"),
    "move occupied": (b"(;SZ[9];B[ee];W[ee])", "node 3: the move at E5 is on an occupied point"),
    "two moves": (b"(;SZ[9];B[ee]W[cc])", "more than one move"),
    "two values": (b"(;SZ[9];B[ee][cc])", "more than one move"),
    "stones off": (b"(;SZ[9]AB[aa:zz])", r"AB\[aa:zz\] is malformed"),
    "stones backwards": (b"(;SZ[9]AB[cc:aa])", "AB"),
    "stones twice": (b"(;SZ[9]AB[aa]AW[aa])", "repeat a point"),
    "stones dead": (b"(;SZ[2]AB[aa:bb])", "without a liberty"),
    "player": (b"(;SZ[9]PL[green])", r"PL\[green\]"),
    "komi": (b"(;SZ[9]KM[lots])", r"KM\[lots\] is malformed"),
    "komi infinite": (b"(;SZ[9]KM[inf])", "KM"),
    "handicap": (b"(;SZ[9]HA[many])", "HA"),
    "handicap negative": (b"(;SZ[9]HA[-3])", "not a handicap"),
    "handicap huge": (b"(;SZ[9]HA[" + b"9" * 5000 + b"])", "HA"),
    "many lines": (b"(;SZ[9]" + b"(;B[aa])" * 10_001 + b")", "more than 10000 variations"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_data_is_refused_with_place_and_cause(case: str, tmp_path: Path) -> None:
    data, said = HOSTILE[case]
    file = tmp_path / "hostile.sgf"
    file.write_bytes(data)
    began = time.perf_counter()
    with pytest.raises(SgfError, match=said) as info:
        [line for game in read_file(file) for line in game.lines()]
    assert isinstance(info.value, GameError)
    assert str(info.value).startswith(str(file))
    assert len(str(info.value)) < 1000
    assert time.perf_counter() - began < 20


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "none.sgf", tmp_path):
        with pytest.raises(SgfError, match="cannot be read"):
            read_file(path)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=80) | st.text("();[]\\BWSZABAWPLHAKM:abcei0129 \n", max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes | str) -> None:
    raw = data.encode() if isinstance(data, str) else data
    for prefix in (b"", b"(;", b"(;SZ[5];"):
        try:
            for game in read_bytes(prefix + raw):
                for line in game.lines():
                    game.replay(go(**game.parameters(line, komi=0)), line)
        except SgfError:
            pass


# -- writing --------------------------------------------------------------------------------------

STARTS: list[dict[str, Any]] = [
    {},
    {"handicap_points": ["B2", "D4"]},
    {"black_stones": ["A1", "C3"], "white_stones": ["E5"], "first_player": "white"},
    {"first_player": "white"},
    {"handicap_points": ["B2", "D4"], "first_player": "black"},
    {"black_stones": ["C3"]},
]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["tromp-taylor", "chinese", "japanese", "aga"]),
    st.sampled_from(STARTS),
    st.integers(-20, 20),
)
def test_written_files_are_read_back(
    seed: int, rules: str, start: dict[str, Any], half_points: int
) -> None:
    rng = random.Random(seed)
    game = go(board_size=5, rules=rules, komi=half_points / 2, dead_stones="none", **start)
    state = game.new_initial_state()
    for _ in range(rng.randrange(80)):
        if not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
    text = state_to_sgf(state, black="a ] b \\", white="[(;")
    read = only(text)
    assert (read.black, read.white) == ("a ] b \\", "[(;")
    values = read.parameters()
    assert values["rules"] == rules
    again = read.replay(go(**values, dead_stones="none"), read.main_line())
    assert again.key() == state.key(), text
    assert again.game.white_bonus == game.white_bonus
    assert again.result_to_string() == state.result_to_string()


def test_sgfmill_reads_what_is_written() -> None:
    state = go(board_size=9).new_initial_state()
    for move in ("E5", "C3", "pass", "J9"):
        state.apply_action(state.string_to_action(move))
    read = sgfmill_sgf.Sgf_game.from_string(state_to_sgf(state))
    _, plays = sgf_moves.get_setup_and_moves(read)
    assert plays == [("b", (4, 4)), ("w", (2, 2)), ("b", None), ("w", (8, 8))]


def played(**parameters: Any) -> GameRecord:
    game = go(board_size=5, **parameters)
    agents = [miai.make_agent("mcts", game, simulations=40), miai.make_agent("fast-random", game)]
    return miai.play(game, agents, seed=3)


def test_a_played_game_is_written_with_rules_players_result_and_statistics() -> None:
    record = played(rules="chinese", komi=5.5)
    record.tags = {"tournament": "Spring"}
    text = SgfRecords().write(record)
    read = only(text)
    assert read.result == record.detail
    assert (read.black, read.white) == (record.players[0].name, record.players[1].name)
    assert (read.komi, read.preset()) == (5.5, "chinese")
    assert len(read.main_line().actions) == len(record.moves)
    first = sgfmill_sgf.Sgf_game.from_string(text).get_main_sequence()[1]
    comment = first.get("C")
    (evaluation,) = re.findall(r"^win rate (\d+\.\d) %$", comment, re.M)
    value = record.moves[0].statistics["value"]
    assert isinstance(value, float)
    assert float(evaluation) == pytest.approx(50 * (1 + value), abs=0.06)
    assert re.search(r"^top [A-E]\d visits \d+ win rate \d+\.\d %; ", comment, re.M)
    assert "value" not in comment
    assert "simulations 40" in comment
    assert "EV[Spring]" in text
    assert "dead_stones playouts" in text, "what RU does not say is in the comment"


@pytest.mark.parametrize(
    ("termination", "loser", "result"),
    [
        (Termination.RESIGNATION, 1, "B+R"),
        (Termination.TIME, 0, "W+T"),
        (Termination.CRASH, 1, "B+F"),
        (Termination.ILLEGAL_ACTION, 0, "W+F"),
    ],
)
def test_endings_caused_by_a_player_are_recorded(
    termination: Termination, loser: int, result: str
) -> None:
    record = record_of([40, 20], termination=termination, loser=loser, detail="why ] \\ \x00")
    text = SgfRecords().write(record)
    assert only(text).result == result
    assert "\x00" not in text


def test_clock_is_written() -> None:
    record = record_of([40])
    record.time_control = {
        "kind": "byo-yomi", "seconds": 60.0, "periods": 3, "period_seconds": 10.0
    }  # fmt: skip
    text = SgfRecords().write(record)
    assert "TM[60]" in text
    assert "OT[3x10 byo-yomi]" in text


def test_marks_of_dead_stones_are_comments_not_moves() -> None:
    game = go(board_size=5, dead_stones="agreement")
    state = game.new_initial_state()
    moves = "C3 A1 pass pass A1 pass resume pass pass pass pass"
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    assert state.is_terminal()
    text = state_to_sgf(state)
    actions = only(text).main_line().actions
    assert names(only(text), actions) == "C3 A1 pass pass pass pass"
    assert "marks dead: A1" in text
    assert "resume" in text


def record_of(actions: list[int], **fields: Any) -> GameRecord:
    game = go(board_size=9)
    return GameRecord(
        game="go",
        game_version=1,
        game_parameters=game.parameters.model_dump(mode="json"),
        players=[PlayerRecord(name="b", agent="x"), PlayerRecord(name="w", agent="y")],
        moves=[
            MoveRecord(ply=i, actor=i % 2, action=a, text=vertex(a, 9))
            for i, a in enumerate(actions)
        ],
        returns=(0.0, 0.0),
        **fields,
    )


def test_records_of_other_games_are_refused() -> None:
    other = record_of([40])
    other.game = "tic_tac_toe"
    with pytest.raises(RecordError, match="jsonl"):
        SgfRecords().write(other)
    with pytest.raises(RecordError, match="cannot be written"):
        SgfRecords().write(record_of([40, 40]))
    broken = record_of([])
    broken.game_parameters = {"board_size": 99}
    with pytest.raises(RecordError, match="board_size"):
        SgfRecords().write(broken)


# -- openings -------------------------------------------------------------------------------------


def openings(tmp_path: Path, text: str, game: GoGame, **parameters: Any) -> list[list[int]]:
    file = tmp_path / "openings.sgf"
    file.write_text(text, encoding="utf-8")
    read = SgfOpenings(game, SgfOpeningParameters(**parameters)).read(file)
    return [list(opening.actions) for opening in read]


def test_main_lines_or_all_variations_are_openings(tmp_path: Path) -> None:
    game = go(board_size=9)
    assert openings(tmp_path, COMMENTED, game, plies=3) == [[40, 38, 22]]
    assert openings(tmp_path, COMMENTED, game, plies=4, variations=True) == [
        [40, 38, 22, 60],
        [40, 38, 60, 56],
        [40, 38, 60, 20],
    ]
    both = "(;SZ[9];B[ee])(;SZ[9];B[cc])(;SZ[9];B[ee])"
    assert openings(tmp_path, both, game) == [[40], [56]], "each once"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(;SZ[13];B[ee])", "13x13 game, but board_size is 9"),
        ("(;SZ[9]AB[ee];W[cc])", "start from different positions"),
        ("(;SZ[9];B[ee];W[];B[])", "ends the game"),
        ("(;SZ[9];B[ee];B[cc])", "start from different positions"),
        ("(;SZ[9];B[ba];W[aa];B[ab];W[aa])", "move 4, A9"),
    ],
)
def test_lines_that_are_not_openings_of_the_game_are_refused(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SgfError, match=said):
        openings(tmp_path, text, go(board_size=9, rules="chinese"))


def test_openings_may_start_from_the_games_own_set_up(tmp_path: Path) -> None:
    game = go(board_size=9, handicap=2)
    assert openings(tmp_path, "(;SZ[9]HA[2]AB[gc][cg];W[ee])", game) == [[40]]
