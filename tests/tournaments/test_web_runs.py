"""Runs in `miai web`: tournaments as they go on and afterwards, and comparisons."""

from __future__ import annotations

import contextlib
import html
import json
import re
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.comparing.comparisons import compare
from tests.comparing.comparisons import config_text as comparison_text
from tests.tournaments.support import command, config_text, environment, games_of, player
from tests.tournaments.support import run_serially as run_tournament
from tests.web.server import TOKEN, Browser, is_turn, let_in, running
from tests.whole_texts import assert_expected

from miai.errors import ConfigError, MiaiError
from miai_tournaments.report.watch import MOST_BOARDS, RunReading
from miai_tournaments.store.folder import COMPARISON, runner_of
from miai_tournaments.store.rows import RunInfo
from miai_tournaments.store.store import Store
from miai_tournaments.web import runs as pages
from miai_tournaments.web.runs import LiveBoards
from miai_tournaments.workers.game_runner import LiveSnapshot

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

EVIL = "a-<script>alert(1)<"  # names of players are letters; those of folders are not


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished tournament and a broken store."""
    folder = tmp_path_factory.mktemp("runs")
    config = folder / "x.toml"
    config.write_text(
        config_text(
            player("ann", "mcts", simulations=30),
            player("bob"),
            player("cid"),
            tournament={"rounds": 1},
        )
    )
    run_tournament(config, folder / EVIL)
    (folder / "b-broken").mkdir()
    (folder / "b-broken" / "tournament.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 500)
    return folder


@pytest.fixture
def browser(runs: Path, tmp_path: Path) -> Iterator[Browser]:
    with running(tmp_path / "games", runs, programs=True) as port:
        made = let_in(port)
        yield made


def words_of(page: str) -> str:
    """Return the text of a page without its tags."""
    return re.sub(r"<[^>]*>", "", page)


def test_the_overview_lists_runs_and_what_is_wrong(browser: Browser) -> None:
    text = browser.ask("/runs/").text
    assert re.findall(r'<a href="/runs/(\d+)/">', text) == ["0", "1"]
    whole, torn = (words_of(row) for row in text.split("<tr>")[2:])
    assert whole.split()[-2:] == ["(tic_tac_toe)tournamentcomplete,", "6/6"]
    assert "b-broken" in torn
    assert "tournament.sqlite" in torn
    broken = browser.ask("/runs/1/")
    assert (broken.status, "Traceback" in broken.text) == (409, False)
    for path in ("/runs/2/", "/runs/2/events", "/runs/2/stop", "/runs/99999999999999999999/"):
        assert browser.ask(path).status == 404


def test_a_run_is_stopped_paused_and_resumed_after_a_question(
    browser: Browser, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []

    def popen(command: list[str], **options: object) -> object:
        started.append((command[1:], options["start_new_session"]))
        return SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(pages, "subprocess", SimpleNamespace(Popen=popen, DEVNULL=None))
    resumed = (["-m", "miai", "tournament", "resume", str(runs / EVIL)], True)
    for word, sentence in (
        ("stop", "are finished first. The run can be resumed."),
        ("pause", "are finished; the players stay ready."),
        ("resume", "It goes on in a process of its own, even when this server ends."),
    ):
        shown = words_of(browser.ask(f"/runs/0/{word}").text)
        assert f"{word.title()} the run {EVIL}?" in html.unescape(shown)
        assert sentence in shown
        assert started == [], "a question does nothing"
        reply = browser.form(f"/runs/0/{word}", {})
        assert (reply.status, reply.headers["location"]) == (303, "/runs/0/")
    assert started == [resumed]
    monkeypatch.setattr(pages, "runner_of", lambda folder: "process 1")
    assert browser.form("/runs/0/resume", {}).status == 303
    assert started == [resumed], "it is being run"
    assert browser.ask("/runs/0/nothing").status == 404


def test_a_page_shows_the_state_and_the_boards() -> None:
    parts = []
    for change in ({"complete": True}, {"over": True}, {"paused": True}, {}):
        facts = {"complete": False, "over": False, "paused": False, "runner": "process 1"}
        reading: Any = SimpleNamespace(**{**facts, **change})
        parts.append(pages._state(reading))
    reading = SimpleNamespace(done=3, total=0, progress_text=lambda: "3/0 games")
    parts.append(pages._progress(reading))
    hidden, drawn = snapshot("", (4, 0, 8)), snapshot("", ())
    parts.append(live_boards("phantom_tic_tac_toe").update([hidden, *[drawn] * (MOST_BOARDS + 1)]))
    parts.append(live_boards("tic_tac_toe").update([hidden]))
    assert_expected("web-run.html", "\n".join(parts))


def test_a_game_of_a_run_is_played_on_from_a_position(browser: Browser, tmp_path: Path) -> None:
    link = re.findall(r'href="(replays/[^"]+)"', browser.ask("/runs/0/").text)[0]
    shown = re.search(r'id="play-on"[^>]* href="([^"?]+)', browser.ask(f"/runs/0/{link}").text)
    assert shown is not None
    address = shown[1]
    form = browser.ask(f"{address}?ply=2")
    assert "The game goes on after ply 2" in form.text
    sent = re.search(r'<form[^>]* action="([^"]+)"', form.text)
    assert sent is not None
    reply = browser.form(sent[1], {"players.0.agent": "me", "players.1.agent": "random"})
    assert reply.status == 303, reply.text
    with browser.watching(reply.headers["location"]) as events:
        assert len(events.until(is_turn)["moves"]) == 2
    assert browser.ask("/runs/0/replays/nothing.html").status == 404
    assert browser.ask(f"{address}?ply=999").status == 404
    browser.cookie = ""
    assert browser.form(f"{address}?ply=2", {"players.0.agent": "me"}).status == 403
    with running(tmp_path / "games") as port:  # which knows nothing of the run
        assert let_in(port).ask(address.removesuffix("/play")).status == 200


def test_a_finished_run_has_its_report_and_its_replays(browser: Browser, runs: Path) -> None:
    text = browser.ask("/runs/0/").text
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    for heading in ("Ratings", "Crosstable", "By colour"):
        assert f"<h2>{heading}</h2>" in text
    links = re.findall(r'href="(replays/[^"]+)"', text)
    assert len(links) == len(games_of(runs / EVIL)) == 6
    replay = browser.ask(f"/runs/0/{links[0]}")
    assert replay.status == 200
    assert 'href="/runs/0/"' in replay.text
    for bad in ("replays/nothing.html", "replays/..%2f..%2fx.html", "replays/%00"):
        assert browser.ask(f"/runs/0/{bad}").status == 404


@pytest.mark.slow
def test_a_quiet_run_sends_its_parts_once(browser: Browser) -> None:
    with browser.watching("/runs/0") as events:
        first = events.next()
        assert set(first) == {"progress", "state", "boards", "report"}
        assert "6/6 games" in first["progress"]
        events._answer.fp.raw._sock.settimeout(2.5)  # type: ignore[attr-defined]
        with pytest.raises(TimeoutError):
            events.next()


def test_a_reader_is_sent_what_is_newer_than_his_version(runs: Path) -> None:
    watched = pages.WatchedRun(runs / EVIL)
    for name in ("state", "boards", "state"):
        watched._put(name, name)
    assert [json.loads(watched._message(known)[1]) for known in (0, 1, 2)] == [
        {"state": "state", "boards": "boards"},
        {"boards": "boards"},
        {},
    ]


@pytest.mark.slow
@pytest.mark.engine("chromium")
def test_a_report_that_changes_stays_as_its_reader_left_it(
    browser: Browser, chromium: Chromium
) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    base = f"http://127.0.0.1:{browser.port}"
    page.goto(f"{base}/?token={TOKEN}")
    page.wait_for_url(f"{base}/")
    page.goto(f"{base}/runs/0/")
    rows = "[...document.querySelectorAll('#ratings tbody tr')].map((row) => row.innerText)"
    ranked = page.evaluate(rows)
    page.locator("#ratings th button", has_text="Elo").click()
    page.locator("#ratings th button", has_text="Elo").click()
    turned = page.evaluate(rows)
    page.evaluate("document.querySelector('#ratings .scroll').scrollLeft = 40")
    page.locator("details summary").click()
    link = page.locator("#replays a").nth(1)
    link.focus()
    address = link.get_attribute("href")
    page.evaluate("""async () => {
      const text = await (await fetch(location.href)).text();
      const fresh = new DOMParser().parseFromString(text, "text/html");
      const report = fresh.getElementById("report").innerHTML;
      document.querySelector("#ratings").dataset.old = "yes";
      events.onmessage({ data: JSON.stringify({ report }) });
    }""")
    assert page.evaluate("document.querySelector('#ratings').dataset.old") is None
    assert page.evaluate(rows) == turned != ranked
    assert page.evaluate("document.querySelector('#ratings .scroll').scrollLeft") == 40
    assert page.evaluate("document.querySelector('details').open")
    assert page.evaluate("document.activeElement.getAttribute('href')") == address
    page.close()


def test_strangers_and_guests_see_no_run(browser: Browser) -> None:
    stranger = Browser(browser.port)
    for path in ("/runs/", "/runs/0/", "/runs/0/events"):
        assert stranger.ask(path).status == 403
    assert browser.ask("/runs/0/stop", method="POST", headers={"origin": "http://x"}).status == 403


def test_a_run_that_breaks_its_reader_gives_a_message(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*given: object) -> None:
        raise ValueError("<b>hostile")

    with running(tmp_path / "games", runs) as port:
        browser = let_in(port)
        with browser.watching("/runs/0") as events:
            events.next()
            with monkeypatch.context() as patch:
                patch.setattr(RunReading, "update", fail)
                state = events.next()["state"]
                page = browser.ask("/runs/0/")
            assert "cannot be shown: ValueError: &lt;b&gt;hostile" in state
            assert (page.status, "ValueError: &lt;b&gt;hostile" in page.text) == (409, True)
            assert "is complete" in events.next()["state"], "the stream goes on"
    assert caplog.text.count("Traceback") >= 2


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with (
        pytest.raises(ConfigError, match="nothing that miai web can show"),
        running(tmp_path / "games", tmp_path / "empty"),
    ):
        pass


def test_a_run_keeps_its_address_when_others_begin_beside_it(runs: Path, tmp_path: Path) -> None:
    shown = tmp_path / "runs"
    shown.mkdir()
    shutil.copytree(runs / EVIL, shown / "m-first")
    with running(tmp_path / "games", shown) as port:
        browser = let_in(port)
        assert "m-first" in browser.ask("/runs/0/stop").text
        shutil.copytree(runs / EVIL, shown / "a-later")
        assert "m-first" in browser.ask("/runs/0/stop").text
        listed = re.findall(
            r'<a href="/runs/(\d+)/">.*?(a-later|m-first)', browser.ask("/runs/").text
        )
        assert listed == [("1", "a-later"), ("0", "m-first")]
        shutil.rmtree(shown / "m-first")
        assert browser.ask("/runs/0/").status == 404
        assert "a-later" in browser.ask("/runs/1/stop").text


def test_a_comparison_shows_its_tables_and_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text(comparison_text())
    compare(tmp_path / "few.toml", "--out", tmp_path / "few")
    with (
        running(tmp_path / "games", tmp_path / "few") as port,
        contextlib.closing(sqlite3.connect(tmp_path / "few" / COMPARISON.file_name)) as store,
    ):
        browser = let_in(port)
        assert "comparison" in browser.ask("/runs/").text
        whole = browser.ask("/runs/0/")
        shown = json.loads((tmp_path / "few" / "comparison.json").read_text())
        for row in shown["rows"]:
            assert row["arm"] in whole.text
        titles = re.findall(r"<h2>([^<]+)</h2>", whole.text)
        assert titles[0] == "Verdict"
        assert "times as fast as" in whole.text.partition("data:image/svg")[0]
        assert len([title for title in titles if "against" in title]) == len(
            {(row["game"], row["depth"], row["class"]) for row in shown["rows"]}
        )
        assert ("refresh" in whole.headers, "reloads itself" in whole.text) == (False, False)
        (total,) = store.execute("SELECT count(*) FROM searches").fetchone()
        store.execute("DELETE FROM searches")
        store.commit()
        begun = browser.ask("/runs/0/")
        assert f"0/{total} searches" in begun.text
        assert "refresh" in begun.headers


@pytest.mark.slow
@pytest.mark.timeout(80)
def test_a_run_is_watched_stopped_resumed_and_watched_to_its_end(tmp_path: Path) -> None:
    config, out = tmp_path / "x.toml", tmp_path / "run"
    players = (player("ann", "mcts", simulations=3000), player("bob", "mcts", simulations=3000))
    config.write_text(config_text(*players, tournament={"rounds": 60}))
    arguments = command("run", config, "--out", out)
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, env=environment()) as process:
        until = time.monotonic() + 60
        while not (out / "tournament.sqlite").exists() or runner_of(out) is None:
            assert time.monotonic() < until
            time.sleep(0.05)
        with running(tmp_path / "games", out, programs=True) as port:
            browser = let_in(port)
            with browser.watching("/runs/0") as events:
                assert "stop …" in events.until(lambda parts: "state" in parts)["state"]
                seen = events.until(lambda parts: done(parts) > 0)
                events.until(lambda parts: done(parts) > done(seen))
                assert "Pause the run run?" in words_of(browser.ask("/runs/0/pause").text)
                assert browser.form("/runs/0/pause", {}).status == 303
                paused = events.until(lambda parts: "Paused" in parts.get("state", ""))
                assert "resume …" in paused["state"]
                pid = process.pid
                steady = stays(out)
                assert browser.form("/runs/0/resume", {}).status == 303
                events.until(lambda parts: "pause …" in parts.get("state", ""))
                events.until(lambda parts: done(parts) > steady)
                assert f"process {pid} " in str(runner_of(out)), "the same process goes on"
                assert browser.ask("/runs/0/nothing").status == 404
                assert "Stop the run run?" in words_of(browser.ask("/runs/0/stop").text)
                assert runner_of(out) is not None, "a question stops nothing"
                assert browser.form("/runs/0/stop", {}).status == 303
                events.until(lambda parts: "resume …" in parts.get("state", ""))
            assert process.wait(timeout=30) == 130
            played = len(games_of(out))
            assert 0 < played < 120
            assert browser.ask("/runs/0/resume").status == 200
            assert runner_of(out) is None, "a question resumes nothing"
            with browser.watching("/runs/0") as events:
                assert browser.form("/runs/0/resume", {}).status == 303
                last = events.until(lambda parts: "is complete" in parts.get("state", ""))
                assert last
                until = time.monotonic() + 10
                while "resumed run" in [thread.name for thread in threading.enumerate()]:
                    assert time.monotonic() < until, "the resumed run is not reaped"
                    time.sleep(0.05)
            assert "120/120 games" in browser.ask("/runs/0/").text
    assert len(games_of(out)) == 120


def stays(out: Path) -> int:
    """Wait until a paused run has finished its games; return how many it has, which stays so."""
    until, last, same = time.monotonic() + 60, -1, 0
    while same < 8:
        assert time.monotonic() < until, "the run goes on though it is paused"
        with Store.read(out) as store:
            counts = store.counts()
        same = same + 1 if counts["done"] == last and not counts["running"] else 0
        last = counts["done"]
        time.sleep(0.25)
    return last


def done(parts: dict[str, str]) -> int:
    found = re.search(r"(\d+)/\d+ games", parts.get("progress", ""))
    return int(found[1]) if found else 0


def snapshot(game: str, actions: tuple[int, ...], **settings: object) -> LiveSnapshot:
    names = ("ann", "bob")
    lines = ("a board",)
    return LiveSnapshot(
        game_id="g~1", players=names, ply=4, lines=lines, settings=settings, actions=actions
    )


def live_boards(game: str, **parameters: object) -> LiveBoards:
    return LiveBoards(
        RunInfo(name="n", seed=0, rounds=1, game=game, game_version=1, game_parameters=parameters)
    )


def test_a_running_game_is_drawn_for_each_player_as_it_sees_it() -> None:
    boards = live_boards("phantom_tic_tac_toe")
    boards.update([snapshot("phantom_tic_tac_toe", (4, 0, 8))])
    one, other = boards.picture("g~1", 0), boards.picture("g~1", 1)
    assert one is not None
    assert other is not None
    assert one.startswith("<svg")
    # x has two crosses and o one circle, and neither sees the other's.
    crosses, circles = 'stroke="#0072b2"', "<circle"
    assert (one.count(crosses), one.count(circles)) == (2, 0)
    assert (other.count(crosses), other.count(circles)) == (0, 1)
    assert boards.picture("g~2", 0) is None
    with pytest.raises(ValueError, match="no player 2"):
        boards.picture("g~1", 2)
    boards.update([])
    assert boards.picture("g~1", 0) is None


def test_a_board_of_a_game_has_its_own_settings() -> None:
    boards = live_boards("go", board_size=5)
    assert boards.update([snapshot("go", (0,), board_size=9)]).count("<img") == 1
    nine = boards.picture("g~1", 0)
    boards.update([snapshot("go", (0,))])
    assert nine != boards.picture("g~1", 0)


@pytest.mark.parametrize("actions", [(99,), (0, 0), (-1,), (2**80,)])
def test_a_board_that_is_no_position_is_refused(actions: tuple[int, ...]) -> None:
    boards = live_boards("tic_tac_toe")
    boards.update([snapshot("tic_tac_toe", actions)])
    with pytest.raises((MiaiError, ValueError)):
        boards.picture("g~1", 0)


def test_a_board_that_cannot_be_drawn_is_shown_as_text() -> None:
    assert "<pre" in live_boards("nothing").update([snapshot("nothing", (1,))])
    boards = live_boards("nothing")
    boards.update([snapshot("nothing", (0,))])
    with pytest.raises(ValueError, match="the game draws no picture"):
        boards.picture("g~1", 0)
