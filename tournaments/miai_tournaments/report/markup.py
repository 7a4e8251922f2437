"""Pages of HTML that need no network, and texts of foreign origin on them.

A page's policy (Content-Security-Policy) allows its own style and script, by their digests, and
embedded pictures. What slipped through the escaping could neither run nor fetch nor send.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from markupsafe import Markup

from miai.markup import tag
from miai_tournaments.report.document import printable


def text(foreign: str, limit: int = 200) -> str:
    """Return a text of foreign origin as one harmless line of at most `limit` terminal cells."""
    return printable(foreign, limit) if foreign else ""


def name(foreign: str, limit: int = 40) -> Markup:
    """Return a foreign name, isolated from the text direction around it."""
    return tag("bdi", text(foreign, limit))


@cache
def asset(file: str) -> Markup:
    """Return a style or script of the pages."""
    return Markup((resources.files(__package__) / "assets" / file).read_text(encoding="utf-8"))  # noqa: S704 - a file of this package


def whole_page(title: str, *body: str, styles: tuple[str, ...], scripts: tuple[str, ...]) -> str:
    """Return a page.

    Args:
      title: of the page, printable.
      body: its content.
      styles, scripts: assets by file name.
    """
    style = Markup("\n").join(map(asset, styles))
    script = Markup("\n").join(map(asset, scripts))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    content = tag("body", *body, tag("script", script))
    page = tag("html", head, "\n", content, lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _policy(style: str, script: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src-elem {_digest(style)}",
            "style-src-attr 'unsafe-inline'",  # the pieces of some games' pictures
            f"script-src-elem {_digest(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
