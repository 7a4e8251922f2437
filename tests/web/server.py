"""A server in this process, and browsers without a screen that talk to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from urllib.parse import urlencode

import pytest

from miai.web.server import Server, make_app

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

TOKEN = "a token of the tests"
SECONDS = 60.0


class Look(NamedTuple):
    """The size of a browser's window, which is touched if it is narrow, and its colours."""

    width: int
    height: int
    scheme: Literal["light", "dark"]

    @property
    def narrow(self) -> bool:
        return self.width < 500

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"


ALL_LOOKS = [
    Look(width, height, scheme)
    for width, height in ((1280, 900), (390, 844))
    for scheme in get_args(Literal["light", "dark"])
]
TWO_LOOKS = [ALL_LOOKS[0], ALL_LOOKS[-1]]
"""Each size and each scheme once."""
both_looks = pytest.mark.parametrize("look", TWO_LOOKS, ids=str)
"""Marks tests of what depends on the size of the window or on its colours."""


@dataclass(slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Browser:
    """Keeps its cookie, and says where its requests come from."""

    port: int
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        connection = self._send(path, method, body, headers or {})
        answer = connection.getresponse()
        reply = Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        connection.close()
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply

    def enter(self) -> Reply:
        return self.ask("/?" + urlencode({"token": TOKEN}))

    def post(self, path: str, values: Any) -> Reply:
        body = json.dumps(values).encode()
        return self.ask(
            path, method="POST", body=body, headers={"content-type": "application/json"}
        )

    def form(self, path: str, values: Mapping[str, str]) -> Reply:
        body = urlencode(values).encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.ask(path, method="POST", body=body, headers=kind)

    def upload(self, path: str, field: str, *files: tuple[str, bytes]) -> Reply:
        """Send files as a form does, each with its name."""
        parts = [
            f'--edge\r\ncontent-disposition: form-data; name="{field}"; filename="{name}"\r\n'
            "content-type: application/octet-stream\r\n\r\n".encode()
            + data
            + b"\r\n"
            for name, data in files
        ]
        kind = {"content-type": "multipart/form-data; boundary=edge"}
        return self.ask(path, method="POST", body=b"".join(parts) + b"--edge--\r\n", headers=kind)

    def move(self, table: str, number: int, action: int) -> Reply:
        """Answer with a move to the position of a number."""
        return self.post(f"{table}/answers", {"number": number, "kind": "move", "action": action})

    def invite(self, guest: Browser, table: str, seat: int = 1, name: str = "") -> None:
        """Let a guest of a name sit down."""
        address = self.post(f"{table}/invitations/{seat}", {}).json["address"]
        assert guest.form("/" + address.split("/", 3)[3], {"name": name}).status == 200

    def new_table(self, game: str, **values: str) -> str:
        """Make a table, at which one plays against random moves if nothing else is said.

        It has a seed, so that its games end alike. Returns its path.
        """
        usual = {"seed": "1", "players.0.agent": "me", "players.1.agent": "random"}
        entered = usual | {key.replace("__", "."): value for key, value in values.items()}
        reply = self.form(f"/games/{game}", entered)
        assert reply.status == 303, reply.text
        return reply.headers["location"]

    @contextmanager
    def watching(self, table: str) -> Iterator[Events]:
        """Give the table's events, which are read from now on."""
        connection = self._send(f"{table}/events", "GET", None, {})
        answer = connection.getresponse()
        assert answer.status == 200
        events = Events(answer, connection)
        try:
            yield events
        finally:
            assert connection.sock is not None or answer.fp is not None
            answer.close()
            connection.close()

    def _send(
        self, path: str, method: str, body: bytes | None, headers: Mapping[str, str | None]
    ) -> http.client.HTTPConnection:
        host = f"127.0.0.1:{self.port}"
        every: dict[str, str | None] = {"host": host, "cookie": self.cookie, **self.headers}
        if method != "GET":
            every["origin"] = f"http://{host}"
        every.update(headers)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in every.items():
            if value:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        return connection


def let_in(port: int) -> Browser:
    """Return a browser that has entered."""
    browser = Browser(port)
    browser.enter()
    return browser


class Events:
    """The events of one connection; `lines` are the bytes of all so far, without keep-alives."""

    def __init__(
        self, answer: http.client.HTTPResponse, connection: http.client.HTTPConnection
    ) -> None:
        self._answer, self._connection = answer, connection
        self.lines: list[bytes] = []
        self.last: dict[str, Any] = {}

    def next(self) -> dict[str, Any]:
        while True:
            line = self._answer.readline()
            assert line, "the server has closed the connection"
            if line.startswith(b":") or not line.strip():
                continue
            self.lines.append(line)
            if line.startswith(b"data: "):
                self.last = json.loads(line[6:])
                return self.last

    def drain(self, silence: float = 0.5) -> None:
        """Read the last events: until none has come for some seconds."""
        assert self._connection.sock is not None
        self._connection.sock.settimeout(silence)
        with suppress(TimeoutError):
            while True:
                self.next()

    def until(self, wanted: Any) -> dict[str, Any]:
        """Read on until an event, which may be the last one read, satisfies a condition."""
        if not self.last:
            self.next()
        while not wanted(self.last):
            assert self.last.get("stage") not in {"over", "failed"}, self.last
            self.next()
        return self.last


def is_turn(news: Mapping[str, Any]) -> bool:
    return bool(news["frame"]["turn"] and news["stage"] == "playing")


def is_over(news: Mapping[str, Any]) -> bool:
    return bool(news["stage"] == "over")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def served(
    folder: Path, *, port: int = 0, **more: str
) -> Iterator[tuple[subprocess.Popen[bytes], Browser]]:
    """Run the real command; give its process, and a browser that has shown the token.

    It is killed in the end; `more` is of its environment.
    """
    command = [sys.executable, "-m", "miai", "web", "--port", str(port), "--games", str(folder)]
    pipe, env = subprocess.PIPE, {**os.environ, **more}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=env) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        found = re.fullmatch(r"miai web: http://127\.0\.0\.1:(\d+)/\?token=(\S{16,})\n", line)
        assert found, line
        browser = Browser(int(found[1]))
        assert browser.ask(f"/?token={found[2]}").status in (200, 303)
        try:
            yield process, browser
        finally:
            process.kill()


@contextmanager
def running(folder: Path, *paths: Path, programs: bool = False) -> Iterator[int]:
    """Serve from a folder, with paths of the command line; give the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
        app = make_app(folder, token=TOKEN, hosts=hosts, paths=paths, programs=programs)
        server = Server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


def begin(page: Page, address: str, game: str, opponent: str = "random") -> None:
    """Begin a game against an agent by its form, and wait for the first turn."""
    page.goto(f"{address}/games/{game}")
    page.select_option("[name='players.1.agent']", opponent)
    page.click("button.go")
    wait(page, "frame.turn")


def until(page: Page, condition: str) -> None:
    """Wait for a condition of the page's script, whose policy lets Playwright compile none."""
    end = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"{condition}: {page.inner_text('body')}"
        page.wait_for_timeout(20)


def wait(page: Page, condition: str) -> None:
    """Wait for a condition at a table that is shown."""
    until(page, f"typeof frame !== 'undefined' && !!frame && ({condition})")


def heed(page: Page, problems: list[str]) -> None:
    """Note the errors of a page's scripts and what it logs as errors."""
    page.on("requestfailed", lambda request: problems.extend(_failure(request)))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)


def _failure(request: Request) -> list[str]:
    """Return why a request failed; nothing if the page broke it off, as it does when it is left."""
    failure = request.failure or ""
    return [] if "ERR_ABORTED" in failure else [f"{request.url}: {failure}"]
