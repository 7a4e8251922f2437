"""SGF: games read and written, variations, set-up, openings, and files that mean harm."""

from __future__ import annotations

import contextlib
import math
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf as sgfmill_sgf
from sgfmill import sgf_grammar, sgf_moves
from tests.go.positions import go

import miai
from miai.errors import GameError, RecordError
from miai.playing.replay import replay
from miai.record import GameRecord, MoveRecord, PlayerRecord, Termination
from miai.record_reader import read_record
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame, Start
from miai_go.rules.game_parameters import SgfOpeningParameters
from miai_go.sgf.check import SgfError
from miai_go.sgf.decoding import charset_named
from miai_go.sgf.grammar import parse
from miai_go.sgf.reading import SgfGame, SgfOpenings, read_bytes, read_file
from miai_go.sgf.results import result_of
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
    assert game.parameters()["rules"] == "japanese"
    assert names(game, game.main_line().actions) == "E5 C5 E3 G7 pass pass C7"
    assert [names(game, line.actions) for line in game.lines()] == [
        "E5 C5 E3 G7 pass pass C7",
        "E5 C5 E3 G7 G3",
        "E5 C5 G7 C7",
        "E5 C5 G7 C3 G3",
    ]


def test_comments_and_variations_are_of_positions() -> None:
    text = """(;SZ[9]C[root](;B[aa]C[one](;W[ba]C[two];C[a];C[b](;B[ca])(;B[da]C[thr]C[ee]))
        (;W[bb](;B[cb]C[c];W[db])(;B[bb])(;C[d];B[dd]))(;AW[cc])(;B[cc]))(;B[bb];W[aa]))"""
    (record,) = SgfRecords().read(text.encode(), source="x.sgf")
    assert [move.action for move in record.moves] == [72, 73, 74]
    assert record.variations == [(0, 64), (4, 72), (1, 64), (6, 65), (7, 66), (6, 48), (2, 75)]
    stops = [
        f"[A variation stops here: {why}]"
        for why in (
            "B[cc] is not the move of the player whose turn it is",
            "AW[cc] sets up stones, or is not one move",
            "B8 is occupied",
        )
    ]
    assert record.comments == [
        (0, "root"), (1, f"one\n\n{stops[1]}\n\n{stops[0]}"), (2, "two\n\na\n\nb"),
        (6, f"{stops[2]}\n\nd"), (7, "c"), (10, "thr\n\nee"),
    ]  # fmt: skip
    assert record.tags["warnings"] == ["variations that cannot be shown, but are kept: 3"]
    replay(read_record(record.to_json_lines()))
    record.variations[1] = (4, 64)
    with pytest.raises(RecordError, match="a variation from position 4"):
        replay(record)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 8), st.text(max_size=4)), max_size=12))
def test_a_tree_is_written_as_it_was_read(nodes: list[tuple[int, int, str]]) -> None:
    game = sgfmill_sgf.Sgf_game(size=3)
    made = [game.get_root()]
    for parent, point, said in nodes:
        node = made[-1 - parent % len(made)].new_child()
        if point >= 0:
            color = "w" if node.parent.get_move()[0] == "b" else "b"
            node.set_move(color, divmod(point, 3))
        elif len(made) % 2:
            node.set_setup_stones([(0, 0)], [(1, 1)], [(2, 2)])
        node.set("C", said)
        node.set("N", f"[{said}] \\")
        made.append(node)
    text = game.serialise()
    (record,) = SgfRecords().read(text, source="x.sgf")
    written = SgfRecords().write(read_record(record.to_json_lines())).encode()
    trees = [as_lists(sgf_grammar.parse_sgf_game(each)) for each in (text, written)]
    assert trees[0] == trees[1]
    record.players[0].name = "somebody else"
    game.get_root().set("PB", "somebody else")
    written = SgfRecords().write(record).encode()
    trees = [as_lists(sgf_grammar.parse_sgf_game(each)) for each in (game.serialise(), written)]
    assert trees[0] == trees[1]


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
    assert sorted(values["black_stones"]) == ["A8", "A9", "B8", "B9", "D6"]
    assert study.replay(go(**values), study.main_line()).board.color_at(24) == 2

    moved = only("(;SZ[9]HA[3];B[gc];B[cg];B[gg];W[ee];B[cc])")  # its stones written as moves
    line = moved.main_line()
    assert (len(line.start.black), line.start.to_move) == (3, 1)
    assert moved.parameters()["handicap_points"] == ["C3", "G3", "G7"]
    assert names(moved, line.actions) == "E5 C7"


@pytest.mark.parametrize(
    ("text", "start", "line"),
    [
        (";B[aa];W[bb];AE[bb]AW[cc][dd]PL[B];B[bb];W[ee]", Start((20,), (8, 12), 0), "B4 E1"),
        (";B[aa];W[bb];W[cc];B[dd]", Start((20,), (16,), 1), "C3 D2"),
        (";B[ba];W[aa];B[ab];B[ee]", Start((15, 21), (), 0), "E1"),  # A5 was taken
        (";B[aa];W[bb];B[bb]KO[];W[cc]", Start((16, 20), (), 1), "C3"),
    ],
)
def test_what_moves_cannot_tell_starts_a_new_position(text: str, start: Start, line: str) -> None:
    game = only(f"(;SZ[5]{text})")
    read = game.main_line()
    assert (read.start, read.faults, names(game, read.actions)) == (start, (), line)
    game.replay(go(**game.parameters()), read)


def test_a_collection_holds_several_games() -> None:
    games = read_bytes(b"(;SZ[9];B[ee])\n\n(;SZ[13];B[gg];W[cc])")
    assert [game.size for game in games] == [9, 13]
    with pytest.raises(SgfError, match="game 2"):
        games[1].replay(go(), games[1].main_line())


def test_old_and_odd_spellings_are_read() -> None:
    assert only("(;GM[1]SZ[9];Black[ee];White[cc])").main_line().actions == (40, 56)
    assert only("(;SZ[19];B[tt];W[aa])").main_line().actions == (361, 342)
    assert only("(;)").size == 19


# -- what means harm ------------------------------------------------------------------------------

HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no SGF data"),
    "prose": (b"hello world", "no SGF data"),
    "html": (b"<html><body>404</body></html>", "no SGF data"),
    "utf-16": ("(;SZ[9]C[ab])".encode("utf-16-le"), "a quarter are null bytes"),
    "deep": (b"(;B[aa]" * 5000 + b")" * 5000, "variations inside each other"),
    "deeper": (b"(;" + b"(" * 50_000, "variations inside each other"),
    "many nodes": (b"(" + b";" * 200_001 + b")", "more than 200000 nodes"),
    "many values": (b"(;SZ[9]AB" + b"[aa]" * 500_001 + b")", "more than 500000 property values"),
    "giant": (b"(;C[" + b"x" * 5_000_000 + b"])", "larger than"),
    "giant value": (b"(;C[" + b"x" * 300_000 + b"])", "longer than"),
    "long line": (b"(;SZ[9]" + b";B[tt];W[tt]" * 5001 + b")", "more than 9999 moves"),
    "size 26": (b"(;SZ[26])", r"SZ\[26\] is not a board size"),
    "size 0": (b"(;SZ[0])", "not a board size"),
    "size negative": (b"(;SZ[-9])", "not a board size"),
    "size huge": (b"(;SZ[" + b"9" * 5000 + b"])", "not a board size"),
    "size oblong": (b"(;SZ[9:13])", "not a board size"),
    "size word": (b"(;SZ[nine])", "not a board size"),
    "size unicode": ("(;CA[UTF-8]SZ[\uff19])".encode(), "not a board size"),
    "chess": (b"(;GM[3])", "is not Go"),
    "stones twice": (b"(;SZ[9]AB[aa]AW[aa])", "repeat a point"),
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


KO = b"(;SZ[5]RU[Japanese];B[ba];W[ca];B[ab];W[db];B[bc];W[cc];B[cb];W[bb];B[cb];W[bb];B[ee])"
WENT_ON = b"(;SZ[5]KM[0]RE[W+3];B[cc];W[];B[];W[bb];B[];W[])"
MENDED: dict[str, tuple[bytes, str, int]] = {
    "cut short": (b"(;SZ[9];B[ee];W[ce]", r"1 of its '\(' are not closed", 2),
    "open value": (b"(;SZ[9];B[ee]\n;C[never ends", r"line 2: a property value's '\[' is not", 1),
    "escaped end": (b"(;SZ[9];B[ee]C[\\])", "is not closed", 1),
    "many brackets": (b"(;C" + b"[" * 100_000, "is not closed", 0),
    "no node": (b"(SZ[9];B[ee])", "a node without its ';'", 1),
    "no bracket": (b";SZ[9];B[ee])", "^$", 1),
    "no value": (b"(;SZ[9];B;W[ee])", "B without a value", 1),
    "value without name, label without text": (b"(;SZ[9]GM[1][aa]LB[aa];B[ee])", "^$", 1),
    "bracket too many": (b"(;SZ[9]C[a [b] c]];B[ee])", "a ']' without its", 1),
    "late node": (b"(;SZ[9](;B[ee])(;B[dd]);W[cc])", "a node behind variations", 1),
    "capitals": (b"(;SZ[9];B[EE];W[ce])", "B is written in capital letters", 2),
    "move off": (b"(;SZ[9];B[aa];W[jj];B[bb])", r"node 3: the line ends before W\[jj\]", 1),
    "move occupied": (b"(;SZ[9];B[ee];W[ee])", "node 3: the move at E5 is on a stone", 1),
    "move occupied, played on": (b"(;SZ[9];B[ee];W[ee];B[aa];W[bb])", "at E5 is on a stone", 4),
    "move occupied, corrected": (b"(;SZ[9];B[ee];W[ee];W[bb];B[aa])", "at E5 is on a stone", 3),
    "set-up twice": (b"(;SZ[9];B[ee];AB[aa]AW[aa];W[bb])", "its set-up is left out", 2),
    "two moves": (b"(;SZ[9];B[ee]W[cc])", "moves of both players", 2),
    "stones off": (b"(;SZ[9]AB[aa:zz];B[ee])", r"AB\[aa:zz\] is malformed", 1),
    "stones dead": (b"(;SZ[2]AB[aa:bb];B[aa])", "set-up is left out.*without a liberty", 1),
    "player": (b"(;SZ[9]HA[2]PL[x];B[ee])", r"PL\[x\] is not(?s:.*)is without stones", 1),
    "komi": (b"(;SZ[9]KM[lots];B[ee])", r"KM\[lots\] is not a number", 1),
    "no komi": (b"(;SZ[9]KM[];B[ee])", r"KM\[\] is empty", 1),
    "handicap": (b"(;SZ[9]HA[many];B[ee])", r"HA\[many\] is not a handicap", 1),
    "twice": (b"(;SZ[9]SZ[7]PW[a]PW[b];B[ee])", "PW is given twice(?s:.*)SZ is given", 1),
    "not utf-8": (b"(;CA[UTF-8]SZ[9]PB[\xff];B[ee])", "1 character cannot be read", 1),
    "null bytes": (b"(;SZ[9]C[a\0b];B[ee])\n\0\0", "null bytes are left out: 3", 1),
    "rules": (b"(;SZ[9]RU[my own];B[ee])", r"RU\[my own\] is unknown", 1),
    "no bracket or node": (b"SZ[9]PB[a];B[ee];W[cc])", "a node without its ';'", 2),
    "first node without mark": (b"(SZ[9];B[ee](;W[cc])(;W[dd]))", "a node without its ';'", 2),
    "late moves": (b"(;SZ[9];B[ee]);W[cc];B[dd])", "what follows its last", 1),
    "player beside moves": (b"(;SZ[9];B[aa]PL[W];W[bb]PL[B];B[cc]PL[W])", "^$", 3),
    "nothing set up": (b"(;SZ[9];B[ee];AE[aa];W[cc])", "^$", 2),
    "one moves twice": (b"(;SZ[9];B[ee];W[cc];W[dd])", "begins here, behind 2 moves", 1),
    "code page": (b"(;CA[cp037]SZ[9];B[ee])", "^$", 1),
    "two komi": (b"(;SZ[9]KM[5.5]KM[6.5];B[ee])", "KM is given twice", 1),
    "lost end of a name": (b"(;SZ[9]PB[a;B[ee];W[cc])", "its ']' may be missing", 1),
    "passes": (b"(;SZ[9];B[];W[];B[];W[ee])", "play goes on after 3 passes", 4),
    "margin": (b"(;SZ[5]KM[0]RE[B+4];B[cc];W[];B[])", r"RE\[B\+4\] differs from B\+25, the", 3),
    "ko retaken": (KO, "a position is repeated, which its rules forbid or which ends", 11),
    "komi of another": (b"(;SZ[9]KM[x])(;SZ[9];B[ee])", r"game 1: KM\[x\] is not a number", 1),
    "count after play went on": (WENT_ON, r"RE\[W\+3\] differs from 0, the count", 6),
    "other game": (b"(;GM[6])(;SZ[9];B[ee])", r"game 1: GM\[6\] is not Go", 1),
}


@pytest.mark.parametrize("case", MENDED)
def test_a_fault_costs_the_smallest_part_that_it_can(case: str) -> None:
    data, said, moves = MENDED[case]
    (record,) = SgfRecords().read(data, source="x.sgf")
    assert len(record.moves) == moves
    replay(record)
    warnings = record.tags.get("warnings", [])
    assert isinstance(warnings, list)
    assert re.search(said, "\n".join(map(str, warnings)))


def test_a_game_that_is_not_closed_ends_where_the_next_begins() -> None:
    records = SgfRecords().read(b"(;SZ[9];B[ee](;GM[1]SZ[9];B[cc];W[dd])", source="x.sgf")
    assert [len(record.moves) for record in records] == [1, 2]


KOMI = "6.5=6.5 -2=-2 0=0 6.500000=6.5 .5=0.5 5½=5.5 5目半=5.5 \uff16\uff0e\uff15=6.5 6,5=6.5"
KOMI += " 375=7.5 375.0=7.5 3.75=7.5 3.75子=7.5 7.5目=7.5 7.25= 1e308="


@pytest.mark.parametrize("pair", KOMI.split())
def test_komi_is_read_as_servers_write_it(pair: str) -> None:
    text, _, points = pair.partition("=")
    game = only(f"(;SZ[9]KM[{text}])")
    assert game.komi == (float(points) if points else None)
    assert bool(game.warnings) == (
        not re.fullmatch(r"[-.\d\uff0e]*", text) or text in ("375", "375.0", "3.75", "7.25")
    )


@pytest.mark.parametrize(
    ("text", "winner", "points", "by"),
    [
        ("B+12.5", 0, 12.5, "points"),
        ("B+", 0, None, ""),
        ("White+Time", 1, None, "time"),
        ("B wins by 2.5 points", 0, 2.5, "points"),
        ("0", None, 0.0, "points"),
        ("B+0", 0, None, ""),
        ("Draw", None, 0.0, "points"),
        ("黑中盘胜", 0, None, "resignation"),
        ("白番3目半勝ち", 1, 3.5, "points"),
        ("B\uff0b2.75子", 0, 5.5, "points"),
        ("W+3.75", 1, 7.5, "points"),
        ("W+3 stones", 1, None, ""),
        ("B won on time", 0, None, "time"),
    ],
)
def test_results_are_read_in_the_words_of_the_world(
    text: str, winner: int | None, points: float | None, by: str
) -> None:
    stated = result_of(text)
    assert stated is not None
    assert (stated.winner, stated.by) == (winner, by)
    assert math.isnan(stated.points) if points is None else stated.points == points


def test_words_that_are_not_known_name_no_winner() -> None:
    texts = "|?|Void|白负|白未勝|Weiss+3|wins|black won't win|White wins? No|W+void"
    assert [text for text in texts.split("|") if result_of(text) is not None] == []


TWO_PASSES = "(;SZ[5]KM[0]RE[{}];B[cc];W[bb];B[];W[])"


@pytest.mark.parametrize(
    ("data", "termination", "returns"),
    [
        ("(;SZ[9]RE[B+12.5];B[ee])", Termination.ADJUDICATION, (1, -1)),
        ("(;SZ[9]RE[W+0.5])", Termination.ADJUDICATION, (-1, 1)),
        ("(;SZ[9]RE[W+T];B[ee])", Termination.TIME, (-1, 1)),
        ("(;SZ[9];B[ee])", Termination.UNFINISHED, (0, 0)),
        (TWO_PASSES.format("W+1"), Termination.ADJUDICATION, (-1, 1)),
        (TWO_PASSES.format("W+R").replace("W[])", "W[];B[])"), Termination.RESIGNATION, (-1, 1)),
        (
            TWO_PASSES.format("W+R").replace("B[cc]", "B[cc];W[];B[]"),
            Termination.RESIGNATION,
            (-1, 1),
        ),
        (TWO_PASSES.format("W+R"), Termination.RESIGNATION, (-1, 1)),
        (TWO_PASSES.format("0"), Termination.TERMINAL, (0, 0)),
    ],
)
def test_who_won_is_what_the_file_states(
    data: str, termination: Termination, returns: tuple[float, float]
) -> None:
    (record,) = SgfRecords().read(data.encode(), source="x.sgf")
    assert (record.termination, record.returns) == (termination, returns)
    replay(read_record(record.to_json_lines()))
    counted = "RE[W+1] differs from 0, the count of the stones as they lie"
    warnings = record.tags.get("warnings", [])
    assert isinstance(warnings, list)
    assert [w for w in warnings if "play goes on" not in str(w)] == [counted] * ("W+1" in data)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("Tromp/Taylor", {"rules": "tromp-taylor"}),
        ("Korean", {"rules": "japanese"}),
        ("Japan", {"rules": "japanese"}),
        ("Old Chinese", {"rules": "chinese"}),
        ("New Zealand", {"rules": "tromp-taylor", "ko": "situational"}),
        ("GOE", {"rules": "chinese", "suicide": True}),
        ("klingon", {}),
        ("", {}),
    ],
)
def test_rules_are_read_by_name(text: str, parameters: dict[str, Any]) -> None:
    game = only(f"(;SZ[9]RU[{text}])")
    assert game.parameters() == {"board_size": 9, **parameters}
    assert bool(game.warnings) == (text in ("klingon", "Old Chinese", "GOE"))


def test_a_collection_keeps_the_text_of_games_in_several_charsets() -> None:
    """In Shift-JIS and Big5 a second byte may be a backslash or a bracket."""
    names = {"Shift_JIS": "ソラ表", "Big5": "許功蓋", "EUC-KR": "똠방각하", "GB2312": "古力鎔"}
    codecs = {"Shift_JIS": "cp932", "Big5": "big5", "EUC-KR": "cp949", "GB2312": "gbk"}
    data = b"".join(
        f"(;SZ[9]CA[{label}]PB[{name}]PW[w]RE[B+R];B[ee])".encode(codecs[label])
        for label, name in names.items()
    )
    read = [(game.black, game.white, game.result, game.warnings) for game in read_bytes(data)]
    assert read == [(name, "w", "B+R", ()) for name in names.values()]


@pytest.mark.parametrize(
    ("name", "charset"),
    [
        ("井山裕太とソラ", "cp932"),
        ("井山裕太と山下敬吾", "euc_jp"),
        ("박정환", "cp949"),
        ("古力, 常昊, 孔杰, 柯洁", "gb18030"),
        ("周俊勳, 陳詩淵", "big5hkscs"),
        ("Ángel", "cp1252"),
    ],
)
def test_a_charset_that_is_not_named_is_guessed_and_said(name: str, charset: str) -> None:
    game = only(f"(;SZ[9]PB[{name}];B[ee])".encode(charset))
    assert game.black == name
    assert charset in game.warnings[0]


@pytest.mark.parametrize("charset", ["cp932", "gbk", "big5", "euc_kr", "euc_jp"])
def test_a_name_cut_within_a_character_takes_nothing_with_it(charset: str) -> None:
    data = "(;SZ[9]PB[c])(;SZ[9]PB[{}]PW[b];B[ee])".format("國中文").encode(charset, "replace")
    for label in (b"", b"CA[%s]" % charset.encode()):
        cut = data.replace("文".encode(charset) + b"]", "文".encode(charset)[:1] + b"]" + label)
        games = read_bytes(cut)
        read = [(game.white, len(game.main_line().actions)) for game in games]
        assert read == [("", 0), ("b", 1)]
        assert [bool(game.warnings) for game in games] == [False, True]


def test_games_of_a_collection_have_charsets_of_their_own() -> None:
    plain, marked = "(;SZ[9]PB[古力 (9段)];B[ee])", "(;SZ[9]PB[許功蓋]CA[Big5];B[ee])"
    parts = [plain.encode(), marked.encode("big5")]
    for data in (b"".join(parts), b"".join(reversed(parts))):
        assert {game.black for game in read_bytes(data)} == {"古力 (9段)", "許功蓋"}
    one = plain.replace("PB", "CA[GB2312]PB").encode()
    assert [game.black for game in read_bytes(b"\xef\xbb\xbf" + one)] == ["古力 (9段)"]
    (said,) = read_bytes(one)[0].warnings
    assert (read_bytes(one)[0].black, "probably utf-8" in said) == ("古力 (9段)", True)
    assert only("(;SZ[9]PB[井山]W)".encode("iso2022_jp")).black == "井山"
    stray = plain.encode().replace(b"ee", b"ee]C[\xff")
    assert only(stray).black == "古力 (9段)"


@pytest.mark.slow
def test_no_fault_takes_long_however_often_it_comes() -> None:
    faults = [b"CA[", b"]", b"B ", b"[x]", b";PL[x]", b"(;)", b"(;]\n)", b"(;CA[%d]\xff)"]
    faults += [b"(;AB[aa]AW[aa])", b"(;W[bb]C[x])", b";C[x](;B[aa])"]
    for fault in faults:
        began = time.perf_counter()
        with contextlib.suppress(RecordError):
            SgfRecords().read(b"(;" + fault * 4000, source="x.sgf")
        assert time.perf_counter() - began < 10, fault


def test_labels_of_charsets_mean_what_the_web_means() -> None:
    labels = {
        "cp932": ("x-sjis", "windows-31j", "Windows-932", "MS932"),
        "gb18030": ("gb2312", "GB_2312-80", "x-gbk", "CP936"),
        "cp949": ("euc-kr", "x-euc-kr", "ks_c_5601-1987", "uhc"),
        "cp1252": ("Latin-1", "iso-8859-1", "ascii"),
        None: ("zip", "rot13", "binary", "", "../../etc/passwd", "hex"),
    }
    for charset, names in labels.items():
        assert [charset_named(name) for name in names] == [charset] * len(names)


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.text("();[]\\BWSZABCPL:abc \n", max_size=60))
def test_what_sgfmill_reads_has_the_same_trees(data: bytes | str) -> None:
    raw = (data if isinstance(data, str) else data.decode("utf-8", "replace")).encode()
    for prefix in (b"", b"(;", b"(;SZ[5];B"):
        try:
            expected = sgf_grammar.parse_sgf_collection(prefix + raw)
        except ValueError:
            continue
        found = [tree for tree, *_ in parse(prefix + raw, source="x")]
        assert list(map(as_lists, found)) == list(map(as_lists, expected))


def as_lists(tree: Any) -> Any:
    return [tree.sequence, list(map(as_lists, tree.children))]


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
    assert (read.komi, read.parameters()["rules"]) == (5.5, "chinese")
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
def test_clocks_and_endings_by_a_player_are_written(
    termination: Termination, loser: int, result: str
) -> None:
    record = record_of([40, 20], termination=termination, loser=loser, detail="why ] \\ \x00")
    clock = {"kind": "byo-yomi", "seconds": 60.0, "periods": 3, "period_seconds": 10.0}
    record.time_control = clock
    text = SgfRecords().write(record)
    assert only(text).result == result
    assert "\x00" not in text
    assert "OT[3x10 byo-yomi]" in text
    assert "TM[60]" in text


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
    lines = [[40, 38, 22, 60], [40, 38, 60, 56], [40, 38, 60, 20]]
    assert openings(tmp_path, COMMENTED, game, plies=4, variations=True) == lines
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
def test_lines_that_do_not_fit_the_game_are_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SgfError, match=said):
        openings(tmp_path, text, go(board_size=9, rules="chinese"))


def test_openings_may_start_from_the_games_own_set_up(tmp_path: Path) -> None:
    game = go(board_size=9, handicap=2)
    assert openings(tmp_path, "(;SZ[9]HA[2]AB[gc][cg];W[ee])", game) == [[40]]
