"""The pictures of a page: one that comes again is referred to."""

from __future__ import annotations

import re
from typing import Final

from miai_tournaments.pages.markup import Markup, tag

_PICTURE: Final = re.compile(r"<svg( [^>]*)>(.*)</svg>\s*", re.DOTALL)
_BOX: Final = re.compile(r'viewBox="([-\d. ]+)"')


class Album:
    """Gives each picture of a renderer an identity, and repeats it by that."""

    def __init__(self) -> None:
        self._met: dict[str, str] = {}

    def picture(self, svg: str) -> Markup:
        """Return a picture, or the reference to the same one further up on the page."""
        found = _PICTURE.fullmatch(svg)
        box = _BOX.search(found[1]) if found else None
        if found is None or box is None:
            return Markup(svg)
        if svg in self._met:
            again = tag("use", href=f"#{self._met[svg]}")
            return tag("svg", again, viewBox=box[1], role="img")
        identity = self._met[svg] = f"v{len(self._met)}"
        content = tag("g", Markup(found[2]), id=identity)
        return Markup(f"<svg{found[1]}>{content}</svg>")
