"""HTML and SVG from calls, escaped by markupsafe.

tag("p", "1 < 2", class_="note")     # <p class="note">1 &lt; 2</p>
"""

from __future__ import annotations

import unicodedata
from typing import Final

from markupsafe import Markup

_VOID: Final = frozenset(("meta", "input", "br", "hr", "col", "img"))
_SELF_CLOSING: Final = frozenset(
    ("circle", "line", "path", "polygon", "polyline", "rect", "stop", "use")
)
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
    text = number(value) if isinstance(value, (int, float)) else _without_controls(value)
    return Markup(' %s="%s"') % (key, text)


def _without_controls(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return "".join("?" if unicodedata.category(c)[0] == "C" else c for c in value)


def svg_document(picture: str, definitions: str = "") -> str:
    """Return an ``svg`` element as a document of its own, with the definitions it refers to."""
    head, _, body = picture.partition(">")
    space = ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"{head}{space}><defs>{definitions}</defs>{body}"
