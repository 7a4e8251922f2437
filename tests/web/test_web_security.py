"""What the server refuses: strangers, other sites' requests, and hostile input."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from pathlib import Path

import pytest
from tests.web.server import TOKEN, Browser, is_turn, let_in, running

from miai.errors import ConfigError
from miai.playing.session import RevisableGame
from miai.web.guard import Browsers
from miai.web.server import serve


def test_a_browser_without_the_token_gets_nothing(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe")
    stranger = Browser(browser.port)
    for path in ("/", "/games/go", table, f"{table}/events", "/?token=wrong", "/?token="):
        reply = stranger.ask(path)
        assert reply.status == 403
        assert "random" not in reply.text
    assert not stranger.cookie
    assert stranger.post(f"{table}/answers", {}).status == 403


def test_the_cookie_is_for_this_server_alone(visitor: Browser) -> None:
    reply = Browser(visitor.port).enter()
    flags = {part.strip().lower() for part in reply.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert TOKEN not in reply.text


@pytest.mark.parametrize("path", ["//elsewhere.example/", "/\\elsewhere.example/"])
def test_the_token_leads_to_no_other_site(visitor: Browser, path: str) -> None:
    reply = visitor.ask(f"{path}?token={TOKEN.replace(' ', '+')}")
    assert "elsewhere" not in reply.text


def test_another_name_of_the_host_is_refused(visitor: Browser) -> None:
    for host in ("elsewhere.example", f"elsewhere.example:{visitor.port}", "127.0.0.1", None):
        assert visitor.ask("/", headers={"host": host}).status in (400, 421)
    assert visitor.ask("/", headers={"host": f"localhost:{visitor.port}"}).status == 200


@pytest.mark.parametrize("origin", [None, "null", "http://elsewhere.example", "http://127.0.0.1"])
def test_a_post_from_another_site_is_refused(visitor: Browser, origin: str | None) -> None:
    body = b"players.0.agent=me&players.1.agent=random"
    kind = {"content-type": "application/x-www-form-urlencoded"}
    reply = visitor.ask(
        "/games/tic_tac_toe", method="POST", body=body, headers={**kind, "origin": origin}
    )
    assert reply.status == 403


def test_no_form_starts_the_program_of_a_game(visitor: Browser, tmp_path: Path) -> None:
    assert "/games/program" not in visitor.ask("/").text
    assert visitor.ask("/games/program").status == 404
    mark = tmp_path / "ran"
    values = {"game.command": f"touch {mark}", "players.0.agent": "me"}
    assert visitor.form("/games/program", values).status == 404
    assert not mark.exists()


def test_every_page_has_a_strict_policy(visitor: Browser) -> None:
    table = visitor.new_table("tic_tac_toe")
    for path in ("/", "/games/go", "/games/nothing", table, "/tables/0123456789ab", "/nowhere"):
        reply = visitor.ask(path)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "<script>" not in reply.text
        assert " onclick=" not in reply.text
        assert "http://" not in reply.text.replace("http://www.w3.org/", "")
        assert "https://" not in reply.text


@pytest.mark.parametrize(
    "path",
    [
        "/tables/../../etc/passwd",
        "/tables/..%2f..%2fetc%2fpasswd",
        "/tables/0123456789ab%00",
        "/assets/../server.py",
        "/assets/..%2fserver.py",
        "/assets/%2e%2e%2fserver.py",
        "/games/go%0d%0aset-cookie:x=1",
    ],
)
def test_a_path_leads_to_no_file(visitor: Browser, path: str) -> None:
    reply = visitor.ask(path)
    assert reply.status in (400, 404, 405)
    assert b"root:" not in reply.body
    assert b"import" not in reply.body
    assert "set-cookie" not in reply.headers


def test_a_request_has_a_maximum_size(visitor: Browser) -> None:
    reply = visitor.form("/games/go", {"players.0.agent": "x" * (1 << 21)})
    assert reply.status == 413


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b"\xff", b'{"number": 1e999}', b'{"number": [[[]]]}']
)
def test_a_malformed_answer_is_refused(visitor: Browser, body: bytes) -> None:
    table = visitor.new_table("tic_tac_toe")
    with visitor.watching(table) as events:
        events.until(is_turn)
        kind = {"content-type": "application/json"}
        reply = visitor.ask(f"{table}/answers", method="POST", body=body, headers=kind)
        assert reply.status in (400, 409)
        assert reply.json["problem"]


def test_what_is_entered_is_escaped(visitor: Browser) -> None:
    evil = "\"><script>alert('x')</script>"
    entered = {"players.0.agent": evil, "game.board_size": evil, "seed": evil, "clock.kind": evil}
    reply = visitor.form("/games/go", entered)
    assert reply.status == 200
    assert "<script>alert" not in reply.text
    assert "&lt;script&gt;" in reply.text


def test_an_invitation_serves_one_browser_for_one_game(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", players__0__agent="me", players__1__agent="guest")
    other = browser.new_table("tic_tac_toe")
    address = browser.post(f"{table}/invitations/1", {}).json["address"]
    path = "/" + address.split("/", 3)[3]
    guest, late = Browser(browser.port), Browser(browser.port)
    assert guest.ask(path).status == 200
    assert late.ask(path).status == 410
    assert guest.ask(table).status == 200
    for forbidden in ("/", other, f"{other}/events", "/games/go"):
        assert guest.ask(forbidden).status == 403
    with guest.watching(table) as seen, browser.watching(table) as own:
        assert own.until(is_turn)["frame"]["turn"]
        assert not seen.next()["frame"]["turn"]
        number = own.last["frame"]["number"]
        answer = {"number": number, "kind": "move", "action": 4}
        assert guest.post(f"{table}/answers", answer).status == 409, "it is not its turn"
        assert browser.post(f"{table}/answers", answer).status == 200
        seen.until(is_turn)


def test_what_is_kept_is_for_this_user_alone(browser: Browser, tmp_path: Path) -> None:
    browser.new_table("tic_tac_toe")
    folder = tmp_path / "games"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert len(files) == 2
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert browser.cookie.partition("=")[2] not in file.read_text()


@pytest.mark.parametrize(
    ("host", "token", "message"),
    [
        ("0.0.0.0", "", "everybody who reaches this address"),
        ("", "short", "too short to be a secret"),
        ("192.0.2.1", "long enough, really", "cannot listen on 192.0.2.1"),
    ],
)
def test_an_open_door_is_refused(host: str, token: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        serve(tmp_path, port=0, host=host, token=token)


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
    for number in range(5):
        browsers.admit(f"owner {number}")
        browsers.admit(f"guest {number}", table="0123456789ab")
    again = Browsers(tmp_path / "browsers")
    again.load()
    for known in (browsers, again):
        assert (len(known.owners), len(known.guests)) == (3, 3)
