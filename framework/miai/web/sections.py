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

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Router
from starlette.types import Receive, Scope, Send

from miai.errors import ConfigError, MiaiError
from miai.plain import one_line
from miai.plugins.kinds import WEB_SECTION, Kind
from miai.plugins.loader import registry
from miai.record import GameRecord
from miai.web.templating import TYPES, asset


class PlayOn(Protocol):
    """Lets people play on from a position of a record; see `miai.pages.replay_page`."""

    async def __call__(self, request: Request, find: Callable[[], GameRecord]) -> Response:
        """Answer a request with the form, or with a new table if the form is sent.

        Args:
          request: of an address that ends with ``?ply=`` and the number of plies; the form is sent
            to the same address.
          find: returns the record, in a thread of its own. It may raise `HTTPException`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """What the server lends to a section.

    Attributes:
      folder: where the section may keep files; it makes the folder on first use.
      paths: files and folders that the command line named, absolute. A section shows those that
        it knows, and nothing else outside its folder.
      play_on: answers requests for playing on from a position of a record.
    """

    folder: Path
    paths: tuple[Path, ...]
    play_on: PlayOn


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


SECTION: Kind[WebSection] = WEB_SECTION
"""`miai.plugins.kinds.WEB_SECTION`, typed."""


class Sections:
    """The installed sections, each built when its first page is asked for.

    Args:
      folder: where they keep their files, in a folder each.
      paths: files and folders that the command line named.
      play_on: as of `Site`.

    Raises `ConfigError` if no section shows one of the paths.
    """

    def __init__(self, folder: Path, paths: Sequence[Path], *, play_on: PlayOn) -> None:
        self._mounted = [
            _Mounted(component.name, Site(folder / component.name, tuple(paths), play_on))
            for component in registry().components(SECTION)
        ]
        for path in paths:
            if not path.exists():
                raise ConfigError(f"{path}: there is no such file or folder")
            if not any(mounted.section.shows(path) for mounted in self._mounted):
                raise ConfigError(
                    f"{path}: nothing that miai web can show; give folders of tournaments or "
                    "comparisons, or files that an installed plugin shows"
                )

    @property
    def routes(self) -> list[BaseRoute]:
        """The sections' routes."""
        return [Mount(f"/{mounted.name}", app=mounted) for mounted in self._mounted]

    def close(self) -> None:
        """End what the sections started."""
        for mounted in self._mounted:
            mounted.close()


class _Mounted:
    """A section that is built when it is needed."""

    def __init__(self, name: str, site: Site) -> None:
        self.name, self._site = name, site
        self._lock = threading.Lock()
        self._section: WebSection | None = None
        self._router: Router | None = None

    @property
    def section(self) -> WebSection:
        """The section. Raises `MiaiError` if it cannot be built."""
        with self._lock:
            if self._section is None:
                component = registry().get(SECTION, self.name)
                self._section = component.build(self._site, values={})
            return self._section

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            try:
                section = await to_thread.run_sync(lambda: self.section)
            except MiaiError as error:
                raise HTTPException(409, one_line(str(error))) from error
            self._router = Router(section.routes, redirect_slashes=False)
        await self._router(scope, receive, send)

    def close(self) -> None:
        with self._lock:
            if self._section is not None:
                self._section.close()


def assets(*packages: str) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a route ``/assets/{name}`` from the folders ``assets`` of packages."""

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        content = asset(name, *packages)
        if content is None:
            raise HTTPException(404)
        kind = TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    return answer
