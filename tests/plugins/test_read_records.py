"""Record formats that are read: what they write comes back, and bad files are refused."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import chess
import chess.pgn
import pytest
from sgfmill import sgf
from tests.tournaments.pages import positions_of, read_page

import miai
from miai.api import record_format
from miai.errors import RecordError
from miai.pages.replay_page import replay_page
from miai.playing.replay import line_to, record_of_actions, replay, variation_actions
from miai.plugins.loader import registry
from miai.record import GameRecord, ReadableFormat, Termination
from miai.record_reader import read_record
from miai_rbc.rules.actions import PASS, SENSE_NOTHING

if TYPE_CHECKING:
    from miai_rbc.rules.game import RbcState

PLAYERS = {"go": "fast-random", "rbc": "rbc-random", "kuhn_poker": "random"}


def played(
    game: str, *, limit: int | None = None, seed: int = 4, **parameters: object
) -> GameRecord:
    loaded = miai.load_game(game, **parameters)
    agents = [miai.make_agent(PLAYERS[game], loaded) for _ in range(2)]
    return miai.play(loaded, agents, seed=seed, move_limit=limit)


def readable(name: str, game: str) -> ReadableFormat:
    found = record_format(name, game)
    assert isinstance(found, ReadableFormat)
    return found


def read_back(record: GameRecord, name: str) -> GameRecord:
    written = readable(name, record.game)
    (back,) = written.read(written.write(record).encode(), source=f"game{written.suffix}")
    replay(back)
    return back


def moves(record: GameRecord) -> list[tuple[int, int, str]]:
    return [(move.actor, move.action, move.text) for move in record.moves]


@pytest.mark.parametrize(
    ("name", "game", "options"),
    [
        ("sgf", "go", {"board_size": 5, "komi": 6.5}),
        ("sgf", "go", {"board_size": 9, "handicap": 3, "rules": "japanese", "dead_stones": "none"}),
        ("sgf", "go", {"board_size": 7, "limit": 11}),
        ("reconchess", "rbc", {"limit": 40}),
        ("reconchess", "rbc", {}),
        ("jsonl", "rbc", {"limit": 10}),
        ("jsonl", "kuhn_poker", {}),
    ],
)
def test_what_is_written_is_read(name: str, game: str, options: dict[str, Any]) -> None:
    record = played(game, **options)
    back = read_back(record, name)
    assert moves(back) == moves(record)
    assert back.returns == record.returns
    assert back.loser == record.loser
    assert [player.name for player in back.players] == [player.name for player in record.players]
    if name != "jsonl":
        assert readable(name, record.game).write(back).encode()


def test_every_readable_format_is_of_a_suffix_of_its_own() -> None:
    suffixes = []
    for component in registry().components("record-format"):
        built = component.build(values={})
        assert isinstance(built, ReadableFormat), component.name
        suffixes.append(built.suffix)
    assert sorted(set(suffixes)) == sorted(suffixes) == [".json", ".jsonl", ".pgn", ".sgf"]


def test_names_comments_and_the_end_of_an_sgf_game_are_taken() -> None:
    data = b"(;GM[1]SZ[9]KM[5.5]RU[AGA]PB[Shusaku]PW[Gennan]RE[B+R];B[ee]C[ear-reddening];W[ce])"
    (record,) = readable("sgf", "go").read(data, source="x.sgf")
    replay(record)
    assert [player.name for player in record.players] == ["Shusaku", "Gennan"]
    assert record.comments == [(1, "ear-reddening")]
    assert (record.termination, record.loser) == (Termination.RESIGNATION, 1)
    assert record.game_parameters["komi"] == 5.5
    assert record.returns[0] > record.returns[1]


def test_marks_are_drawn_where_they_are() -> None:
    marks = b"TR[bb:cc]LB[dd:<x>][ed:12]TW[ea]SQ[zz]AR[ee:aa]LN[aa:ea]"
    data = b"(;SZ[5];B[aa]" + marks + b";W[ab](;B[cc])(;B[bb]MA[bb]))"
    (record,) = readable("sgf", "go").read(data, source="x.sgf")
    replay(read_record(record.to_json_lines()))
    assert sorted(record.marks) == [
        (1, "A5", "-E5"),
        *((1, place, "triangle") for place in ("B3", "B4")),
        *((1, place, "triangle") for place in ("C3", "C4")),
        (1, "D2", "=<x>"),
        (1, "E1", ">A5"),
        (1, "E2", "=12"),
        (1, "E5", "light"),
        (4, "B4", "cross"),
    ]
    shown = positions_of(read_page(replay_page(record, "g")))
    marked = [list(each.all("g", class_="marks")) for each in shown]
    assert [len(each) for each in marked] == [0, 1, 0, 0, 1]
    assert [text.text() for text in marked[1][0].all("text")] == ["<x>", "12"]
    places = [path.attributes["transform"] for path in marked[1][0].all("path")]
    assert places[0] == "translate(104 104)scale(20)rotate(-135)", "up and to the left"
    assert places[-1] == "translate(104 24)scale(20)"  # E5: the fifth column, the first row
    assert "unfinished" in shown[3].text()


def test_comments_stay_with_their_moves_where_stones_are_set_up_later() -> None:
    data = b"(;GM[1]SZ[5];B[aa]C[one](;W[bb];AW[cc]PL[B];B[dd]C[two];W[ee])(;B[ee]))"
    (record,) = readable("sgf", "go").read(data, source="x.sgf")
    replay(record)
    assert [move.text for move in record.moves] == ["D2", "E1"]
    stop = "[A variation stops here: it begins before this position]"
    assert (record.comments, record.variations) == ([(0, f"one\n\n{stop}"), (1, "two")], [])
    assert sorted(record.game_parameters["white_stones"]) == ["B4", "C3"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("[Event", " [Event"), ("\n\n1.", "\n\n\n1."), ("\n", "\r\n")),
        *(("[Event", "\ufeff[Event"), ("e5 1/2-1/2", "e5 1/2")),
    ],
)
def test_pgn_is_read_as_the_world_writes_it(old: str, new: str) -> None:
    text = '[Event "x"]\n[White "a"]\n[Black "b"]\n[Result "1/2-1/2"]\n\n'
    text += "1. e4 {x [%csl Rd5][%cal Ge4e5]} e5 1/2-1/2\n"
    (record,) = readable("pgn", "rbc").read(text.replace(old, new).encode(), source="x.pgn")
    assert [player.name for player in record.players] == ["a", "b"]
    assert len(record.moves) == 4
    assert record.returns == (0, 0)
    assert record.comments == [(2, "x")]
    assert record.marks == [(2, "d5", "circle"), (2, "e4", ">e5")]
    replay(record)


TREE = "(;SZ[5](;B[aa]C[x](;W[bb](;B[cc](;W[dd])(;W[ee]))(;B[cd]C[y]))(;W[cc]))(;B[bb]))"


@pytest.mark.parametrize(
    ("kept", "more", "written"),
    [
        (4, "A1", TREE.replace("W[dd]", "W[dd];B[ae]")),
        (3, "E5 A1", TREE.replace("(;W[dd])", "(;W[ea];B[ae])(;W[dd])")),
        (2, "", "(;SZ[5](;B[aa]C[x](;W[bb])(;W[cc]))(;B[bb]))"),
        (0, "C3", TREE.replace("(;B[aa]", "(;B[cc])(;B[aa]")),
    ],
)
def test_a_changed_record_keeps_what_hangs_on_its_main_line(
    kept: int, more: str, written: str
) -> None:
    (record,) = readable("sgf", "go").read(TREE.encode(), source="x")
    loaded = miai.load_game("go", **record.game_parameters)
    state = loaded.new_initial_state()
    for move in record.moves[:kept]:
        state.apply_action(move.action)
    for word in more.split():
        state.apply_action(state.string_to_action(word))
    changed = record_of_actions(loaded, state.history(), players=["Black", "new"])
    changed.tags = record.tags
    output = readable("sgf", "go").write(changed)
    trees = [sgf.Sgf_game.from_string(each).get_root() for each in (output, written)]
    trees[1].set("PW", "new")
    assert tree_of(trees[0]) == tree_of(trees[1])


def tree_of(node: Any) -> Any:
    """Return the properties of a node of sgfmill and the trees behind it."""
    own = {name: node.get(name) for name in node.properties() if name not in ("CA", "FF", "GM")}
    return own, [tree_of(child) for child in node]


COMMENTED = """% written by hand
[Event "Lichess \u2013 study"]
[White "Ann"]
[Black "Bob"]
[Result "0-1"]
[Annotator "miai"]

{Before the first move [%evp 0,6]} 1. e4 $1 {[%clk 0:01:00] book} ({no} 1. d4! d5 (1... Nf6 $14
2. c4 (2. Bg5 {Trompowsky} -- {waits}) 2... e6) 2. c4 dxc4) (1. c4) 1... e5 {[%clk 0:00:58]}
{Two
 lines} 2. f4 $2 $19 ; a bluff
( 2. Nf3 Nc6 3. Bb5 a6 { Morphy }) 2... Qh4+ 3. g3 (3. Ke2?? Qxf4) 3... Qxg3+!? 0-1
"""


def parsed(text: str) -> chess.pgn.Game:
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    return game


def test_a_tree_of_chess_is_kept_shown_and_written() -> None:
    oracle = parsed(COMMENTED.replace("; a bluff", "{ a bluff}"))
    (record,) = readable("pgn", "rbc").read(COMMENTED.encode(), source="x.pgn")
    replay(record)
    assert [move.text for move in record.moves[:4]] == ["sense -", "e2e4", "sense -", "e7e5"]
    assert [player.name for player in record.players] == ["Ann", "Bob"]
    assert (record.termination, record.loser) == (Termination.RESIGNATION, 0)
    written = readable("pgn", "rbc").write(read_record(record.to_json_lines()))
    assert str(parsed(written)) == str(oracle)
    game = miai.load_game("rbc")
    states: list[Any] = [game.new_initial_state()]
    for move in record.moves:
        states.append(states[-1].child(move.action))
    states += [state for _, state in variation_actions(record, game)]
    shown = dict[str, str]()
    pages = positions_of(read_page(replay_page(record, "g", worlds=0)))
    for state, position in zip(states, pages, strict=True):
        board = state.board().epd()
        shown[board] = shown.get(board, "") + position.one("decision").text()
    nodes: list[chess.pgn.GameNode] = [oracle]
    for node in nodes:
        nodes += node.variations
        glyphs = [f"${nag}" for nag in node.nags if nag > 6]
        for said in (node.starting_comment, node.comment, *glyphs):
            assert said in shown[node.board().epd()]
    assert len(states) == 2 * len(nodes) - 1
    begun = [move.action for move in record.moves[:2]]
    node = oracle.variations[0]
    oracle.headers["Result"] = "*"
    for more, change in (
        ([SENSE_NOTHING, PASS], lambda: node.add_main_variation(chess.Move.null())),
        ([], node.variations.clear),
    ):
        names = [each.name for each in record.players]
        changed = record_of_actions(game, begun + more, players=names)
        changed.tags = record.tags
        change()
        assert str(parsed(readable("pgn", "rbc").write(changed))) == str(oracle)


def test_an_illegal_move_costs_the_rest_of_its_line() -> None:
    text = b"1. e4 (1. d4 d4! {no}) e5 {yes} 2. Ke3 {no} (2. c4) Nc6 *\n\n1. c4 *"
    record, other = readable("pgn", "rbc").read(text, source="x.pgn")
    read = [record.moves[-1].text, record.comments, len(other.moves)]
    assert read == ["e7e5", [(4, "yes")], 2]
    assert len(record.variations) == 2
    for said in ("ply 2, in a variation: illegal san", "ply 3: illegal san: 'Ke3'"):
        assert said in str(record.tags["warnings"])


@pytest.mark.parametrize(
    "fault",
    [
        *('[FEN "xx"]\n\n1. e4 *', '[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n\n*'),
        *('[Variant "Atomic"]\n\n1. e4 *', '[Event "b]\n\n1. e4 *', '[X "b"]\n\n1. e4 Zf3 *'),
        *('[X "b"]\n\n1. e4 {why *', '[X "b"]\n\n1. e4 (1. d4 *', '[X "b"]\n\n1. e4 ) *'),
    ],
)
def test_a_fault_of_pgn_costs_the_game_not_the_file(fault: str) -> None:
    games = ['[X "x"]\n[White "a"]\n\n1. e4 {[\n[%csl Gd4]} e5 *', fault, '[White "c"]\n1. d4 *']
    games.append('[FEN "xx"]\n\n*')
    read = readable("pgn", "rbc").read("\n\n".join(games).encode(), source="x.pgn")
    assert [(r.players[0].name, len(r.moves)) for r in read] == [("a", 4), ("c", 2)]
    warnings: Any = read[0].tags["warnings"]
    said, last = warnings
    assert last.startswith("game 4: ")
    assert re.match("game 2: |line [79]: |line 10: the game ends within", said)
    assert "warnings" not in read[1].tags
    with pytest.raises(RecordError, match=r"x\.pgn: game 1|x\.pgn:[134]: "):
        readable("pgn", "rbc").read(fault.encode(), source="x.pgn")


def test_moves_that_chess_forbids_are_a_comment_in_pgn() -> None:
    record = played("rbc")
    assert "king" in record.detail
    taken = [
        json.loads(json.dumps(move.observations[str(move.actor)]))["data"]["taken"]
        for move in record.moves
        if not move.text.startswith("sense")
    ]
    text = readable("pgn", "rbc").write(record)
    game: Any = chess.pgn.read_game(io.StringIO(text))
    assert not game.errors
    lines = [move.uci() if move else None for move in game.mainline_moves()]
    rest = game.end().comment.partition("forbids: ")[2].split()
    assert [*lines, *(None if move == "--" else move for move in rest)] == taken
    assert rest
    board = game.end().board()
    assert not board.is_legal(chess.Move.from_uci(rest[0]))
    assert game.headers["Result"] in ("1-0", "0-1")
    (back,) = readable("pgn", "rbc").read(text.encode(), source="x.pgn")
    replay(back)
    assert back.returns == record.returns


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("sgf", b"hello", "bad.*is not SGF"),
        ("sgf", b"(;GM[2])", "bad.*GM\\[2\\] is not Go"),
        ("sgf", b"(;SZ[9]AB[ee]AW[ee];B[ee])", "bad.*node 1: AB, AW and AE repeat a point"),
        ("sgf", b"\x00\x01", "bad.*null bytes"),
        ("pgn", b"", "bad.*holds no game"),
        ("pgn", b"\x00", "bad.*not a text"),
        ("pgn", b'[Variant "Crazyhouse"]\n\n1. e4 *\n', "bad.*Crazyhouse"),
        ("reconchess", b"{}", "bad.*GameHistory"),
        ("reconchess", b"[" * 100_000, "bad.*JSON"),
        ("reconchess", b"\xff", "bad.*JSON"),
        ("jsonl", b"{}\n{}\n", "bad.*schema"),
        ("jsonl", b"\xff\n", "bad.*UTF-8"),
        ("jsonl", b"", "bad.*truncated"),
    ],
)
def test_bad_files_are_refused_by_name(name: str, data: bytes, message: str) -> None:
    game = {"sgf": "go", "jsonl": "go"}.get(name, "rbc")
    with pytest.raises(RecordError, match=message):
        readable(name, game).read(data, source="bad")


def test_a_name_cannot_leave_its_tag() -> None:
    record = played("rbc", limit=6)
    record.players[0].name = 'A"]\n\n1. e4 {\\'
    (back,) = readable("pgn", "rbc").read(
        readable("pgn", "rbc").write(record).encode(), source="x.pgn"
    )
    assert back.players[0].name == 'A"]1. e4 {\\'
    assert len(back.moves) == 6


GAMES_WITH_NOTES = {
    "sgf": "(;GM[1]SZ[5]C[root];B[cc]C[one](;W[bb];B[dd])(;W[dd]C[other]))",
    "pgn": "1. e4 {one} e5 (1... c5 {other} 2. Nf3) 2. Nc3 *",
}


@pytest.mark.parametrize("begin", ["middle", "end", "variation"])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("name", GAMES_WITH_NOTES)
def test_comments_and_variations_that_were_added_are_written(
    name: str, fresh: bool, begin: str
) -> None:
    """To the file from which a record was read, and to that of one without a file."""
    written = readable(name, {"sgf": "go", "pgn": "rbc"}[name])
    (read,) = written.read(GAMES_WITH_NOTES[name].encode(), source=f"game.{name}")
    if fresh:
        read = replace(read, tags={}, comments=[], variations=[])
    half = len(read.moves) // 3  # actions of a turn
    count = len(read.moves) + len(read.variations)
    begun = {"middle": half, "end": len(read.moves), "variation": count}[begin]
    state = miai.load_game(read.game, **read.game_parameters).new_initial_state()
    for action in line_to(read, begun):
        state.apply_action(action)
    line: list[int] = []
    while len(line) < 2 * half:
        legal: Sequence[int] = state.legal_actions()
        if name == "pgn":  # what chess allows, too
            uci = {str(move) for move in cast("RbcState", state).board().legal_moves}
            legal = [a for a in legal if a == SENSE_NOTHING or state.action_to_string(a) in uci]
        line.append(SENSE_NOTHING if SENSE_NOTHING in legal and half > 1 else legal[-2])
        state.apply_action(line[-1])
    steps = [(begun, line[0]), *((count + n, action) for n, action in enumerate(line[1:], 1))]
    truth: Any = {"value": -35.0, "value_unit": "centipawns"}
    moves_ = [replace(move, statistics={"truth": truth}) for move in read.moves]
    noted = replace(
        read,
        moves=moves_,
        comments=[*read.comments, (half, "added"), (count + len(line), "last")],
        variations=[*read.variations, *steps],
    )
    text = written.write(noted)
    (back,) = written.read(text.encode(), source=f"game.{name}")
    replay(back)
    assert moves(back) == moves(read)
    begins_at_end = begun == len(read.moves)
    repeated = [move.action for move in read.moves[-half:]] if begins_at_end else []
    assert len(back.variations) == len(read.variations) + len(repeated + line)
    assert not fresh or [action for _, action in back.variations] == repeated + line
    (end,) = (position for position, said in back.comments if said.endswith("last"))
    assert line_to(back, end) == line_to(noted, count + len(line))
    said = dict(back.comments)
    assert said[half].endswith("added")
    assert fresh or said[half].startswith("one")
    assert fresh or "other" in said.values()
    if name == "pgn":  # the value is Black's, who is to move
        game = chess.pgn.read_game(io.StringIO(text))
        assert game is not None
        node = game.next()
        score = None if node is None else node.eval()
        assert score is not None
        assert score.white().score() == 35
