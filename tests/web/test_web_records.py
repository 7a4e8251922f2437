"""Records in the browser: files are opened, shown, kept, and games are played on from them."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sgfmill import sgf
from starlette.exceptions import HTTPException
from tests.framework.histories import view_of
from tests.slow import with_slow
from tests.tournaments.pages import positions_of, read_page
from tests.web.server import Browser, Reply, is_over, is_turn, let_in, running

import miai
from miai.api import record_format
from miai.errors import RecordError
from miai.playing.replay import line_to
from miai.record import GameRecord
from miai.record_reader import read_record
from miai.web.records import MOST_FILES, _position, read_file
from miai.web.server import MOST_BODY

SGF = b"(;GM[1]SZ[5]KM[6.5]PB[Ann]PW[Bob]RE[B+R];B[cc]C[a fine move];W[bb];B[dd])"
PGN = b'[White "Ann"]\n[Black "Bob"]\n\n1. e4 e5 2. Nf3 *\n'
EVIL = "<script>alert(1)</script>"


def played(game: str, agent: str, *, limit: int | None = None) -> GameRecord:
    loaded = miai.load_game(game)
    agents = [miai.make_agent(agent, loaded) for _ in range(2)]
    return miai.play(loaded, agents, seed=4, move_limit=limit)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Return a file of each format."""
    rbc = played("rbc", "rbc-random", limit=12)
    return {
        "game.sgf": SGF,
        "game.pgn": PGN,
        "game.json": record_format("reconchess", "rbc").write(rbc).encode(),
        "game.jsonl": rbc.to_json_lines().encode(),
        "dark.jsonl": played("dark-chess", "random", limit=12).to_json_lines().encode(),
        "cards.jsonl": played("kuhn_poker", "random").to_json_lines().encode(),
    }


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with running(tmp_path / "games") as port:
        yield port


@pytest.fixture
def browser(port: int) -> Browser:
    return let_in(port)


def upload_named(browser: Browser, *files: tuple[str, bytes]) -> Reply:
    return browser.upload("/records/", "files", *files)


def opened(browser: Browser, name: str, data: bytes) -> str:
    reply = upload_named(browser, (name, data))
    assert reply.status == 303, reply.text
    assert re.fullmatch(r"/records/[0-9a-f]{12}", reply.headers["location"])
    return reply.headers["location"]


def mistakes(reply: Reply) -> list[str]:
    assert reply.status == 200, reply.text
    return [
        html.unescape(text)
        for text in re.findall(r'<p class="mistake" role="alert">(.+?)</p>', reply.text)
    ]


def downloads(page: str) -> list[str]:
    return re.findall(r'download="([^"]+)"', page)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "plies", "suffixes"),
    [
        ("game.sgf", 3, [".sgf", ".jsonl"]),
        ("game.pgn", 6, [".pgn", ".json", ".jsonl"]),
        ("game.json", 12, [".pgn", ".json", ".jsonl"]),
        ("game.jsonl", 12, [".pgn", ".json", ".jsonl"]),
        ("cards.jsonl", None, [".jsonl"]),
    ],
)
def test_a_file_is_a_replay_that_is_kept(
    tmp_path: Path, files: dict[str, bytes], name: str, plies: int | None, suffixes: list[str]
) -> None:
    with running(tmp_path / "games") as port:
        browser = let_in(port)
        address = opened(browser, name, files[name])
    with running(tmp_path / "games") as port:  # again
        browser.port = port
        shown = browser.ask(address)
        assert shown.status == 200
        assert "script-src 'self'" in shown.headers["content-security-policy"]
        count = len(positions_of(read_page(browser.ask(f"{address}/files/page").text))) - 1
        assert count == (count if plies is None else plies)
        found = sorted(Path(file).suffix for file in downloads(shown.text))
        assert found == sorted([*suffixes, ".html"])
        assert f'href="{address}"' in browser.ask("/records/").text
        assert name in browser.ask("/records/").text


def test_several_files_are_opened_and_the_bad_ones_named(browser: Browser) -> None:
    reply = upload_named(
        browser, ("one.sgf", SGF), ("two.sgf", b"(;GM[2]SZ[5];B[aa])"), ("three.txt", b"x")
    )
    said = mistakes(reply)
    assert len(said) == 2
    assert "two.sgf" in said[0]
    assert "is not Go" in said[0]
    assert said[1].startswith("three.txt: files are opened whose names end in .json, .jsonl, .pgn,")
    assert "1 opened" in reply.text
    assert "one.sgf" in browser.ask("/records/").text
    assert "two.sgf" not in browser.ask("/records/").text
    collection = upload_named(browser, ("many.sgf", SGF * 3))
    assert collection.headers["location"] == "/records/"
    assert browser.ask("/records/").text.count("many.sgf") == 3


def test_a_record_is_removed(browser: Browser) -> None:
    address = opened(browser, "one.sgf", SGF)
    assert browser.ask(address).status == 200
    assert browser.ask(f"{address}/remove", method="POST", body=b"").status == 303
    assert browser.ask(address).status == 404
    assert "one.sgf" not in browser.ask("/records/").text


def changed(record: bytes, **head: Any) -> bytes:
    first, _, rest = record.partition(b"\n")
    return json.dumps({**json.loads(first), **head}).encode() + b"\n" + rest


def test_bad_files_are_refused_with_a_reason(files: dict[str, bytes]) -> None:
    own = files["game.jsonl"]
    go = record_format("sgf", "go")
    record = played("go", "fast-random", limit=4)
    text = record.to_json_lines().encode()
    assert go.suffix == ".sgf"
    bad: dict[str, tuple[bytes, str]] = {
        "empty.sgf": (b"", "not SGF"),
        "cut.jsonl": (own[:-30], "truncated"),
        "version.jsonl": (changed(own, game_version=99), "install the recorded version"),
        "game.jsonl": (changed(own, game="chess960"), "chess960"),
        "parameters.jsonl": (changed(text, game_parameters={"board_size": 99}), "board_size"),
        "illegal.jsonl": (text.replace(b'"action":', b'"action":1', 1), "ply"),
        "moves.json": (files["game.json"].replace(b'"senses"', b'"sense"'), "senses"),
        "chess.pgn": (b"1. e4 Zf3 *", "Zf3"),
        "no_suffix": (SGF, "names end in"),
    }
    for name, (data, reason) in bad.items():
        with pytest.raises(RecordError, match=re.escape(name)) as caught:
            read_file(name, data)
        assert reason in str(caught.value), name


def test_a_file_cannot_name_the_program_of_a_game(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIAI_RUN_PROGRAMS", "1")  # for reports, not for what others send
    mark = tmp_path / "ran"
    head, *rest = files["game.jsonl"].splitlines()
    values = {**json.loads(head), "game": "program"}
    values["game_parameters"] = {"command": ["touch", str(mark)]}
    data = b"\n".join([json.dumps(values).encode(), *rest]) + b"\n"
    with pytest.raises(RecordError, match=r"parameters\.command: names a program, a file or"):
        read_file("game.jsonl", data)
    record = read_record(data.decode())
    with pytest.raises(HTTPException, match=r"parameters\.command: names a program"):
        _position(record, "0")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("referee", "settings", "named"),
    [
        (
            "gtp",
            {"command": "touch /tmp/owned"},
            "referee_parameters.command: names a",
        ),
        (
            "network",
            {"weights": "/etc/passwd"},
            "referee_parameters.weights: names a",
        ),
        ("network", {"weights": "no-such-weights"}, "no weights 'no-such-weights'"),
    ],
)
def test_a_file_cannot_name_a_program(referee: str, settings: dict[str, str], named: str) -> None:
    record = played("go", "fast-random", limit=4).to_json_lines().encode()
    parameters = {
        **json.loads(record.partition(b"\n")[0])["game_parameters"],
        "dead_stones": "referee",
        "referee": referee,
        "referee_settings": settings,
    }
    with pytest.raises(RecordError, match=named):
        read_file("x.jsonl", changed(record, game_parameters=parameters))


def test_names_and_comments_are_inert(browser: Browser) -> None:
    evil = f"(;GM[1]SZ[5]PB[{EVIL}]PW[\u202eevil];B[cc]C[{EVIL}];W[bb])".encode()
    address = opened(browser, "'><img src=x onerror=alert(1)>.sgf", evil)
    page, listed = browser.ask(address).text, browser.ask("/records/").text
    assert EVIL not in page + listed
    assert "\u202e" not in page + listed
    assert "<img" not in listed
    positions = positions_of(read_page(browser.ask(f"{address}/files/page").text))
    assert EVIL in positions[1].text()  # as text
    assert not list(positions[1].all("script"))
    refused = upload_named(browser, (f"{EVIL}.txt", b""))
    assert EVIL not in refused.text
    assert mistakes(refused)[0].startswith("<script>alert(1)")


@pytest.mark.parametrize("name", ["../../x.sgf", "/etc/passwd.sgf", "..\\x.sgf", "a\x00b.sgf"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    with running(tmp_path / "deep" / "games") as port:
        browser = let_in(port)
        opened(browser, name, SGF)
    (kept,) = (tmp_path / "deep" / "games" / "records").iterdir()
    assert re.fullmatch(r"[0-9a-f]{12}\.jsonl", kept.name)
    assert kept.stat().st_mode & 0o77 == 0
    assert sorted(path.name for path in (tmp_path / "deep" / "games").iterdir()) == [
        "browsers",
        "records",
    ]


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("x.pgn", b"1. Nf3 Nf6 2. Ng1 Ng8 " * 8_000, "too many moves"),
        ("x.sgf", b"(;SZ[19]" + b";B[aa];W[aa]" * 11_000 + b")", "more than 20000 moves"),
    ],
)
def test_a_file_is_bounded_before_it_is_played(name: str, file: bytes, said: str) -> None:
    began = time.process_time()
    with pytest.raises(RecordError, match=said):
        read_file(name, file)
    assert time.process_time() - began < 3, "played, a megabyte of it takes minutes"


def test_the_first_games_of_a_collection_are_opened() -> None:
    game, bad = b'[Event "x"]\n\n1. e4 *\n\n', b'[Event "x"]\n\n1. Zf3 *\n\n'
    bare = b"1. e4 *\n\n"
    for name, one, rest in (
        ("x.pgn", game, game),
        ("x.pgn", bare, bare),
        ("x.pgn", game, bad),
        ("x.sgf", SGF, SGF),
    ):
        assert not any("warnings" in record.tags for record in read_file(name, one * 50))
        began = time.process_time()
        first, *others = read_file(name, one * 50 + rest * 4_000)
        assert time.process_time() - began < 10, "all were read"
        assert ["warnings" in record.tags for record in others] == [False] * 49
        warnings: Any = first.tags["warnings"]
        assert warnings[-1].startswith("only the first 50 games are opened")


def test_uploads_are_bounded(browser: Browser) -> None:
    large = upload_named(browser, ("large.sgf", b"x" * MOST_BODY))
    assert large.status == 413
    many = upload_named(browser, *[(f"{n}.sgf", SGF) for n in range(MOST_FILES + 1)])
    assert "Too many files" in mistakes(many)[0]
    assert mistakes(upload_named(browser)) == ["choose a file"]
    assert "Opened before" not in browser.ask("/records/").text


def test_only_owners_open_records(port: int, browser: Browser) -> None:
    address = opened(browser, "one.sgf", SGF)
    stranger = Browser(port)
    for path in ("/records/", address, f"{address}/play?ply=1"):
        assert stranger.ask(path).status == 403
    assert upload_named(stranger, ("one.sgf", SGF)).status == 403
    for path in ("/records/0123456789ab", "/records/x", "/records/..%2fbrowsers"):
        assert browser.ask(path).status == 404


# -- the tree --------------------------------------------------------------------------------------


def choices(browser: Browser, address: str, position: int) -> dict[str, int]:
    moves = browser.ask(f"{address}/positions/{position}").json["moves"]
    return {move["text"]: move["action"] for move in moves}


def test_variations_and_comments_are_added_and_exported(browser: Browser) -> None:
    address = opened(browser, "one.sgf", SGF)  # C3, B4, D2
    position = 1
    for text in ("E5", "A1"):
        action = choices(browser, address, position)[text]
        said = browser.post(f"{address}/additions", {"position": position, "action": action}).json
        assert f"<b>{text}</b>" in said["position"]
        position = said["number"]
    browser.post(f"{address}/additions", {"position": position, "comment": "one ] <b>"})
    again = browser.post(f"{address}/additions", {"position": 0, "action": 12}).json
    assert (again["number"], again["notes"]) == (1, []), "C3 is followed, not added"
    root = sgf.Sgf_game.from_bytes(browser.ask(f"{address}/files/sgf").body).get_root()
    variation = root[0][1]
    assert (variation.get_move(), variation[0].get_move()) == (("w", (4, 4)), ("b", (0, 0)))
    assert variation[0].get("C") == "one ] <b>"
    assert root[0][0].get_move() == ("w", (3, 1))
    page = browser.ask(address).text
    assert 'aria-label="Sections"' in page
    for bad, status in (
        ({"position": 99, "action": 0}, 409),
        ({"position": 2, "action": 12}, 409),
        ({"position": 2, "comment": "x" * 10_001}, 400),
        ({"position": 2, "action": 10**30}, 400),
        ({"position": 2, "also": 1}, 400),
        ({"position": 2, "comment": "\ud800"}, 400),
        ([], 400),
    ):
        reply = browser.post(f"{address}/additions", bad)
        assert (reply.status, bool(reply.json["problem"])) == (status, True), bad
    assert browser.ask(address).text == page


@pytest.mark.slow
@pytest.mark.parametrize("file", ["one.sgf", "game.jsonl"])
def test_a_game_that_was_played_on_is_a_branch(
    browser: Browser, files: dict[str, bytes], file: str
) -> None:
    address = opened(browser, file, {**files, "one.sgf": SGF}[file])
    addition = {"position": 2, "action": min(choices(browser, address, 2).values())}
    at = browser.post(f"{address}/additions", addition).json["number"]
    agent = {"one.sgf": "fast-random", "game.jsonl": "rbc-random"}[file]
    values = {"players__0__agent": agent, "players__1__agent": agent}
    table = play_on(browser, address, at, **values)
    with browser.watching(table) as events:
        events.until(is_over)
    records = [
        read_record(browser.ask(f"{where}/files/jsonl").text)
        for where in (address, table.replace("tables", "records"))
    ]
    last = len(records[0].moves) + len(records[0].variations)
    assert line_to(records[0], last) == [move.action for move in records[1].moves]
    assert browser.ask(f"{address}/play?ply={last}").status == 409, "that game is over"


@pytest.mark.slow
@pytest.mark.slow
def test_a_file_of_ten_thousand_variations_opens_in_seconds(browser: Browser) -> None:
    letters = "abcdefghijklmnopqr"
    firsts = [letters[n % 18] + letters[n // 18 % 18] for n in range(10_000)]
    lines = "".join(f"(;W[{first}];B[sa]C[{first}];W[sb]TR[sa];B[sc])" for first in firsts)
    data = f"(;SZ[19];B[ss](;W[rs]){lines})"
    read_file("small.sgf", SGF)  # compiled
    began = time.process_time()
    address = opened(browser, "large.sgf", data.encode())
    assert browser.ask(address).status == 200
    assert time.process_time() - began < 20
    assert browser.ask(f"{address}/positions/40002").json["position"].count("<svg") == 1
    (record,) = read_file("back.sgf", browser.ask(f"{address}/files/sgf").body)
    assert len(record.variations) == 40_000


# -- playing on ------------------------------------------------------------------------------------


def play_on(browser: Browser, address: str, ply: int, **values: str) -> str:
    entered = {key.replace("__", "."): value for key, value in values.items()}
    reply = browser.form(f"{address}/play?ply={ply}", entered)
    assert reply.status == 303, reply.text
    return reply.headers["location"]


def test_a_game_goes_on_after_a_ply_by_the_rules_of_the_record(browser: Browser) -> None:
    address = opened(browser, "one.sgf", SGF)
    form = browser.ask(f"{address}/play?ply=2")
    assert "after ply 2, B4; black is next to act" in form.text
    assert "game.board_size" not in form.text
    table = play_on(
        browser,
        address,
        2,
        players__0__agent="me",
        players__1__agent="fast-random",
        game__board_size="19",
    )
    with browser.watching(table) as events:
        news = events.until(is_turn)
        assert news["moves"] == ["C3", "B4"]
        texts = {move["text"]: move["action"] for move in news["frame"]["moves"]}
        assert "E5" in texts
        assert "F6" not in texts, "the board has five lines"
        assert browser.move(table, news["frame"]["number"], texts["E5"]).status == 200
        news = events.until(lambda news: is_turn(news) and len(news["moves"]) == 4)
        assert news["moves"][:3] == ["C3", "B4", "E5"]


def test_the_earlier_moves_survive_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "games") as port:
        browser = let_in(port)
        address = opened(browser, "one.sgf", SGF)
        table = play_on(
            browser, address, 3, players__0__agent="fast-random", players__1__agent="me"
        )
    with running(tmp_path / "games") as port:
        browser.port = port
        with browser.watching(table) as events:
            assert events.until(is_turn)["moves"] == ["C3", "B4", "D2"]


HIDING = [("game.jsonl", "rbc", "rbc-random"), ("dark.jsonl", "dark-chess", "random")]


@pytest.mark.parametrize(
    ("file", "name", "agent"),
    with_slow(HIDING, HIDING[0]),
)
def test_a_player_of_a_hidden_game_is_told_only_what_it_observed(
    browser: Browser, files: dict[str, bytes], file: str, name: str, agent: str
) -> None:
    record = read_record(files[file].decode())
    address = opened(browser, file, files[file])
    assert "told what it observed" in browser.ask(f"{address}/play?ply=4").text
    table = play_on(browser, address, 4, players__0__agent="me", players__1__agent=agent)
    game = miai.load_game(name)
    view = view_of(game, 0, [move.action for move in record.moves[:4]])
    from miai.api import renderer_for

    renderer: Any = renderer_for(game)
    with browser.watching(table) as events:
        news = events.until(is_turn)
        assert news["frame"]["number"] == len(view.observations)
        assert news["frame"]["picture"] == renderer.svg(view)
        assert "moves" not in news
    stranger = Browser(browser.port)
    assert stranger.ask(table).status == 403


def test_there_is_no_playing_on_where_a_game_is_over_or_was_not(
    browser: Browser, files: dict[str, bytes]
) -> None:
    address = opened(browser, "cards.jsonl", files["cards.jsonl"])
    record = read_record(files["cards.jsonl"].decode())
    over = browser.ask(f"{address}/play?ply={len(record.moves)}")
    assert over.status == 409
    assert "play on from an earlier position" in over.text
    for ply in ("-1", "99", "x", "", "1e3", "٣"):
        assert (
            browser.ask(f"{address}/play?ply={ply.encode().hex() if ply == '٣' else ply}").status
            == 404
        )
    refused = browser.form(f"{address}/play?ply=2", {"players.0.agent": "nobody"})
    assert "choose who plays" in refused.text


def test_a_finished_table_is_played_on_and_downloaded(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", players__0__agent="random", players__1__agent="random")
    with browser.watching(table) as events:
        events.until(is_over)
    address = table.replace("tables", "records")
    assert browser.ask(f"{table}/replay").headers["location"] == address
    shown = browser.ask(address).text
    assert [Path(file).suffix for file in downloads(shown)] == [".jsonl", ".html"]
    assert f'href="{address}/play?ply=' in shown
    again = play_on(browser, address, 3, players__0__agent="random", players__1__agent="me")
    with browser.watching(again) as events:
        assert len(events.until(is_turn)["moves"]) == 3


def test_a_running_table_is_no_record(browser: Browser) -> None:
    table = browser.new_table("rbc", players__0__agent="me", players__1__agent="rbc-random")
    name = table.rpartition("/")[2]
    for path in ("", "/play?ply=0", "/positions/0", "/files/jsonl", "/files/page"):
        assert browser.ask(f"/records/{name}{path}").status == 404
    assert browser.post(f"/records/{name}/additions", {"position": 0}).status == 404


def test_a_guest_sees_the_replay_and_does_not_play_on(port: int, browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", players__0__agent="me", players__1__agent="guest")
    guest = Browser(port)
    browser.invite(guest, table)
    with browser.watching(table) as events:
        number = events.until(is_turn)["frame"]["number"]
        resignation = {"kind": "resign", "number": number}
        assert browser.post(f"{table}/answers", resignation).status == 200
        events.until(is_over)
    assert 'id="play-on"' in browser.ask(table.replace("tables", "records")).text
    shown = guest.ask(f"{table}/replay")
    assert shown.status == 200
    assert 'id="play-on"' not in shown.text
    assert guest.ask(f"{table.replace('tables', 'records')}/play?ply=0").status == 403
