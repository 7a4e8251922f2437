"""What the server refuses: strangers, other sites' requests, and hostile input."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import stat
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.web.server import TOKEN, Browser, is_turn, let_in, running

from miai.playing.session import RevisableGame
from miai.web.guard import Browsers
from miai.web.server import Sparingly


def test_the_cookie_is_for_this_server_alone(visitor: Browser) -> None:
    reply = Browser(visitor.port).enter()
    flags = {part.strip().lower() for part in reply.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert TOKEN not in reply.text


@pytest.mark.parametrize("path", ["//elsewhere.example/", "/\\elsewhere.example/"])
def test_the_token_leads_to_no_other_site(visitor: Browser, path: str) -> None:
    reply = visitor.ask(f"{path}?token={TOKEN.replace(' ', '+')}")
    assert "elsewhere" not in reply.text


MARK = "/dev/shm/miai-a-form-ran-this"
P1 = "players.1"
ON_THE_SERVER: dict[str, dict[str, str]] = {
    "go gtp": {f"{P1}.command": f"touch {MARK}"},
    "go referee": {"game.referee": "gtp", "game.referee_settings": f'{{command = "touch {MARK}"}}'},
    "go alphazero": {f"{P1}.weights": "/etc/passwd"},
    "go alphago": {f"{P1}.leaf_value": "mixed", f"{P1}.leaf_value.rollout": "weights.safetensors"},
    "rbc rbc-strong": {f"{P1}.engine": "stockfish", f"{P1}.engine.command": f"touch {MARK}"},
    "rbc rbc-seed": {f"{P1}.engine": "stockfish", f"{P1}.engine.command": "/bin/cat"},
    "rbc reconchess": {f"{P1}.bot": "/etc/passwd"},
    "tic_tac_toe program": {f"{P1}.command": "/bin/cat /etc/passwd"},
    "tic_tac_toe file": {f"{P1}.file": "agents/mine.py", f"{P1}.class_name": "Agent"},
}
"""Forms that name a program, file or weights of the server's machine, by game and agent."""


@pytest.mark.parametrize("form", ON_THE_SERVER)
def test_no_form_names_what_is_on_the_server(browser: Browser, tmp_path: Path, form: str) -> None:
    game, agent = form.split()
    fields = browser.ask(f"/games/{game}/players/1/{agent}").text
    offered = f"{browser.ask(f'/games/{game}').text}{fields}"
    for name in (f"{P1}.command", f"{P1}.engine.command", f"{P1}.bot", f"{P1}.file"):
        assert f'name="{name}"' not in offered
    entered = {"players.0.agent": "me", f"{P1}.agent": "random" if agent == "referee" else agent}
    reply = browser.form(f"/games/{game}", {**entered, **ON_THE_SERVER[form]})
    if reply.status == 303:  # fields that do not exist are not read
        (journal,) = (tmp_path / "games").glob("*.jsonl")
        assert not re.search("cat|passwd|touch", journal.read_text())
    else:
        assert re.search("choose who plays|names a program", reply.text)
    assert not Path(MARK).exists()


def test_programs_are_named_where_they_are_allowed(tmp_path: Path) -> None:
    program = {"players__1__agent": "program", "players__1__command": "/bin/cat"}
    with running(tmp_path / "games", programs=True) as port:
        browser = let_in(port)
        assert 'name="players.1.command"' in browser.ask("/games/go/players/1/program").text
        table = browser.new_table("tic_tac_toe", **program)
    with running(tmp_path / "games") as port, (browser := let_in(port)).watching(table) as events:
        assert "program.command: names a program" in events.next()["problem"]
        weights = {"players__1__agent": "alphazero", "players__1__weights": "policy-7-13"}
        assert browser.new_table("go", **weights), "shipped weights are for everybody"
        assert browser.ask("/games/program").status == 404


def test_each_entrance_gives_another_cookie_and_keeps_the_seats(browser: Browser) -> None:
    """Whoever planted a cookie in a browser must not become an owner with it."""
    table = browser.new_table("tic_tac_toe", players__1__agent="guest")
    guest = Browser(browser.port)
    browser.invite(guest, table)
    planted = Browser(browser.port, guest.cookie)
    guest.enter()
    assert guest.cookie != planted.cookie
    assert [guest.ask("/").status, planted.ask("/").status, planted.ask(table).status] == [
        *(200, 403, 403)
    ]
    with guest.watching(table) as events:
        assert events.next()["hints"] is False
        assert guest.post(f"{table}/hints", {}).json["problem"] != "you only look on here"
    former = Browser(browser.port, guest.cookie)
    guest.enter()
    assert guest.cookie != former.cookie
    assert [guest.ask("/").status, former.ask("/").status] == [200, 403]


def test_the_streams_of_a_browser_are_bounded(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miai.web.guard.MOST_STREAMS", 2)
    table = browser.new_table("tic_tac_toe")
    with (
        let_in(browser.port).watching(table) as other,
        browser.watching(table) as oldest,
        browser.watching(table) as middle,
        browser.watching(table) as newest,
    ):
        oldest.next()
        with pytest.raises(AssertionError, match="the server has closed the connection"):
            oldest.drain(5)
        other.next()
        for events in (middle, newest):
            events.until(is_turn)


@pytest.mark.slow
@pytest.mark.parametrize("browsers", [1, 400])
def test_the_lobby_answers_beside_400_streams(browser: Browser, browsers: int) -> None:
    table = browser.new_table("tic_tac_toe")
    assert browser.ask("/").status == 200  # the first takes longer
    with ExitStack() as stack:
        for number in range(400):
            each = browser if number >= browsers else let_in(browser.port)
            stack.enter_context(each.watching(table))
        began = time.monotonic()
        assert let_in(browser.port).ask("/").status == 200
        assert time.monotonic() - began < 1


def test_strangers_connections_give_way(visitor: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miai.web.server._MOST_CONNECTIONS", 20)
    table = visitor.new_table("tic_tac_toe")
    with visitor.watching(table) as events, ExitStack() as stack:
        half = []
        for number in range(60):
            sender = (f"127.0.0.{number % 3 + 1}", 0)
            made = socket.create_connection(("127.0.0.1", visitor.port), 5, sender)
            half.append(stack.enter_context(made))
            made.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        began = time.monotonic()
        assert let_in(visitor.port).ask("/").status == 200
        assert time.monotonic() - began < 2
        monkeypatch.setattr("miai.web.server.HEADER_SECONDS", 0.5)
        for made in half:  # those that gave way, and those whose time is over
            with suppress(ConnectionResetError):
                assert made.recv(1) == b""
        events.until(is_turn)  # the stream of a browser that has entered stays


def test_a_flood_of_complaints_is_a_line_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 0.2, 0.4, 1.1))
    # The module's own name alone: the server of the file reads the clock, too.
    clocks = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("miai.web.server.time", clocks)
    written = Sparingly()
    records = [logging.LogRecord("x", 40, "", 0, f"fault {n}", (), None) for n in range(4)]
    shown = [record.getMessage() for record in records if written.filter(record)]
    assert shown == ["fault 0", "fault 3 (and 2 more since the last)"]


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/games/go", {"origin": "http://["}, b"game.komi=1"),
        ("/games/go?" + "&".join("abcdefghijklmnopqrstu"), {}, None),
        ("/games/go?token=%FF&token=%ED%A0%80", {}, None),
        ("/games/go", {}, b"game.komi=1e308"),
        ("/games/go", {}, b"game.komi=-1e308&game.board_size=1e308&clock.seconds=1e400&seed=9e9"),
        ("/games/go", {"content-type": "multipart/form-data; boundary="}, b"--"),
        ("/games/rbc", {}, b"game.fen=%00&players.1.agent=rank%3A%ED%A0%80"),
        ("/records/", {"content-type": "multipart/form-data; boundary=x"}, b"--x\r\n" * 9),
        ("/", {"cookie": "miai=\xff; $Version=;;="}, None),
    ],
)
def test_what_is_odd_is_no_defect(
    visitor: Browser, path: str, headers: dict[str, str | None], body: bytes | None
) -> None:
    method = "GET" if body is None else "POST"
    kind = {"content-type": "application/x-www-form-urlencoded", **headers}
    reply = visitor.ask(path, method=method, body=body, headers=kind)
    assert reply.status < 500
    assert reply.body


def test_a_malformed_answer_is_refused(visitor: Browser) -> None:
    bodies = [b"", b"null", b"[]", b"{", b"\xff", b'{"number": 1e999}', b'{"number": [[[]]]}']
    bodies += [b"[" * 100_000, b'{"number":' * 100_000]
    table = visitor.new_table("tic_tac_toe")
    with visitor.watching(table) as events:
        events.until(is_turn)
        kind = {"content-type": "application/json"}
        for body in bodies:
            reply = visitor.ask(f"{table}/answers", method="POST", body=body, headers=kind)
            assert reply.status in (400, 409), body
            assert reply.json["problem"], body


def test_what_is_kept_is_for_this_user_alone(browser: Browser, tmp_path: Path) -> None:
    browser.new_table("tic_tac_toe")
    folder = tmp_path / "games"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert len(files) == 2
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert browser.cookie.partition("=")[2] not in file.read_text()


def test_a_damaged_journal_says_so(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "games" / "0123456789ab.jsonl").write_text(json.dumps({"schema": "other"}) + "\n")
    reply = browser.ask("/tables/0123456789ab")
    assert reply.status == 409
    assert "is not a table&#39;s journal" in reply.text
    assert browser.ask("/").status == 200


@pytest.mark.slow
def test_a_game_that_nobody_looks_at_is_suspended_and_its_agents_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miai.web.tables.IDLE_SECONDS", 0.3)
    monkeypatch.setattr("miai.web.server._TIDY_SECONDS", 0.1)
    before = children()
    with running(tmp_path / "games") as port:
        browser = let_in(port)
        table = browser.new_table("tic_tac_toe")
        with browser.watching(table) as events:
            events.until(is_turn)
            agents = children() - before
            assert agents
            time.sleep(1)
            assert agents <= children(), "somebody looks on"
        until = time.monotonic() + 20
        while agents & children():
            assert time.monotonic() < until, "the agents go on"
            time.sleep(0.05)
        with browser.watching(table) as events:
            events.until(is_turn)


@pytest.mark.slow
def test_a_game_that_is_looked_at_while_it_is_being_suspended_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, ending, drop_pending = threading.Event(), threading.Event(), RevisableGame.drop_pending

    def slowly(game: RevisableGame) -> None:
        drop_pending(game)
        if left.is_set():  # the game is being suspended
            ending.set()
            time.sleep(1)

    monkeypatch.setattr("miai.web.tables.IDLE_SECONDS", 0.3)
    monkeypatch.setattr("miai.web.server._TIDY_SECONDS", 0.1)
    monkeypatch.setattr(RevisableGame, "drop_pending", slowly)
    before = children()
    with running(tmp_path / "games") as port:
        browser = let_in(port)
        table = browser.new_table("tic_tac_toe")
        with browser.watching(table) as events:
            events.until(is_turn)
            known = children()
        left.set()
        assert ending.wait(20)
        with browser.watching(table) as events:
            until = time.monotonic() + 20
            while children() <= known | before:
                assert time.monotonic() < until, "the game stands still under a spectator's eyes"
                time.sleep(0.05)
            events.until(is_turn)


def children() -> set[int]:
    """Return the ids of this process's children that have not ended."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == os.getpid() and state != "Z":
                found.add(int(folder.name))
    return found


def test_the_games_in_progress_are_bounded(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miai.web.tables.MOST_RUNNING", 1)
    table = browser.new_table("tic_tac_toe")
    with browser.watching(table) as events:
        events.until(is_turn)
        entered = {"players.0.agent": "me", "players.1.agent": "random"}
        reply = browser.form("/games/tic_tac_toe", entered)
        assert reply.status == 200
        assert "1 games are in progress" in reply.text
        number = events.last["frame"]["number"]
        browser.post(f"{table}/answers", {"number": number, "kind": "resign"})
        events.until(lambda news: news["stage"] == "over")
    assert browser.form("/games/tic_tac_toe", entered).status == 303


def test_the_browsers_that_are_known_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miai.web.guard._MOST_BROWSERS", 3)
    browsers = Browsers(tmp_path / "browsers")
    for _ in range(5):
        browsers.admit("")
        browsers.admit("", table="0123456789ab")
    again = Browsers(tmp_path / "browsers")
    again.load()
    for known in (browsers, again):
        assert (len(known.owners), len(known.guests)) == (3, 3)
