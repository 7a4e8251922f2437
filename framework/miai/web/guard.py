"""Who may ask for what: the token, the browsers that have shown it, and hostile requests.

A browser that opens the address with the token receives a cookie of its own, a random number, of
which the server keeps the digest. A cookie from an invitation opens only the game of the
invitation. Requests that a page of another site could cause are refused: those with a foreign
``Host`` (DNS rebinding) or a foreign ``Origin`` (cross-site posts).
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
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miai.files import Journal
from miai.web.templating import POLICY, page

COOKIE: Final = "miai"
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

    Attributes:
      path: where they are kept, so that a restart of the server does not lock anybody out.
      guests: those that came by an invitation: digest to the table they may see.
      owners: those that have shown the token.
    """

    path: Path
    owners: dict[str, None] = field(default_factory=dict)
    guests: dict[str, str] = field(default_factory=dict)

    def load(self) -> None:
        """Read the browsers that were known before. Raises `OSError`."""
        for entry in Journal(self.path).read():
            if isinstance(entry, list) and len(entry) == 2 and all(type(x) is str for x in entry):
                self._add(*entry)

    def admit(self, cookie: str, *, table: str = "") -> None:
        """Remember a browser: for everything or, with `table`, for one game."""
        digest = digest_of(cookie)
        if digest in self.owners or self.guests.get(digest) == table != "":
            return
        self._add(digest, table)
        entries = [*([d, ""] for d in self.owners), *([d, t] for d, t in self.guests.items())]
        Journal(self.path).replace(entries)
        self.path.chmod(0o600)

    def _add(self, digest: str, table: str) -> None:
        if table:
            self.guests[digest] = table
        else:
            self.owners[digest] = None
        for known in (self.owners, self.guests):
            while len(known) > _MOST_BROWSERS:
                del known[next(iter(known))]


def digest_of(cookie: str) -> str:
    """Return the digest under which the server knows a cookie."""
    # What is stored opens nothing: who reads the file cannot make the cookie from it.
    return hashlib.sha256(cookie.encode()).hexdigest()


def new_cookie() -> str:
    """Return a new random cookie."""
    return secrets.token_urlsafe(24)


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

    It writes `browser`, the digest of the cookie, and `owner`, whether this browser has shown the
    token, into the scope's state.

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._app
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further; None if it may."""
        headers = Headers(scope=scope)
        # A name of another site that leads to this address (DNS rebinding) still says so here.
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse(
                "This server answers only to the address that it was started with.", 421
            )
        # Pages of other sites can make a browser post to this address, but not forge the Origin.
        if scope["method"] not in ("GET", "HEAD") and not _is_from_own_page(headers):
            return PlainTextResponse("The request did not come from a page of this server.", 403)
        return self._unknown_browser(scope, headers)

    def _unknown_browser(self, scope: Scope, headers: Headers) -> Response | None:
        cookie = _cookie(headers)
        browser = digest_of(cookie) if cookie else ""
        owner = browser in self._browsers.owners
        state = scope.setdefault("state", {})
        state["cookie"], state["browser"], state["owner"] = cookie, browser, owner
        state["table"] = self._browsers.guests.get(browser, "")
        path: str = scope["path"]
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20)
        shown = query.get("token", [""])[0]
        # In constant time: an ordinary comparison is the longer, the more of a guess is right.
        if shown and hmac.compare_digest(shown.encode(), self._token.encode()):
            # A guest that shows the token keeps its cookie, and with it the seats that it has
            # taken.
            cookie = cookie or new_cookie()
            self._browsers.admit(cookie)
            return enter(cookie, path)
        own = state["table"] and f"{path}/".startswith(f"/tables/{state['table']}/")
        if owner or path.startswith(_OPEN) or own:
            return None
        return page("locked.html", owner=False, status=403)


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    # Cookies of this server have 32 characters; those beyond 100 are not even hashed.
    return morsel.value if morsel is not None and len(morsel.value) <= 100 else ""


def _is_from_own_page(headers: Headers) -> bool:
    """Return whether the header ``Origin`` names the host that was asked."""
    origin = urlsplit(headers.get("origin", ""))
    return origin.scheme in ("http", "https") and origin.netloc == headers.get("host")


def _with_headers(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sender
