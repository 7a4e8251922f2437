"""Sections: pages that plugins add to `miai web`, each below an address of its own.

A plugin registers a component of the kind ``web-section``. Its name is the first part of the
addresses of its pages, and, with a capital letter, the entry of the navigation::

    class Problems:
        def __init__(self, site: Site, parameters: Parameters) -> None:
            self.routes = [Route("/", self.overview), Route("/assets/{name}", assets(__package__))]

        def shows(self, path: Path) -> bool:
            return path.suffix == ".sgf"

        def close(self) -> None: ...

        async def overview(self, request: Request) -> Response:
            return page("problems.html", package=__package__)

Only browsers that have shown the token see a section; an invitation opens no more than its game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from starlette.responses import Response
from starlette.routing import BaseRoute

from miai.record import GameRecord


class ShowRecord(Protocol):
    """Shows a finished game as a replay, with variations, comments and playing on."""

    async def __call__(self, find: Callable[[], GameRecord], links: Mapping[str, str]) -> Response:
        """Answer a request with the page.

        Args:
          find: returns the record, in a thread of its own. It may raise `HTTPException`.
          links: addresses by text, for the heading.
        """
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """What the server lends to a section.

    Attributes:
      folder: where the section may keep files; it makes the folder on first use.
      paths: files and folders that the command line named, absolute. A section shows those that
        it knows, and nothing else outside its folder.
      show: shows a record.
      programs: whether requests may name programs and files of this machine, or start them.
    """

    folder: Path
    paths: tuple[Path, ...]
    show: ShowRecord
    programs: bool


class WebSection(Protocol):
    """Pages of a plugin.

    Attributes:
      routes: relative to the section's address.
    """

    routes: Sequence[BaseRoute]

    def shows(self, path: Path) -> bool:
        """Return whether the section shows a file or folder that the command line named."""
        ...

    def close(self) -> None:
        """End what the section started; the server stops."""
        ...
