"""Who may ask for what: the token, the browsers that have shown it, and hostile requests.

A browser that opens the address with the token receives a cookie of its own, a random number, of
which the server keeps the digest. A cookie from an invitation opens only the game of the
invitation. Each entrance gives a new cookie, so that nobody can plant one that becomes an owner's.
Requests that a page of another site could cause are refused: those with a foreign ``Host`` (DNS
rebinding) or a foreign ``Origin`` (cross-site posts).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from anyio import CancelScope
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miai.files import Journal
from miai.web.templating import POLICY, page

COOKIE: Final = "miai"
MOST_STREAMS: Final = 16  # of events to one browser; the next one ends the oldest
_MOST_BROWSERS = 1000
_YEAR = 365 * 24 * 3600
_OPEN = ("/assets/", "/invitations/")
_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(slots=True)
class Browsers:
    """The browsers that the server knows, by the digest of their cookie; the latest thousand.

    A browser keeps its name, the digest of its first cookie, and with it the seats that it has
    taken, when it receives another cookie; the former one opens nothing any more.

    Attributes:
      path: where they are kept, so that a restart of the server does not lock anybody out.
      guests: those that came by an invitation: digest to name and the tables they may see.
      owners: those that have shown the token: digest to name.
    """

    path: Path
    owners: dict[str, str] = field(default_factory=dict)
    guests: dict[str, tuple[str, str]] = field(default_factory=dict)

    def load(self) -> None:
        """Read the browsers that were known before. Raises `OSError`."""
        for entry in Journal(self.path).read():
            if isinstance(entry, list) and len(entry) >= 2 and all(type(x) is str for x in entry):
                self._add(*entry[:3])

    def admit(self, former: str, *, table: str = "") -> tuple[str, str]:
        """Remember a browser: for everything or, with `table`, for one game.

        Args:
          former: digest of the cookie that it had; empty for none.

        Returns its new cookie and its name.
        """
        cookie = secrets.token_urlsafe(24)
        digest = digest_of(cookie)
        owner, (guest, _) = self.owners.pop(former, ""), self.guests.pop(former, ("", ""))
        name = owner or guest or digest
        self._add(digest, "" if owner else table, name)
        self._store()
        return cookie, name

    def follow(self, browser: str, table: str) -> None:
        """Let a guest see one more game; it sees the latest eight."""
        for digest, (name, tables) in self.guests.items():
            if name == browser:
                self.guests[digest] = name, " ".join([*tables.split()[-7:], table])
        self._store()

    def _store(self) -> None:
        entries = [[d, "", n] for d, n in self.owners.items()]
        entries += [[d, t, n] for d, (n, t) in self.guests.items()]
        Journal(self.path).replace(entries)
        self.path.chmod(0o600)

    def _add(self, digest: str, table: str, name: str = "") -> None:
        if table:
            self.guests[digest] = name or digest, table
        else:
            self.owners[digest] = name or digest
        for known in (self.owners, self.guests):
            while len(known) > _MOST_BROWSERS:
                del known[next(iter(known))]


def digest_of(cookie: str) -> str:
    """Return the digest under which the server knows a cookie."""
    # What is stored opens nothing: who reads the file cannot make the cookie from it.
    return hashlib.sha256(cookie.encode()).hexdigest()


def enter(cookie: str, path: str) -> Response:
    """Return a page that sets the cookie and goes on to a path of this server.

    A redirect would not do: where the link was on another site, browsers would follow it without
    the cookie, which is SameSite=Strict.
    """
    # Browsers take both for the beginning of an address on another host.
    own = path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"
    response = page("enter.html", owner=False, path=own)
    response.set_cookie(COOKIE, cookie, max_age=_YEAR, path="/", httponly=True, samesite="strict")
    return response


class Guard:
    """Middleware that lets only requests through that the server's own pages can have made.

    It writes into the scope's state `cookie`, the digest of the cookie; `browser`, the name of this
    browser; `owner`, whether it has shown the token; and `known`, whether it may see the address.

    Args:
      token: what the address of the first visit contains.
      hosts: accepted values of the header ``Host``, with their ports.
      browsers: those that are known.
    """

    def __init__(
        self, app: ASGIApp, *, token: str, hosts: Collection[str], browsers: Browsers
    ) -> None:
        self._app, self._token, self._browsers = app, token, browsers
        self._hosts = frozenset(hosts)
        self._streams = dict[CancelScope, str]()  # the browser of each, the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._app
        with CancelScope() as running:
            await answer(scope, receive, self._sender(scope, send, running))
        if running.cancelled_caught:
            await send({"type": "http.response.body"})
        self._streams.pop(running, None)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further; None if it may."""
        headers, state = Headers(scope=scope), scope.setdefault("state", {})
        state["cookie"] = digest_of(_cookie(headers))
        state["owner"] = state["cookie"] in self._browsers.owners
        guest, state["tables"] = self._browsers.guests.get(state["cookie"], ("", ""))
        state["browser"] = self._browsers.owners.get(state["cookie"], guest)
        # A name of another site that leads to this address (DNS rebinding) still says so here.
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse(
                "This server answers only to the address that it was started with.", 421
            )
        if scope["method"] not in ("GET", "POST"):  # a HEAD would do all that a GET does
            return PlainTextResponse(
                "This server answers GET and POST.", 405, {"allow": "GET, POST"}
            )
        # Pages of other sites can make a browser post to this address, but not forge the Origin.
        if scope["method"] == "POST" and not _is_from_own_page(headers):
            return PlainTextResponse("The request did not come from a page of this server.", 403)
        if scope["query_string"].count(b"&") >= 20:
            return PlainTextResponse("The address has more than 20 fields.", 400)
        return self._unknown_browser(scope)

    def _unknown_browser(self, scope: Scope) -> Response | None:
        path, state = scope["path"], scope["state"]
        shown = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # In constant time: an ordinary comparison is the longer, the more of a guess is right.
        if shown and hmac.compare_digest(shown.encode(), self._token.encode()):
            return enter(self._browsers.admit(state["cookie"])[0], path)
        own = any(f"{path}/".startswith(f"/tables/{own}/") for own in state["tables"].split())
        state["known"] = bool(state["owner"] or own)
        if state["known"] or path.startswith(_OPEN):
            return None
        return page("locked.html", owner=False, status=403)

    def _sender(self, scope: Scope, send: Send, running: CancelScope) -> Send:
        """Return a `send` that adds the headers, and bounds the streams of a browser."""

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                if headers.get("content-type", "").startswith("text/event-stream"):
                    browser = self._streams[running] = scope["state"]["browser"]
                    own = [stream for stream, of in self._streams.items() if of == browser]
                    for oldest in own[:-MOST_STREAMS]:
                        oldest.cancel()
            await send(message)

        return sender


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    # Cookies of this server have 32 characters; those beyond 100 are not even hashed.
    return morsel.value if morsel is not None and len(morsel.value) <= 100 else ""


def _is_from_own_page(headers: Headers) -> bool:
    """Return whether the header ``Origin`` names the host that was asked."""
    host = headers.get("host")
    return headers.get("origin") in (f"http://{host}", f"https://{host}")
