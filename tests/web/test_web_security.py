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

from miai.playing.session import RevisableGame
from miai.web.guard import Browsers


def test_the_cookie_is_for_this_server_alone(visitor: Browser) -> None:
    reply = Browser(visitor.port).enter()
    flags = {part.strip().lower() for part in reply.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert TOKEN not in reply.text


@pytest.mark.parametrize("path", ["//elsewhere.example/", "/\\elsewhere.example/"])
def test_the_token_leads_to_no_other_site(visitor: Browser, path: str) -> None:
    reply = visitor.ask(f"{path}?token={TOKEN.replace(' ', '+')}")
    assert "elsewhere" not in reply.text


def test_no_form_starts_the_program_of_a_game(visitor: Browser, tmp_path: Path) -> None:
    assert "/games/program" not in visitor.ask("/").text
    assert visitor.ask("/games/program").status == 404
    mark = tmp_path / "ran"
    values = {"game.command": f"touch {mark}", "players.0.agent": "me"}
    assert visitor.form("/games/program", values).status == 404
    assert not mark.exists()


def test_a_malformed_answer_is_refused(visitor: Browser) -> None:
    bodies = [b"", b"null", b"[]", b"{", b"\xff", b'{"number": 1e999}', b'{"number": [[[]]]}']
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
    for number in range(5):
        browsers.admit(f"owner {number}")
        browsers.admit(f"guest {number}", table="0123456789ab")
    again = Browsers(tmp_path / "browsers")
    again.load()
    for known in (browsers, again):
        assert (len(known.owners), len(known.guests)) == (3, 3)
