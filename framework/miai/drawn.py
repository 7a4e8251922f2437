"""The base of what notebooks draw: states, players' views, records and reports."""

from __future__ import annotations

from importlib import import_module


class Drawn:
    """An object that draws itself in a notebook, as a picture where its game has one."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return self._drawing("svg")

    def _repr_html_(self) -> str | None:
        return self._drawing("html")

    def _drawing(self, kind: str) -> str | None:
        # By its name, since the pages import what is drawn.
        drawing: str | None = getattr(import_module("miai.pages.notebook"), f"{kind}_of")(self)
        return drawing
