"""Games in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.server import TWO_LOOKS, begin, both_looks, until, wait
from tests.web.test_web_every_game import tab_to

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.engine("chromium")
slow = pytest.mark.soak
narrow_first = pytest.mark.parametrize(
    "look", [pytest.param(TWO_LOOKS[0], marks=pytest.mark.slow), TWO_LOOKS[1]], ids=str
)


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
