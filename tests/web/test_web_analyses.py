"""Analyses of finished games on their pages: begun, paused, kept, and an analyst that fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.framework.test_analysis import MORTAL, judged
from tests.web.server import Browser, is_over, is_turn, let_in, running

import miai
from miai.playing.opponents import Analyst
from miai.playing.replay import record_of_actions

RECORD = record_of_actions(miai.load_game("tic_tac_toe"), [4, 1, 0, 8, 3, 5, 6], players=["x", "o"])


def begun(browser: Browser) -> str:
    """Open a game and begin its analysis; return the address of its page."""
    file = ("game.jsonl", RECORD.to_json_lines().encode())
    address = str(browser.upload("/records/", "files", file).headers["location"])
    assert browser.ask(f"{address}/analysis").json["button"] == "analyse this game"
    assert browser.post(f"{address}/analysis", "start").json["button"] == "pause"
    return address


def rested(browser: Browser, address: str) -> dict[str, Any]:
    """Wait until an analysis does not go on."""
    while (news := browser.ask(f"{address}/analysis").json)["running"]:
        time.sleep(0.05)
    return dict(news)


@pytest.fixture
def fragile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Let an analyst judge that fails at the fourth ply while a file is there."""
    sign, file = tmp_path / "fails", tmp_path / "fragile.py"
    analyst = Analyst(agent="file", parameters={"file": str(file), "class_name": "Mortal"})

    def make(failure: str) -> Path:
        sign.touch()
        file.write_text(MORTAL.format(sign=str(sign)).replace("os._exit(7)", failure))
        return sign

    for module in ("miai.web.records", "miai.analysis.analysis"):
        monkeypatch.setattr(f"{module}.analyst_of", lambda game: analyst)
    monkeypatch.setattr("miai.web.records.available_processors", lambda: 1)
    return make


@pytest.mark.slow
def test_a_game_is_analysed_once_and_kept_with_its_record(tmp_path: Path) -> None:
    with running(tmp_path) as port:
        browser = let_in(port)
        address = begun(browser)
        assert rested(browser, address)["judged"] == 7
        shown = browser.ask(address).text
    (mistake,) = judged(RECORD).mistakes()
    assert f"#p{mistake.ply + 1}" in shown.partition("Largest mistakes")[2]
    with running(tmp_path) as port:
        browser.port = port
        assert browser.ask(address).text == shown, "nothing is judged again"
        assert browser.ask(f"{address}/analysis").json["kind"] == ""
        addition = {"position": 8, "comment": "seen too late"}  # on the first better line
        said = browser.post(f"{address}/additions", addition).json
        assert said == {"number": 8, "reload": True}
        assert browser.ask(f"{address}/analysis").json["kind"] == "", "it is kept"
        assert "Largest mistakes" in browser.ask(address).text
        assert "seen too late" in browser.ask(f"{address}/files/jsonl").text
        browser.form(f"{address}/remove", {})
        assert list((tmp_path / "records").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "said"),
    [("os._exit(7)", "exited with status 7"), ("import time; time.sleep(99)", "for more than 9 s")],
)
def test_an_analyst_that_dies_or_hangs_is_named_and_its_work_is_kept(
    browser: Browser,
    fragile: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    failure: str,
    said: str,
) -> None:
    monkeypatch.setattr("miai.web.records.TASK_SECONDS", 9.0)
    sign, address = fragile(failure), begun(browser)
    news = rested(browser, address)
    assert news["text"].startswith("the analyst file failed: job at ply 4: worker process ")
    assert said in news["text"]
    assert news["text"].endswith("; 3 of 7 positions are judged")
    assert "Largest mistakes" in browser.ask(address).text
    sign.unlink()
    assert browser.post(f"{address}/analysis", "start").status == 200
    assert rested(browser, address)["judged"] == 7


@pytest.mark.slow
def test_an_analysis_pauses_although_its_analyst_hangs(
    browser: Browser, fragile: Callable[[str], Path]
) -> None:
    fragile("import time; time.sleep(99)")
    address, other = begun(browser), begun(browser)
    while "3 of 7" not in browser.ask(f"{address}/analysis").json["text"]:
        time.sleep(0.05)
    for each, judged_plies in ((other, 0), (address, 3)):  # the other one waits for its turn
        browser.post(f"{each}/analysis", "pause")
        assert rested(browser, each)["judged"] == judged_plies


def test_only_a_finished_game_is_analysed(browser: Browser) -> None:
    table = browser.new_table("phantom_tic_tac_toe", seed="1")
    addresses = [f"{table.replace('tables', 'records')}/analysis", f"{table}/replay/analysis"]
    with browser.watching(table) as events:
        number = events.until(is_turn)["frame"]["number"]
        for address in addresses:
            assert browser.ask(address).status == 404
            assert browser.post(address, "start").status == 404
        browser.post(f"{table}/answers", {"number": number, "kind": "resign"})
        events.until(is_over)
    for address in addresses:
        assert browser.ask(address).json["kind"] == "start"
        assert Browser(browser.port).post(address, "start").status == 403
