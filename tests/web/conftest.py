"""What the tests of the pages share: a server, a browser without a screen, and a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.web.server import TOKEN, TWO_LOOKS, Browser, Look, heed, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import Page

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A browser that has shown the token to a server of its own."""
    with running(tmp_path / "games") as port:
        made = Browser(port)
        made.enter()
        yield made


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that a file's tests share."""
    with running(tmp_path_factory.mktemp("web") / "games") as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def visitor(address: str) -> Browser:
    """A browser at the server that a file's tests share, for tests that leave nothing there."""
    made = Browser(int(address.rpartition(":")[2]))
    made.enter()
    return made


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    from playwright.sync_api import sync_playwright

    from miai.process.programs import find_program

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(find_program("chromium", advice={})), args=FLAGS
        )
        yield browser
        browser.close()


@pytest.fixture
def problems() -> list[str]:
    """The errors of `page` so far; a test removes those that it expects."""
    return []


@pytest.fixture(params=[TWO_LOOKS[0], pytest.param(TWO_LOOKS[1], marks=pytest.mark.soak)], ids=str)
def look(request: pytest.FixtureRequest) -> Look:
    """How the browser of `page` looks; `both_looks` is for tests that depend on it."""
    chosen: Look = request.param
    return chosen


@pytest.fixture
def page(look: Look, address: str, chromium: Chromium, problems: list[str]) -> Iterator[Page]:
    """A page that has shown the token; its script may raise and log no error."""
    with chromium.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        has_touch=look.narrow,
    ) as context:
        made = context.new_page()
        made.set_default_timeout(20_000)
        heed(made, problems)
        assert context.request.get(f"{address}/", params={"token": TOKEN}).ok
        yield made
    assert problems == []
