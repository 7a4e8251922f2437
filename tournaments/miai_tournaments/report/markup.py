"""HTML and SVG from calls, escaped by markupsafe; pages that need no network.

    tag("p", "1 < 2", class_="note")     # <p class="note">1 &lt; 2</p>

A page's policy (Content-Security-Policy) allows its own style and script, by their digests, and
embedded pictures. What slipped through the escaping could neither run nor fetch nor send.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from functools import cache
from importlib import resources
from typing import Final

from markupsafe import Markup

from miai_tournaments.report.document import printable

_VOID: Final = frozenset(("meta", "input", "br", "hr", "col"))
_SELF_CLOSING: Final = frozenset(("circle", "line", "path", "polyline", "rect", "use"))
_EMPTY: Final = Markup()

Attribute = str | float | bool | None


def tag(name: str, /, *content: str, **attributes: Attribute) -> Markup:
    """Return an element; content and attributes are escaped unless they are `Markup`.

    Underscores in names of attributes become hyphens; one at the end is dropped (``class_``).
    Attributes that are None or False are left out, those that are True have no value.
    """
    head = Markup("<%s%s") % (name, _EMPTY.join(map(_attribute, attributes, attributes.values())))
    if name in _VOID:
        return head + Markup(">")
    if name in _SELF_CLOSING and not content:
        return head + Markup("/>")
    return Markup("%s>%s</%s>") % (head, _EMPTY.join(content), name)


def text(foreign: str, limit: int = 200) -> str:
    """Return a text of foreign origin as one harmless line of at most `limit` terminal cells."""
    return printable(foreign, limit) if foreign else ""


def name(foreign: str, limit: int = 40) -> Markup:
    """Return a foreign name, isolated from the text direction around it."""
    return tag("bdi", text(foreign, limit))


def number(value: float, digits: int = 2) -> str:
    """Return a coordinate with at most `digits` decimals."""
    decimal = f"{value:.{digits}f}"
    return decimal.rstrip("0").rstrip(".") if "." in decimal else decimal


def _attribute(key: str, value: Attribute) -> Markup:
    if value is None or value is False:
        return _EMPTY
    key = key.rstrip("_").replace("_", "-")
    if value is True:
        return Markup(" %s") % key
    shown = number(value) if isinstance(value, (int, float)) else _without_controls(value)
    return Markup(' %s="%s"') % (key, shown)


def _without_controls(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return "".join("?" if unicodedata.category(c)[0] == "C" else c for c in value)


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
