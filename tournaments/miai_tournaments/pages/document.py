"""A whole page: one file that needs no network, whose policy forbids it anything else.

The policy (Content-Security-Policy) allows the page's own style and script by their digests, and
pictures that are part of the page. So what slipped through the escaping could neither run nor
fetch nor send anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from miai_tournaments.pages.markup import Markup, join, tag


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
class Section:
    """A part of a page under a heading.

    Attributes:
      id: what links lead to.
      title: its heading.
      markup: the whole of it.
    """

    id: str
    title: str
    markup: Markup


def section(title: str, *content: str, id: str, note: str = "", wide: bool = False) -> Section:
    """Return a part of a page.

    Args:
      note: what the figures mean, in a sentence.
      wide: whether it takes the whole width of a wide page.
    """
    parts: list[str] = [tag("h2", title)]
    if note:
        parts.append(tag("p", note, class_="note"))
    whole = tag("section", *parts, *content, id=id, class_="wide" if wide else None)
    return Section(id, title, whole)


def contents(sections: Iterable[Section]) -> Markup:
    """Return links to sections."""
    links = [tag("a", part.title, href=f"#{part.id}") for part in sections]
    return tag("nav", join(links), aria_label="Contents")
