"""Starting and stopping the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Router
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from miai.errors import ConfigError, MiaiError
from miai.plain import one_line
from miai.plugins.kinds import WEB_SECTION
from miai.plugins.loader import registry
from miai.web.guard import Browsers, Guard
from miai.web.records import Records
from miai.web.routes import Pages
from miai.web.sections import ShowRecord, Site, WebSection
from miai.web.tables import TableSet
from miai.web.templating import page

LOOPBACK: Final = "127.0.0.1"
MOST_BODY: Final = 1 << 20
"""Maximum size of a request's body, in bytes."""
LEAST_TOKEN: Final = 12
"""Minimum length of a token that the user chooses, in characters."""
HEADER_SECONDS: Final = 10.0  # between two requests, until the headers of the second are there
_MOST_CONNECTIONS, _ACCEPTED_AT_ONCE, _WAITING = 2000, 64, 1024
_TIDY_SECONDS = 20.0


def make_app(
    folder: Path,
    *,
    token: str,
    hosts: list[str],
    paths: Sequence[Path] = (),
    programs: bool = False,
) -> Starlette:
    """Return the application.

    Args:
      folder: where games and known browsers are kept; made if missing, for this user alone.
      token: what lets a browser in.
      hosts: accepted values of the header ``Host``.
      paths: files and folders to show, such as those of runs.
      programs: whether forms may name programs, files and weights of this machine.

    Raises:
      ConfigError: a path cannot be shown.
      OSError: the folder cannot be used.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    browsers = Browsers(folder / "browsers")
    browsers.load()
    tables = TableSet(folder, programs=programs)
    pages = Pages(tables, browsers)
    records = Records(folder / "records", tables)
    absolute = [path.absolute() for path in paths]
    sections = Sections(folder, absolute, show=records.show_found, programs=programs)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async def tidy() -> None:
            while True:
                await asyncio.sleep(_TIDY_SECONDS)
                await to_thread.run_sync(tables.suspend_idle)

        # Requests for hints wait in threads for agents; the usual 40 could all be waiting.
        to_thread.current_default_thread_limiter().total_tokens = 100
        task = asyncio.create_task(tidy())
        try:
            yield
        finally:
            task.cancel()
            await to_thread.run_sync(tables.close)
            await to_thread.run_sync(records.analyses.close)
            await to_thread.run_sync(sections.close)

    app = Starlette(
        routes=[*pages.routes, *records.routes, *sections.routes],
        lifespan=lifespan,
        middleware=[Middleware(Guard, token=token, hosts=hosts, browsers=browsers)],
        exception_handlers={HTTPException: _problem},
        max_body_size=MOST_BODY,
    )
    app.state.most_body = MOST_BODY
    return app


class Sections:
    """The installed sections, each built when its first page is asked for.

    Args:
      folder: where they keep their files, in a folder each.
      paths: files and folders that the command line named.
      show, programs: as of `Site`.

    Raises `ConfigError` if no section shows one of the paths.
    """

    def __init__(
        self, folder: Path, paths: Sequence[Path], *, show: ShowRecord, programs: bool
    ) -> None:
        self._mounted = [
            _Mounted(component.name, Site(folder / component.name, tuple(paths), show, programs))
            for component in registry().components(WEB_SECTION)
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
                component = registry().get(WEB_SECTION, self.name)
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


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for this class"
    return page("problem.html", problem=error.detail, status=error.status_code)


def serve(
    folder: Path,
    *,
    host: str = "",
    port: int,
    token: str | None = None,
    open_browser: bool = False,
    paths: Sequence[Path] = (),
    programs: bool = False,
) -> None:
    """Serve until interrupted; the address is printed when the server answers.

    Args:
      host: address to listen on beside loopback; it requires a token.
      paths: files and folders to show, such as those of runs.
      programs: as of `make_app`; not with a host that others reach.

    Raises:
      ConfigError: the address cannot be used, a host is given without a token or with programs, or
        a path cannot be shown.
    """
    if host and token is None:
        raise ConfigError(
            f"--host {host}: everybody who reaches this address could use the server; give a "
            "secret with --token-file or MIAI_WEB_TOKEN, and share it with those who may"
        )
    if programs and host:
        raise ConfigError(
            f"--allow-programs: whoever reaches {host} could start programs of this machine; leave "
            f"out --host and forward the port, `ssh -L {port}:{LOOPBACK}:{port} MACHINE`, or leave "
            "out --allow-programs: agents, their parameters and shipped weights remain"
        )
    if token is not None and len(token) < LEAST_TOKEN:
        raise ConfigError(f"the token is too short to be a secret; give {LEAST_TOKEN} characters")
    token = token or secrets.token_urlsafe(16)
    with contextlib.closing(_socket(host or LOOPBACK, port)) as listening:
        port = listening.getsockname()[1]
        names = [LOOPBACK, "localhost", *([host] if host else [])]
        hosts = [_address(name, port) for name in names]
        app = make_app(folder, token=token, hosts=hosts, paths=paths, programs=programs)
        address = f"http://{_address(host or LOOPBACK, port)}/?token={token}"
        complaints = logging.StreamHandler()
        complaints.addFilter(Sparingly())
        logging.basicConfig(format="%(name)s: %(message)s", handlers=[complaints])
        Server(app, address, open_browser=open_browser).run(sockets=[listening])


class Sparingly(logging.Filter):
    """Lets one record a second pass, with the number of those that did not: logs stay small."""

    _passed_at, _suppressed = -1.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is written."""
        now = time.monotonic()
        if now - self._passed_at < 1:
            self._suppressed += 1
            return False
        if self._suppressed:
            more = f" (and {self._suppressed} more since the last)"
            record.msg, record.args = record.getMessage() + more, ()
        self._passed_at, self._suppressed = now, 0
        return True


class HttpConnection(H11Protocol):
    """A connection that gives way: to silence, and to newer ones where there are too many."""

    since: float  # when it was made, or its last request was answered, on the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; of too many connections, the oldest goes that answers no known browser."""
        super().connection_made(transport)
        self.since = self.loop.time()
        # Half of the files: where they run out, nobody gets in.
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if len(self.connections) > min(max(files // 2, 0) or _MOST_CONNECTIONS, _MOST_CONNECTIONS):
            rest = [c for c in self.connections if isinstance(c, HttpConnection) and c is not self]
            oldest = min(rest, key=lambda each: (each.serves, each.since))
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def serves(self) -> bool:
        """Whether it answers a request of a browser that has entered."""
        waits = self.cycle is None or self.cycle.response_complete
        return not waits and bool(self.scope["state"].get("known"))

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()


class Server(uvicorn.Server):
    """Ends connections that say nothing, and tells the address when it answers."""

    def __init__(self, app: Starlette, address: str = "", *, open_browser: bool = False) -> None:
        config = uvicorn.Config(
            app,
            http=HttpConnection,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            lifespan="on",
            backlog=_ACCEPTED_AT_ONCE,
        )
        super().__init__(config)
        self._address, self._open = address, open_browser

    async def on_tick(self, counter: int) -> bool:
        """End the connections whose time for the next request is over, once a second."""
        if counter % 10 == 0:
            latest = asyncio.get_running_loop().time() - HEADER_SECONDS
            for each in list(self.server_state.connections):
                if isinstance(each, HttpConnection) and not each.serves and each.since < latest:
                    each.transport.abort()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop answering; browsers that still receive events are cut off without complaints."""
        logging.getLogger("uvicorn.error").addFilter(
            lambda record: "without completing response" not in record.getMessage()
        )
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        for each in sockets or ():  # more may wait than are accepted at once
            each.listen(_WAITING)
        if self.started and self._address:
            print(f"miai web: {self._address}\nCtrl-C ends it; games go on at the next start.")
            sys.stdout.flush()
            if self._open:
                webbrowser.open(self._address)


def _socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"--port {port}: cannot listen on {host}: {reason}; choose another with --port, or 0 "
            "for any"
        ) from None
    return made


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
