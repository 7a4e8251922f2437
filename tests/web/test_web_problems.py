"""The trainer of life and death in `miai web`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from playwright.sync_api import expect
from tests.web.server import Browser, Reply, both_looks, let_in, running, until
from tests.whole_texts import assert_expected

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Page

SGF = b"(;SZ[9]AB[da][db][cb][bb][ab]AW[ea][eb][ec][dc][cc][bc][ac]MA[db])"
SETTLED = b"(;SZ[9]AB[ab][bb][cb][db][eb][ea]AW[ac][bc][cc][dc][ec][fc][fa][fb]MA[ab])"
CORNER, MIDDLE = 8 * 9, 8 * 9 + 1


def opened(browser: Browser, data: bytes, name: str = "mine.sgf") -> Reply:
    return browser.upload("/problems/opened", "file", (name, data))


def moved(browser: Browser, problem: str, line: list[int], move: int | None = None) -> Any:
    said = {"line": line} if move is None else {"line": line, "move": move}
    reply = browser.post(f"{problem}/moves", said)
    assert reply.status == 200, reply.text
    return reply.json


def test_opened_problems_are_solved_refuted_and_counted(browser: Browser, tmp_path: Path) -> None:
    assert opened(browser, SGF + SGF + SETTLED).headers["location"] == "/problems/own-1/"
    first = moved(browser, "/problems/own-1/0", [])
    wrong = moved(browser, "/problems/own-1/0", [], CORNER)
    right = moved(browser, "/problems/own-1/0", [], MIDDLE)
    solved = moved(browser, "/problems/own-1/1", [], MIDDLE)
    while solved["outcome"] == "right":
        line = solved["frames"][0]["line"]
        shown = browser.post("/problems/own-1/0/solution", {"line": line}).json
        move = shown["sequel"][1]["line"][len(line)]
        solved = moved(browser, "/problems/own-1/1", line, move)
    assert (solved["outcome"], solved["counts"]) == ("solved", {"solved": 1, "tried": 2})
    assert browser.post("/problems/own-1/2/status", {"line": []}).json["status"].startswith("Alive")
    for name, path in {
        "sets": "",
        "set": "own-1/",
        "problem": "own-1/0",
        "alive": "own-1/2",
    }.items():
        assert_expected(f"problems/{name}.html", browser.ask(f"/problems/{path}").text)
    shown = browser.post("/problems/own-1/0/solution", {"line": []}).json
    said = json.dumps([first, wrong, right, solved, shown], indent=1)
    assert_expected("problems/moves.json", said)


def test_sets_and_score_survive_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        with running(tmp_path / "games") as port:
            browser = let_in(port)
            if "own 1" not in browser.ask("/problems/").text:
                opened(browser, SGF)
                moved(browser, "/problems/own-1/0", [], CORNER)
            assert "missed at the first try" in browser.ask("/problems/own-1/0").text


def test_the_command_line_names_problems(tmp_path: Path) -> None:
    (tmp_path / "mine.sgf").write_bytes(SGF)
    with running(tmp_path / "games", tmp_path / "mine.sgf") as port:
        browser = let_in(port)
        assert "mine.sgf" in browser.ask("/problems/").text
        assert "capture the block at D8" in browser.ask("/problems/given-0/0").text
        assert browser.ask("/problems/given-1/").status == 404


def test_a_seed_determines_a_generated_problem(browser: Browser) -> None:
    pictures = []
    for seed in ("5", "5", "6"):
        reply = browser.form("/problems/generated", {"empty": "6", "seed": seed})
        assert reply.status == 303, reply.text
        pictures.append(moved(browser, reply.headers["location"], [])["frames"][0]["picture"])
    assert pictures[0] == pictures[1] != pictures[2]


def test_mistakes_in_forms_and_files_are_named(visitor: Browser) -> None:
    forms = [{"empty": "3"}, {"empty": "x", "seed": ""}, {"empty": "99999999999999"}]
    forms += [{"empty": "6", "seed": "-1"}, {"empty": "6", "seed": "<b>"}]
    files = [b"", b"hello", b"(;SZ[9]AB[aa])", b"(;SZ[9]AB[aa]MA[bb])", b"\xff\xfe" * 100]
    files.append(b"(;SZ[9999]AB[aa]MA[aa])")
    replies: list[tuple[object, Reply]] = [
        (form, visitor.form("/problems/generated", form)) for form in forms
    ]
    replies += [(data, opened(visitor, data)) for data in files]
    told = []
    for said, reply in replies:
        assert (reply.status, "<b>" in reply.text.split("<form")[1]) == (200, False)
        (alert,) = re.findall(r'role="alert">(.*?)<', reply.text)
        told.append(f"{str(said)[:60]}: {alert}")
    assert_expected("problems/mistakes.txt", "\n".join(told))


def test_hostile_names_and_sizes(browser: Browser, tmp_path: Path) -> None:
    evil = "../../<script>alert(1)</script>.sgf"
    assert opened(browser, SGF, evil).headers["location"] == "/problems/own-1/"
    assert opened(browser, SGF[:-1] + b"GN[<script>alert(2)</script>])").status == 303
    for path in ("/problems/", "/problems/own-1/", "/problems/own-1/0", "/problems/own-2/0"):
        assert "<script>alert" not in browser.ask(path).text
    assert sorted(file.name for file in (tmp_path / "games" / "problems").glob("*.sgf")) == [
        "own-1.sgf",
        "own-2.sgf",
    ]
    assert opened(browser, b"(" + b";" * (2 << 20)).status == 413
    for name in ("..", "%2e%2e", "own-9", "given-0", "shipped-1-99", "own-1.sgf"):
        assert browser.ask(f"/problems/{name}/").status == 404, name
    assert browser.ask("/problems/own-1/7").status == 404


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"[]",
        b'{"line": 3}',
        b'{"line": ["a"]}',
        b'{"line": [true]}',
        b'{"line": [], "move": "a"}',
        b'{"line": [' + b"1," * 200 + b"1]}",
        b'{"line": [-1]}',
        b'{"line": [1e400]}',
        b'{"line": [0, 0], "move": 3}',
    ],
)
def test_lines_that_make_no_sense_are_refused(visitor: Browser, said: bytes) -> None:
    problems = opened(visitor, SGF).headers["location"]
    kind = {"content-type": "application/json"}
    for path in ("moves", "solution"):
        reply = visitor.ask(f"{problems}0/{path}", method="POST", body=said, headers=kind)
        assert reply.status in (400, 409)
        assert reply.json["problem"]


@pytest.mark.slow
@pytest.mark.engine("chromium")
@both_looks
def test_a_problem_is_solved_in_a_browser_by_keyboard_and_by_clicks(
    page: Page, address: str
) -> None:
    open_in(page, address, SGF)

    def await_status(words: str) -> None:
        until(page, f"document.getElementById('status').innerText.includes('{words}')")

    page.wait_for_selector("[aria-label=A9]")
    page.focus("[aria-label=A9]")
    page.keyboard.press("Enter")
    await_status("Wrong: B9 refutes it")
    page.click("#show")
    await_status("The solution")
    page.click("#next")
    expect(page.locator("#back")).to_be_enabled()
    page.click("#again")
    await_status("White to move")
    page.wait_for_selector("[aria-label=B9]")
    page.click("[aria-label=B9]")
    end = time.monotonic() + 20
    while "Solved" not in page.inner_text("#status") and time.monotonic() < end:
        page.wait_for_timeout(50)
        if "Right" in page.inner_text("#status") and page.query_selector(".area"):
            page.locator(".area").last.click()
    assert page.inner_text("#status").startswith(("Solved", "Wrong")), "the line has an end"
    expect(page.locator("#tried")).to_have_text("1", use_inner_text=True)
    expect(page.locator("#solved")).to_have_text("0", use_inner_text=True)


def open_in(page: Page, address: str, data: bytes) -> None:
    """Open a file with a problem on the page of problems, and the problem."""
    page.goto(f"{address}/problems/")
    file = {"name": "mine.sgf", "mimeType": "application/x-go-sgf", "buffer": data}
    page.set_input_files("#file", [cast("FilePayload", file)])
    page.click("form[action='/problems/opened'] button")
    page.goto(f"{page.url}0")


@pytest.mark.slow
@pytest.mark.engine("chromium")
@both_looks
@pytest.mark.parametrize(
    ("problem", "names"),
    [
        ("opened/0", {"A", "B", "C", "D", "E", "F", "G", "H", "J", *map(str, range(11, 20))}),
        ("shipped-8-9/0", {*"GHJKLMNOPQRST", *map(str, range(4, 17))}),  # of the largest
    ],
)
def test_only_the_part_of_the_problem_is_drawn_and_points_are_large_enough_to_touch(
    page: Page, address: str, problem: str, names: set[str]
) -> None:
    if problem.startswith("opened"):
        open_in(page, address, SGF.replace(b"SZ[9]", b"SZ[19]"))
    else:
        page.goto(f"{address}/problems/{problem}")
    page.wait_for_selector("#picture .area")
    box = page.locator("#picture .area").first.bounding_box()
    board = page.locator("#picture > svg").first.bounding_box()
    assert box is not None
    assert board is not None
    assert min(box["width"], box["height"]) >= 24
    assert abs(board["width"] - board["height"]) < 1
    assert set(page.locator(".defs text").all_text_contents()) == names
    first = page.locator("#picture .area").first
    assert first.get_attribute("aria-label")
    first.click()
    page.wait_for_selector("#status.wrong, #status.right, #status.solved")
