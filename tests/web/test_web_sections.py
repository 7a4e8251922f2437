"""Sections: pages that plugins add to `miai web`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tests.web.server import Browser, let_in, running

from miai.errors import ConfigError
from miai.plugins.loader import registry
from miai.web.sections import Site

built: list[Notes] = []


class Notes:
    """Shows text files."""

    def __init__(self, site: Site, parameters: Any) -> None:
        self.site, self.closed = site, False
        self.routes = [Route("/", self.overview), Route("/{number:int}", self.note)]
        built.append(self)

    def shows(self, path: Path) -> bool:
        return path.suffix == ".note"

    def close(self) -> None:
        self.closed = True

    async def overview(self, request: Request) -> Response:
        return PlainTextResponse(f"{len(self.site.paths)} notes in {self.site.folder.name}")

    async def note(self, request: Request) -> Response:
        if request.path_params["number"] >= len(self.site.paths):
            raise HTTPException(404, "There is no such note.")
        return PlainTextResponse(self.site.paths[request.path_params["number"]].read_text())


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    registry().add("web-section", "notes", Notes, summary="Notes")
    path = tmp_path / "one.note"
    path.write_text("hello")
    built.clear()
    yield path
    del registry()._components["web-section", "notes", None]


def test_a_section_is_built_on_demand_and_closed(notes: Path, tmp_path: Path) -> None:
    with running(tmp_path / "games") as port:
        browser = let_in(port)
        assert '<a href="/notes/">Notes</a>' in browser.ask("/").text
        assert not built
        assert browser.ask("/notes/").text == "0 notes in notes"
        assert browser.ask("/notes/").text == "0 notes in notes"
        missing = browser.ask("/notes/0")
        assert (missing.status, "There is no such note." in missing.text) == (404, True)
        assert len(built) == 1
        assert not built[0].closed
    assert built[0].closed


def test_a_section_shows_what_the_command_line_names(notes: Path, tmp_path: Path) -> None:
    with running(tmp_path / "games", notes) as port:
        browser = Browser(port)
        assert browser.ask("/notes/0").status == 403, "nobody enters without the token"
        browser.enter()
        assert browser.ask("/notes/0").text == "hello"


def test_a_guest_sees_no_section(notes: Path, tmp_path: Path) -> None:
    with running(tmp_path / "games", notes) as port:
        browser, guest = Browser(port), Browser(port)
        browser.enter()
        table = browser.new_table("tic_tac_toe", players__0__agent="me", players__1__agent="guest")
        browser.invite(guest, table)
        assert "/notes/" not in guest.ask(table).text
        assert guest.ask("/notes/0").status == 403


@pytest.mark.parametrize(
    ("name", "said"), [("gone.note", "there is no such file"), ("one.txt", "nothing that miai web")]
)
def test_paths_that_cannot_be_shown_are_refused(
    notes: Path, tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "one.txt").touch()
    with pytest.raises(ConfigError, match=said), running(tmp_path / "games", tmp_path / name):
        pass
