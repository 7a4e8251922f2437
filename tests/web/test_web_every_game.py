"""Every installed game, played to its end in a real browser: by clicks, and by keyboard alone."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.web.server import ALL_LOOKS, Look

import miai
from miai.api import game_names

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.engine("chromium")

GAMES = game_names()
SHORT = {
    "go": {"board_size": "3", "max_moves": "16"},
    "rbc": {"full_turn_limit": "3"},
    "dark-chess": {"full_turn_limit": "3"},
    "mini_rbc": {"max_turns": "4"},
    "pig": {"goal": "8", "turns": "2"},
}
"""Parameters that make long games short; the default for others."""

QUICK = {
    ("phantom_tic_tac_toe", "clicks", (1280, 900, "light")),
    ("tic_tac_toe", "keys", (390, 844, "dark")),
}
"""The games of the default run; the others are slow."""

CASES = [
    pytest.param(
        game,
        way,
        look,
        id=f"{game}-{way}-{look}",
        marks=() if (game, way, look) in QUICK else pytest.mark.soak,
    )
    for game in GAMES
    for way in ("clicks", "keys")
    for look in ALL_LOOKS
]
MOST_STEPS = 80


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("game", "way", "look"), CASES)
def test_a_game_is_played_to_its_end(
    game: str, way: str, look: Look, page: Page, address: str
) -> None:
    rng = random.Random(f"{game} {way} {look}")
    page.goto(f"{address}/games/{game}")
    for name, value in SHORT.get(game, {}).items():
        page.fill(f"[name='game.{name}']", value)
    for seat in range(1, miai.load_game(game).num_players()):
        page.select_option(f"[name='players.{seat}.agent']", "random")
    page.click("button.go")
    number = 0
    while (frame := next_turn(page, number)) is not None:
        number = frame["number"]
        move = rng.choice([m for m in frame["moves"] if m["path"]] or frame["moves"])
        if way == "clicks":
            play_by_clicks(page, move, touch=look.narrow)
        else:
            play_by_keys(page, move, frame["areas"])
        expect(page.locator("#problem")).to_have_text("", use_inner_text=True)
    assert page.inner_text("#status").startswith("The game is over")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("#over a")
    page.wait_for_selector("h1")


def next_turn(page: Page, after: int) -> dict[str, Any] | None:
    """Wait for one's turn in a later position; return its frame, or None if the game is over."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if page.is_visible("#over"):
            return None
        frame: dict[str, Any] | None = page.evaluate("typeof frame === 'undefined' ? null : frame")
        if frame and frame["turn"] and frame["number"] > after:
            return frame
        page.wait_for_timeout(20)
    raise AssertionError(f"nothing happens: {page.inner_text('main')}")


def play_by_clicks(page: Page, move: dict[str, Any], *, touch: bool) -> None:
    for area in move["path"]:
        place = page.locator(f".area[data-area='{area}']")
        place.tap() if touch else place.click()
    if not move["path"] or page.locator("#menu").get_attribute("open") is not None:
        holder = "#buttons" if not move["path"] else "#menu"
        page.locator(f"{holder} button").get_by_text(move["text"], exact=True).click()


def play_by_keys(page: Page, move: dict[str, Any], areas: list[dict[str, Any]]) -> None:
    for area in move["path"]:
        tab_to(page, ".area")
        go_to(page, area, areas)
        page.keyboard.press("Enter")
    if not move["path"] or page.locator("#menu").get_attribute("open") is not None:
        tab_to(page, "#menu button" if move["path"] else "#buttons button", move["text"])
        page.keyboard.press("Enter")


def tab_to(page: Page, selector: str, text: str = "") -> None:
    """Press Tab until the focus is on an element."""
    for _ in range(MOST_STEPS):
        if page.evaluate(
            "([selector, text]) => document.activeElement.matches(selector)"
            " && (!text || document.activeElement.textContent === text)",
            [selector, text],
        ):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector} {text}")


def go_to(page: Page, target: int, areas: list[dict[str, Any]]) -> None:
    """Press arrow keys until the focus is on an area."""
    for _ in range(MOST_STEPS):
        focused = int(page.evaluate("document.activeElement.dataset.area"))
        if focused == target:
            return
        (x, y), (goal_x, goal_y) = (centre(areas[n]["box"]) for n in (focused, target))
        if abs(goal_x - x) > abs(goal_y - y):
            page.keyboard.press("ArrowRight" if goal_x > x else "ArrowLeft")
        else:
            page.keyboard.press("ArrowDown" if goal_y > y else "ArrowUp")
    raise AssertionError(f"the arrow keys do not reach {areas[target]['name']}")


def centre(box: list[float]) -> tuple[float, float]:
    x, y, width, height = box
    return x + width / 2, y + height / 2
