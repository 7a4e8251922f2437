"""What goes wrong at a browser: a server that dies, two tabs, double clicks, going back."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.server import begin, free_port, heed, served, until, wait

from miai.process.agent_process import AgentProcess
from miai.web import tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.engine("chromium"), pytest.mark.slow]
SECRET = "a-token-of-the-tests"


def number_of(page: Page) -> int:
    return int(page.evaluate("frame.number"))


def click_a_move(page: Page) -> None:
    area = page.evaluate("frame.moves.find((m) => m.path.length).path[0]")
    page.locator(f".area[data-area='{area}']").click()


def test_a_server_that_is_killed_loses_nothing_and_the_open_page_goes_on(
    tmp_path: Path, chromium: Browser
) -> None:
    port, errors = free_port(), list[str]()
    address = f"http://127.0.0.1:{port}"
    with chromium.new_context() as context:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        with served(tmp_path / "games", port=port, MIAI_WEB_TOKEN=SECRET) as (process, _):
            page.goto(f"{address}/?token={SECRET}")
            page.wait_for_url(f"{address}/")
            begin(page, address, "tic_tac_toe")
            for _ in range(2):
                number = number_of(page)
                click_a_move(page)
                wait(page, f"frame.number > {number} && frame.turn")
            played = page.locator("#moves li").all_inner_texts()
            # One answer more, which the server has taken and not yet stored when it dies.
            page.route("**/answers", lambda route: route.fulfill(json={}))
            click_a_move(page)
            page.unroute("**/answers")
            process.send_signal(signal.SIGKILL)
            process.wait()
            until(page, "document.getElementById('status').innerText.includes('Connection lost')")
        assert len(played) == 4
        with served(tmp_path / "games", port=port, MIAI_WEB_TOKEN=SECRET):
            # Without being loaded again, the page finds the server.
            wait(page, "document.getElementById('status').textContent === 'Your turn.'")
            expect(page.locator("#moves li")).to_have_text(played, use_inner_text=True)
            while not page.is_visible("#over"):
                number = number_of(page)
                click_a_move(page)
                wait(
                    page,
                    f"frame.number > {number} && frame.turn"
                    " || !document.getElementById('over').hidden",
                )
            assert page.locator("#moves li").all_inner_texts()[:4] == played
    assert errors == []


def test_a_person_waits_for_an_opponent_that_starts_slowly(
    page: Page, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    go_on = threading.Event()

    class SlowProcess(AgentProcess):
        def start(self) -> None:
            limits.append(self.start_timeout)
            assert go_on.wait(timeout=60)
            super().start()

    monkeypatch.setattr(tables, "AgentProcess", SlowProcess)
    page.goto(f"{address}/games/tic_tac_toe")
    page.select_option("[name='players.1.agent']", "random")
    page.click("button.go")
    try:
        page.wait_for_selector("#status:has-text('The opponent is starting')")
    finally:
        go_on.set()
    wait(page, "frame.turn")
    assert set(limits) == {300.0}


def test_two_tabs_on_one_seat_stay_in_step_and_one_that_has_not_heard_of_a_move_says_why(
    page: Page, address: str
) -> None:
    begin(page, address, "tic_tac_toe")
    problems: list[str] = []
    other = page.context.new_page()
    heed(other, problems)
    other.goto(page.url)
    wait(other, "frame.turn")
    number = number_of(page)
    click_a_move(other)
    for tab in (page, other):
        wait(tab, f"frame.number > {number} && frame.turn")
    played = other.locator("#moves li").all_inner_texts()
    expect(page.locator("#moves li")).to_have_text(played, use_inner_text=True)
    other.evaluate("events.close()")
    number = number_of(other)
    click_a_move(page)
    wait(page, f"frame.number > {number} && frame.turn")
    for _ in range(2):  # the second click is sent too
        with other.expect_response("**/answers") as answered:
            click_a_move(other)
        assert answered.value.status == 409
        wait(other, "document.getElementById('problem').textContent")
        assert "the position has changed" in other.inner_text("#problem")
        other.evaluate("document.getElementById('problem').textContent = ''")
    assert number_of(other) == number
    assert problems
    assert all("409" in problem for problem in problems)


def test_going_back_and_forward_shows_the_present_position(page: Page, address: str) -> None:
    begin(page, address, "tic_tac_toe")
    page.locator(".area[aria-label='b2']").click()
    wait(page, "frame.turn && frame.number > 2")
    played = page.locator("#moves li").all_inner_texts()
    table = page.url
    page.click("text=Games")
    page.wait_for_url(re.compile(r"/$"))
    page.go_back()
    assert page.url == table
    wait(page, "frame.turn")
    expect(page.locator("#moves li")).to_have_text(played, use_inner_text=True)
    page.go_back()
    page.go_forward()
    wait(page, "frame.turn")
    expect(page.locator("#moves li")).to_have_text(played, use_inner_text=True)


def test_whoever_is_faster_than_the_script_of_a_page_is_not_lost(page: Page, address: str) -> None:
    def late(route: Route) -> None:
        page.wait_for_timeout(500)
        route.continue_()

    page.route("**/table.js", late)
    assert "/invitations/" in invited(page, address)
    page.route("**/game.js", late)
    page.goto(f"{address}/games/tic_tac_toe", wait_until="commit")
    page.select_option("[name='players.1.agent']", "ismcts")
    page.locator(".parameters .field").first.wait_for(state="attached")


def invited(page: Page, address: str) -> str:
    """Make a table with an empty seat; return the address of the invitation."""
    page.goto(f"{address}/games/tic_tac_toe")
    page.select_option("[name='players.1.agent']", "guest")
    page.click("button.go")
    page.click("[data-invite]")
    output = page.locator("[data-invite] + output")
    output.and_(page.locator(":not(:empty)")).wait_for()
    return output.inner_text()


def test_the_keyboard_stays_on_the_board_while_the_opponent_moves(page: Page, address: str) -> None:
    begin(page, address, "tic_tac_toe")
    page.locator(".area[aria-label='b2']").focus()
    page.keyboard.press("Enter")
    wait(page, "frame.turn && frame.number > 2")
    assert page.evaluate("document.activeElement.matches('.area')")
