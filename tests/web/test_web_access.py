"""Whether people who use a keyboard, a screen reader or strong contrast can use the pages.

axe-core checks the pages in a real browser; nothing serious or critical may be left.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from tests.web.server import ALL_LOOKS, TWO_LOOKS, Look, begin

import miai
from miai.api import game_names
from miai.pages.replay_page import replay_page

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Page

pytestmark = pytest.mark.engine("chromium")
GAMES = game_names()
slow = pytest.mark.soak
PAGES = [
    "/",
    "/games/go",
    pytest.param("/games/rbc", marks=slow),
    pytest.param("/problems/", marks=slow),
    pytest.param("/problems/shipped-10-14/", marks=slow),
    "/problems/shipped-10-14/3",
    pytest.param("/nowhere", marks=slow),
]
TABLES = [name if name in ("go", "rbc") else pytest.param(name, marks=slow) for name in GAMES]
NARROW_DARK = TWO_LOOKS[-1]
LOOKS = [look if look == NARROW_DARK else pytest.param(look, marks=slow) for look in ALL_LOOKS]
LOOKS_OF_PAGES = [
    look if look in TWO_LOOKS else pytest.param(look, marks=slow) for look in ALL_LOOKS
]
OPTIONS = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
"""Of axe-core, whose rule for the size of what is clicked is off by default."""


@pytest.fixture(params=LOOKS, ids=str)
def look(request: pytest.FixtureRequest) -> Look:
    chosen: Look = request.param
    return chosen


def faults(page: Page) -> list[str]:
    """Return the serious faults that axe-core finds, each with its places."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {[node['html'][:120] for node in fault['nodes'][:4]]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS_OF_PAGES, ids=str)
@pytest.mark.parametrize("path", PAGES)
def test_pages_have_no_serious_fault(
    page: Page, problems: list[str], address: str, path: str
) -> None:
    page.goto(f"{address}{path}")
    assert faults(page) == []
    assert len(problems) == (path == "/nowhere"), problems  # its 404
    problems.clear()


@pytest.mark.slow
@pytest.mark.parametrize("game", TABLES)
def test_tables_have_no_serious_fault(page: Page, address: str, game: str) -> None:
    begin(page, address, game)
    assert faults(page) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "game", [pytest.param("tic_tac_toe", marks=slow), "mini_rbc", "kuhn_poker"]
)
def test_replays_have_no_serious_fault(page: Page, tmp_path: Path, game: str) -> None:
    made = miai.load_game(game)
    record = miai.play(made, [miai.make_agent("random", made) for _ in range(2)], seed=2)
    path = tmp_path / "replay.html"
    path.write_text(replay_page(record, "a game"))
    page.goto(path.as_uri())
    assert faults(page) == []


@pytest.mark.slow
def test_records_have_no_serious_fault(page: Page, address: str) -> None:
    data = b"(;GM[1]SZ[5]PB[Ann]PW[Bob];B[cc];W[bb];B[dd])"
    page.goto(f"{address}/records/")
    file = {"name": "game.sgf", "mimeType": "application/x-go-sgf", "buffer": data}
    page.set_input_files("#files", [cast("FilePayload", file)])
    page.wait_for_selector("#play-on")
    record = page.url.partition("#")[0]
    for path in (record, f"{record}/play?ply=2", f"{address}/records/"):
        page.goto(path)
        assert faults(page) == [], path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("<img src='data:,'>", "image-alt"),
        ("<button style='all:unset;font-size:9px'>x</button>" * 3, "target-size"),
    ],
)
def test_a_fault_is_found(page: Page, body: str, rule: str) -> None:
    page.set_content(f"<html lang=en><title>x</title><main><h1>x</h1>{body}</main>")
    assert [fault.partition(":")[0] for fault in faults(page)] == [rule]
