"""Games in a real browser, every one to its end: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import random
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.web.server import ALL_LOOKS, TWO_LOOKS, Look, begin, both_looks, until, wait

import miai
from miai.api import game_names

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.engine("chromium")
slow = pytest.mark.soak
narrow_first = pytest.mark.parametrize(
    "look", [pytest.param(TWO_LOOKS[0], marks=pytest.mark.slow), TWO_LOOKS[1]], ids=str
)

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


def shown(page: Page) -> int:
    return int(page.evaluate("frame.number"))


@pytest.mark.slow
def test_a_game_is_played_to_its_end_by_typing(page: Page, address: str) -> None:
    begin(page, address, "tic_tac_toe")
    while not page.is_visible("#over"):
        number = shown(page)
        page.fill("#move", page.evaluate("frame.moves[0].text"))
        page.press("#move", "Enter")
        wait(
            page,
            f"frame.number > {number} && frame.turn || !document.getElementById('over').hidden",
        )
    expect(page.locator("#status")).to_contain_text("The game is over", use_inner_text=True)
    page.click("#over a")
    expect(page.locator("h1")).to_contain_text("random", use_inner_text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "field", "value", "said"),
    [
        ("rbc", "game.fen", "hello", "'hello' is not a FEN"),
        pytest.param("go", "game.max_moves", "0", "0 is too small", marks=slow),
        pytest.param("tic_tac_toe", "seed", "abc", "expected a whole number", marks=slow),
        ("tic_tac_toe", "clock.periods", "2", "kind 'none' has no periods"),
        ("tic_tac_toe", "players.1.simulations", "-4", "-4 is too small"),
    ],
)
def test_a_mistake_is_seen_wherever_its_field_is(
    page: Page, address: str, game: str, field: str, value: str, said: str
) -> None:
    page.goto(f"{address}/games/{game}")
    if field.startswith("players"):
        page.select_option("[name='players.1.agent']", "mcts")
        page.click(".own summary >> visible=true")
    elif not field.startswith("game"):
        page.click("text=Clock and seed")
    page.fill(f"[name='{field}']", value)
    page.click("button.go")
    page.wait_for_selector(f'.field .mistake:has-text("{said}")')
    # The browser moves the focus when it next draws, not when it has read the page.
    expect(page.locator("[aria-invalid=true]:focus")).to_have_count(1)


@narrow_first
def test_no_page_is_wider_than_the_window(page: Page, address: str) -> None:
    for path in ("/", "/games/rbc"):
        page.goto(f"{address}{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


@pytest.mark.slow
def test_a_game_of_go_is_played_by_clicks_and_arrow_keys(page: Page, address: str) -> None:
    page.goto(f"{address}/games/go")
    page.select_option("[name='players.1.agent']", "random")
    page.fill("[name='game.board_size']", "5")
    page.locator("summary", has_text="Clock and seed").click()
    page.fill("[name='seed']", "1")  # with others White takes the point that the arrow leads to
    page.click("button.go")
    page.wait_for_selector(".area")
    page.click(".area[aria-label='C3']")
    wait(page, "frame.turn && frame.number > 2")
    page.locator(".area[tabindex='0']").focus()
    before = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowRight")
    after = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert ord(after[0]) > ord(before[0])
    page.keyboard.press("Enter")
    wait(page, "frame.turn && frame.number > 4")
    played = page.locator("#moves li").all_inner_texts()
    assert (played[0], played[2]) == ("C3", after)


@pytest.mark.slow
@both_looks
def test_blind_chess_is_sensed_and_a_piece_is_dragged(page: Page, address: str) -> None:
    begin(page, address, "rbc")
    page.hover(".area[aria-label='e5']")
    box = page.locator(".halo").bounding_box()
    square = page.locator(".area[aria-label='e5']").bounding_box()
    assert box is not None
    assert square is not None
    assert abs(box["width"] - 3 * square["width"]) < 1
    page.click(".area[aria-label='e5']")
    wait(page, "frame.turn && frame.moves.some((m) => m.text === 'e2e4')")
    page.drag_and_drop(".area[aria-label='e2']", ".area[aria-label='e4']")
    wait(page, "frame.turn && frame.number > 3")
    page.wait_for_selector("#status:has-text('Your turn')")


@pytest.mark.slow
def test_a_button_says_what_its_action_does(page: Page, address: str) -> None:
    begin(page, address, "rbc")
    expect(page.locator("#buttons button")).to_have_text(["sense nothing"], use_inner_text=True)
    page.click("#buttons button")
    wait(page, "frame.turn && frame.moves.some((m) => m.text === 'e2e4')")
    expect(page.locator("#news")).to_contain_text("nothing", use_inner_text=True)


@pytest.mark.slow
def test_refusals_are_announced_and_signs_explained_in_blind_chess(
    page: Page, address: str
) -> None:
    begin(page, address, "rbc")
    page.click(".area[aria-label='e7']")
    wait(page, "frame.turn && frame.moves.some((m) => m.text === 'e2d3')")
    expect(page.locator("#news")).to_contain_text(
        "Sensed last, this turn, d6 to f8:", use_inner_text=True
    )
    for square in ("e2", "d3"):
        page.click(f".area[aria-label='{square}']")
    wait(page, "frame.turn && frame.number > 3")
    news = page.locator("#news")
    assert "Your last move: e2d3 was requested and not made." in news.inner_text()
    assert "In its last turn the opponent captured nothing." in news.inner_text()
    assert news.get_attribute("aria-live") == "polite"
    page.click("text=legend")
    assert page.locator(".signs li:has-text('last')").first.is_visible()


@pytest.mark.slow
def test_a_hint_that_is_not_answered_can_be_asked_for_again(
    page: Page, address: str, problems: list[str]
) -> None:
    begin(page, address, "tic_tac_toe")
    page.route("**/hints", lambda route: route.abort())
    page.click("#advice")
    page.wait_for_selector("#hint:has-text('The server does not answer')")
    page.unroute("**/hints")
    page.click("#advice")
    page.wait_for_selector("#hint:has-text('suggests')")
    assert all("hints" in problem or "ERR_FAILED" in problem for problem in problems)
    problems.clear()


@pytest.mark.slow
def test_who_takes_the_other_side_leaves_its_own_and_sees_its_clock_tick(
    page: Page, address: str
) -> None:
    page.goto(f"{address}/games/tic_tac_toe")
    page.select_option("[name='players.1.agent']", "random")
    page.select_option("[name='players.1.agent']", "me")
    expect(page.locator("[name='players.0.agent']")).to_have_value("random")
    page.click("text=Clock and seed")
    page.select_option("[name='clock.kind']", "absolute")
    page.fill("[name='clock.seconds']", "75")
    page.click("button.go")
    wait(page, "frame.turn && frame.number > 1")
    page.locator("#clocks .runs time").wait_for()
    until(page, "/1:1[123]/.test(document.querySelector('#clocks .runs time').innerText)")
    assert page.locator("#clocks time").first.inner_text() == "1:15"


@pytest.mark.slow
def test_a_game_is_chosen_and_begun_by_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    tab_to(page, "[href='/games/kuhn_poker']")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/games/kuhn_poker"))
    tab_to(page, "button.go")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/tables/"))
    wait(page, "frame.turn")
    tab_to(page, "#buttons button")
    number = shown(page)
    page.keyboard.press("Enter")
    wait(page, f"frame.number > {number} || !document.getElementById('over').hidden")


@pytest.mark.slow
def test_the_lobby_shows_what_is_searched_for(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    games = page.locator(".games li:visible")
    page.fill("#wanted", "blind chess")
    expect(games.locator("small")).to_have_text(["rbc"])
    page.fill("#wanted", "")
    page.select_option("#shown", "go")
    expect(games.locator("b")).to_have_text(["Go"])
    page.select_option("#shown", "classics")
    page.select_option("[data-fact=hidden]", "yes")
    page.focus("[data-fact=chance]")
    page.keyboard.press("y")
    expect(games.locator("small")).to_have_text(["kuhn_poker"])
    page.select_option("[data-fact=players]", "1")
    expect(page.locator("#hits")).to_have_text(re.compile("^0 of"))


# -- every game -----------------------------------------------------------------------------------


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
