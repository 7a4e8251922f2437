"""Records in a real browser, and the replay and report pages on which they are shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.tournaments.test_report import INFO, round_robin
from tests.web.server import both_looks, until, wait

import miai
from miai.pages.replay_page import replay_page
from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import report_page

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Page

pytestmark = [pytest.mark.engine("chromium"), pytest.mark.slow]
SGF = (
    "(;SZ[5]KM[6.5]PB[Ann]PW[Bob]RE[B+R];B[cc]C[a fine move];W[bb](;B[dd])(;B[bc]C[or here];W[ee]))"
)
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"]) {
    document.body.dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


def is_wider(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def chosen(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": text.encode()}


@both_looks
def test_a_file_is_chosen_stepped_through_and_played_on(page: Page, address: str) -> None:
    page.goto(f"{address}/records/")
    assert not is_wider(page)
    page.set_input_files("#files", [chosen("game.sgf", SGF)])
    page.wait_for_url(re.compile(r"/records/[0-9a-f]{12}"))
    assert "Begun" not in page.inner_text("footer"), "the file does not tell"
    until(page, "!document.getElementById('controls').hidden")
    assert not is_wider(page)
    page.press("body", "ArrowRight")
    page.press("body", "ArrowRight")
    assert page.evaluate("location.hash") == "#p2"
    expect(page.locator("#place")).to_have_text("2 of 3", use_inner_text=True)
    assert len(page.query_selector_all("#position figure")) == 1
    page.click("#decision >> text=B3")
    expect(page.locator("#place")).to_have_text("variation of 2", use_inner_text=True)
    expect(page.locator("#decision")).to_contain_text("or here", use_inner_text=True)
    assert not is_wider(page)
    for key, heading in (
        ("Right", "4. white E1"),
        ("Right", "4. white E1"),
        ("Left", "3. black B3"),
    ):
        page.press("body", f"Arrow{key}")
        expect(page.locator("#position h2")).to_contain_text(heading, use_inner_text=True)
    page.press("body", "ArrowUp")
    page.press("body", "ArrowUp")
    expect(page.locator("#place")).to_have_text("3 of 3", use_inner_text=True)
    page.click("#moves >> text=C3")  # far below, in a narrow window
    expect(page.locator("#position h2")).to_be_in_viewport()
    page.press("body", "ArrowRight")
    page.click("#play-on")
    page.wait_for_url(re.compile(r"/play\?ply=2$"))
    assert not is_wider(page)
    page.select_option("[name='players.1.agent']", "fast-random")
    page.click("button.go")
    page.wait_for_url(re.compile("/tables/"))
    wait(page, "frame.turn")
    assert page.inner_text("#moves").split() == ["C3", "B4"]


@both_looks
def test_the_tree_is_added_to_with_the_keyboard_alone(page: Page, address: str) -> None:
    page.goto(f"{address}/records/")
    page.set_input_files("#files", [chosen("game.sgf", SGF)])
    page.wait_for_url(re.compile(r"/records/[0-9a-f]{12}"))
    until(page, "!document.getElementById('controls').hidden")
    for key in ("Right", "Right", "Right", "Down", "Right"):
        page.keyboard.press(f"Arrow{key}")
    heading = page.locator("#position h2")
    expect(heading).to_contain_text("4. white E1", use_inner_text=True)
    page.focus("#additions summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#position .area")
    page.focus(".area[tabindex='0']")  # A1
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("5. black A1", use_inner_text=True)
    until(page, "document.activeElement.matches('.area')")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("6. white B1", use_inner_text=True)
    page.keyboard.press("Escape")
    page.focus("#comment")
    page.keyboard.type("Why <not>?")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#decision")).to_contain_text("Why <not>?", use_inner_text=True)
    assert not is_wider(page)
    here = page.url.partition("#")[0]
    page.goto(f"{address}/")
    page.goto(here)  # opens where it was left
    expect(heading).to_contain_text("6. white B1", use_inner_text=True)
    expect(page.locator("#decision")).to_contain_text("Why <not>?", use_inner_text=True)
    assert ";W[ee];B[ae];C[Why <not>?]W[be]" in page.request.get(f"{here}/files/sgf").text()


def test_nobody_plays_on_from_the_end(page: Page, address: str) -> None:
    page.goto(f"{address}/records/")
    page.set_input_files("#files", [chosen("over.sgf", "(;SZ[5]KM[0]RE[B+25];B[cc];W[];B[])")])
    page.wait_for_url(re.compile(r"/records/[0-9a-f]{12}"))
    until(page, "!document.getElementById('controls').hidden")
    page.press("body", "End")
    expect(page.locator("#place")).to_have_text("3 of 3", use_inner_text=True)
    expect(page.locator("#play-on")).to_be_hidden()
    page.press("body", "ArrowLeft")
    expect(page.locator("#play-on")).to_be_visible()


def test_a_file_is_dropped_and_a_bad_one_refused(page: Page, address: str) -> None:
    page.goto(f"{address}/records/")
    page.evaluate(DROP, ["bad.sgf", "(;GM[2]SZ[5];B[aa])"])
    page.wait_for_selector(".mistake[role=alert]:not(:empty)")
    expect(page.locator("main")).to_contain_text(
        "bad.sgf: GM[2] is not Go, which is GM[1]", use_inner_text=True
    )
    page.evaluate(DROP, ["large.sgf", "x" * (2 << 20)])
    until(page, "document.getElementById('problem').textContent !== ''")
    expect(page.locator("#problem")).to_contain_text(
        "large.sgf: 2048 KiB, more than", use_inner_text=True
    )
    page.evaluate(DROP, ["good.sgf", SGF])
    page.wait_for_url(re.compile(r"/records/[0-9a-f]{12}"))


def test_a_link_leads_to_a_ply(page: Page, address: str, tmp_path: Path) -> None:
    page.goto(f"{address}/records/")
    page.set_input_files("#files", [chosen("game.sgf", SGF)])
    page.wait_for_url(re.compile(r"/records/[0-9a-f]{12}"))
    here = page.url.partition("#")[0]
    game = miai.load_game("tic_tac_toe")
    record = miai.play(game, [miai.make_agent("random", game) for _ in range(2)], seed=1)
    kept = tmp_path / "kept.html"
    kept.write_text(replay_page(record, "kept"), encoding="utf-8")
    for url, last in ((here, 3), (kept.as_uri(), len(record.moves))):
        page.goto("about:blank")
        page.goto(f"{url}#p2")
        until(page, "!document.getElementById('controls').hidden")
        expect(page.locator("#place")).to_have_text(f"2 of {last}", use_inner_text=True)
        page.evaluate("location.hash = '#p1'")
        until(page, "document.getElementById('place').textContent.startsWith('1 of')")
        page.evaluate("location.hash = '#p99'")
        until(page, f"document.getElementById('place').textContent === '{last} of {last}'")


@both_looks
def test_the_current_row_of_moves_is_whole(page: Page, tmp_path: Path) -> None:
    game = miai.load_game("go", board_size=9)
    record = miai.play(game, [miai.make_agent("fast-random", game) for _ in range(2)], seed=1)
    kept = tmp_path / "kept.html"
    kept.write_text(replay_page(record, "kept"), encoding="utf-8")
    page.goto(f"{kept.as_uri()}#p0")
    until(page, "!document.getElementById('controls').hidden")
    inside = """() => {
      const list = document.getElementById("moves").getBoundingClientRect();
      const head = document.querySelector("#moves thead th").getBoundingClientRect();
      const row = document.querySelector("[aria-current]").closest("tr").getBoundingClientRect();
      return [row.top >= head.bottom - 2, row.bottom <= list.bottom + 2];
    }"""
    for ply in (20, 60, len(record.moves), 30, 1):
        page.evaluate(f"location.hash = '#p{ply}'")
        until(page, f"document.getElementById('place').textContent.startsWith('{ply} of')")
        assert page.evaluate(inside) == [True, True], ply


@pytest.mark.parametrize("size", [5, pytest.param(9, marks=pytest.mark.soak), 19])
@both_looks
def test_a_whole_board_is_in_the_window(page: Page, tmp_path: Path, size: int) -> None:
    game = miai.load_game("go", board_size=size)
    agents = [miai.make_agent("fast-random", game) for _ in range(2)]
    record = miai.play(game, agents, seed=1, move_limit=12)
    kept = tmp_path / "kept.html"
    kept.write_text(replay_page(record, "kept"), encoding="utf-8")
    page.goto(kept.as_uri())
    until(page, "!document.getElementById('controls').hidden")
    box = page.evaluate("document.querySelector('#position svg').getBoundingClientRect().toJSON()")
    width, height = page.evaluate("[innerWidth, innerHeight]")
    assert 0 <= box["left"] < box["right"] <= width
    assert 0 <= box["top"] < box["bottom"] <= height


@both_looks
def test_columns_off_screen_have_a_sign(page: Page, tmp_path: Path) -> None:
    kept = tmp_path / "report.html"
    report = build_report(round_robin(9), info=INFO, details=True)
    kept.write_text(report_page(report), encoding="utf-8")
    page.goto(kept.as_uri())
    page.wait_for_timeout(200)
    signs = """() => [...document.querySelectorAll(".scroll")].map((frame) => [
      frame.scrollWidth > frame.clientWidth + 1,
      getComputedStyle(frame, "::before").content,
    ])"""
    found = page.evaluate(signs)
    assert all(("more columns" in content) == wide for wide, content in found)
    narrow = page.evaluate("innerWidth") < 500
    assert any(wide for wide, _ in found) == narrow or not narrow
    if narrow:
        first = "document.querySelector('.scroll')"
        assert "→" in found[0][1]
        page.evaluate(f"{first}.scrollLeft = 10_000")
        until(page, f"{first}.classList.contains('ended')")
        assert "←" in page.evaluate(signs)[0][1]
    assert not is_wider(page)


@both_looks
def test_a_report_uses_the_width_of_a_window(page: Page, tmp_path: Path) -> None:
    kept = tmp_path / "report.html"
    kept.write_text(report_page(build_report(round_robin(5), info=INFO, details=True)), "utf-8")
    page.goto(kept.as_uri())
    sections = ("crosstable", "colours", "endings")
    boxes = {
        name: page.evaluate(f"document.getElementById('{name}').getBoundingClientRect().toJSON()")
        for name in sections
    }
    width = page.evaluate("innerWidth")
    beside = boxes["colours"]["left"] > width / 2
    assert beside == (width >= 1280)
    assert boxes["endings"]["left"] < width / 2, "wide tables have the whole width"
    assert not is_wider(page)
