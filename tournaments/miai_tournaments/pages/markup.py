"""HTML and SVG from calls: whatever is not markup already is escaped.

    tag("p", "1 < 2", class_="note")     # <p class="note">1 &lt; 2</p>

Texts of foreign origin (names, reasons, configs) also lose what would change how a page reads:
control characters, changes of direction, marks that pile up; see `text` and `block`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Final

from miai_tournaments.report.layout import printable

_VOID: Final = frozenset(("meta", "input", "br", "hr", "col"))
_SHORT: Final = frozenset(("circle", "line", "path", "polyline", "rect", "use"))
_MOST_MARKS = 2

Attribute = str | float | bool | None


class Markup(str):
    """Text that is markup: it is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: Attribute) -> Markup:
    """Return an element. Content that is no `Markup` is escaped, and so are all attributes.

    Underlines in attributes' names become hyphens; one at the end is dropped (``class_``). An
    attribute of None or False is left out, one of True stands without a value.
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{told}>")
    if name in _SHORT and not content:
        return Markup(f"<{name}{told}/>")
    return Markup(f"<{name}{told}>{join(content)}</{name}>")


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """Return parts as one piece of markup; those that are none are escaped."""
    return Markup(separator.join(p if isinstance(p, Markup) else escape(p) for p in parts))


def text(foreign: str, limit: int = 200) -> str:
    """Return a text of foreign origin as one harmless line of at most `limit` cells."""
    return printable(foreign, limit) if foreign else ""


def name(foreign: str, limit: int = 40) -> Markup:
    """Return a foreign name, kept apart from the direction of what stands around it."""
    return tag("bdi", text(foreign, limit))


def block(foreign: str, limit: int = 100_000) -> str:
    """Return a foreign text of many lines, its blanks kept; at most `limit` characters of it."""
    kept: list[str] = []
    marks = 0
    for character in foreign[:limit].replace("\r\n", "\n").expandtabs(4):
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= _MOST_MARKS:
            kept.append("?" if category[0] == "C" and character != "\n" else character)
    return "".join(kept) + ("\n\N{HORIZONTAL ELLIPSIS}" if len(foreign) > limit else "")


def number(value: float, digits: int = 2) -> str:
    """Return a coordinate with at most so many decimals, and no more than it needs."""
    told = f"{value:.{digits}f}"
    return told.rstrip("0").rstrip(".") if "." in told else told


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    told = number(value) if isinstance(value, (int, float)) else escape(_harmless(value))
    return f' {key}="{told}"'


def _harmless(value: str) -> str:
    """Return the value of an attribute without characters of control, format and surrogates."""
    if value.isascii() and value.isprintable():
        return value
    return "".join("?" if unicodedata.category(c)[0] == "C" else c for c in value)
