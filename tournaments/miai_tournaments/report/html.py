"""Reports and replays as pages of HTML that need nothing but themselves.

A whole page: one file that needs no network, whose policy forbids it anything else.

The policy (Content-Security-Policy) allows the page's own style and script by their digests, and
pictures that are part of the page. So what slipped through the escaping could neither run nor
fetch nor send anything.

HTML and SVG from calls: whatever is not markup already is escaped.

    tag("p", "1 < 2", class_="note")     # <p class="note">1 &lt; 2</p>

Texts of foreign origin (names, reasons, configs) also lose what would change how a page reads:
control characters, changes of direction, marks that pile up; see `text` and `block`.

Tables of a page, sorted by their readers: each cell carries the number that it shows.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Final, Literal

from miai_tournaments.report.terminal import printable

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


@cache
def asset(file: str) -> str:
    """Return a style or a script that belongs to the pages."""
    return (resources.files(__package__) / "assets" / file).read_text(encoding="utf-8")


def document(title: str, *body: str, styles: tuple[str, ...], scripts: tuple[str, ...]) -> str:
    """Return a page.

    Args:
      title: of the page, already harmless (`markup.text`).
      body: of the page.
      styles, scripts: assets by file name.
    """
    style = "\n".join(map(asset, styles))
    script = "\n".join(map(asset, scripts))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Markup(f"<style>{style}</style>"),
    )
    whole = tag("body", *body, Markup(f"<script>{script}</script>"))
    return "<!DOCTYPE html>\n" + tag("html", head, "\n", whole, lang="en") + "\n"


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


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page under a heading.

    Attributes:
      id: what links lead to.
      title: its heading.
      markup: the whole of it.
    """

    id: str
    title: str
    markup: Markup


def section(title: str, *content: str, id: str, note: str = "", wide: bool = False) -> PageSection:
    """Return a part of a page.

    Args:
      note: what the figures mean, in a sentence.
      wide: whether it takes the whole width of a wide page.
    """
    parts: list[str] = [tag("h2", title)]
    if note:
        parts.append(tag("p", note, class_="note"))
    whole = tag("section", *parts, *content, id=id, class_="wide" if wide else None)
    return PageSection(id, title, whole)


def contents(sections: Iterable[PageSection]) -> Markup:
    """Return links to sections."""
    links = [tag("a", part.title, href=f"#{part.id}") for part in sections]
    return tag("nav", join(links), aria_label="Contents")


NONE = "\N{EN DASH}"
"""Where there is nothing to tell."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    Attributes:
      text: its heading.
      align: of its cells.
      title: what it means, shown under the pointer.
    """

    text: str
    align: Literal["left", "right"] = "right"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
      content: what it shows; a text is escaped.
      value: the exact number that it shows, by which it is sorted and which readers of the page
        can take; None where it shows a text.
      key: names the number, as in the JSON report.
      style: classes.
      title: shown under the pointer.
    """

    content: str
    value: float | None = None
    key: str = ""
    style: str = ""
    title: str = ""


def table(
    label: str,
    heads: Sequence[Head],
    rows: Sequence[Sequence[Cell | str]],
    *,
    sortable: bool = True,
    style: str = "",
    keys: Sequence[str] = (),
) -> Markup:
    """Return a table in a frame that scrolls where it is too wide.

    Args:
      label: what the table is of, for readers who hear it.
      rows: cells in the order of the heads; the first cell that is aligned left heads its row.
      keys: a name for each row, as in the JSON report.
    """
    classes = " ".join(filter(None, ("sortable" if sortable and len(rows) > 1 else "", style)))
    header = next((i for i, head in enumerate(heads) if head.align == "left"), -1)
    named = [*keys, *[""] * (len(rows) - len(keys))]
    body = [
        tag(
            "tr",
            *(_cell(cell, heads[i], as_header=i == header) for i, cell in enumerate(row)),
            data_row=key or None,
        )
        for row, key in zip(rows, named, strict=True)
    ]
    return framed(
        label,
        tag(
            "table",
            tag("thead", tag("tr", *map(_head, heads))),
            tag("tbody", *body),
            class_=classes or None,
        ),
    )


def framed(label: str, content: Markup) -> Markup:
    """Return what may be wider than the page in a frame that scrolls, by keys as well."""
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def _head(head: Head) -> Markup:
    style = "left" if head.align == "left" else None
    return tag("th", head.text, scope="col", class_=style, title=head.title or None)


def _cell(cell: Cell | str, head: Head, *, as_header: bool) -> Markup:
    if isinstance(cell, str):
        cell = Cell(cell)
    style = " ".join(filter(None, ("left" if head.align == "left" else "", cell.style)))
    attributes: dict[str, Attribute] = {
        "class_": style or None,
        "data_value": None if cell.value is None else repr(cell.value),
        "data_key": cell.key or None,
        "title": cell.title or None,
    }
    if as_header:
        return tag("th", cell.content, scope="row", **attributes)
    return tag("td", cell.content, **attributes)
