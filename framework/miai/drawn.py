"""The base of what notebooks draw: states, players' views and records."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Drawn:
    """An object that draws itself in a notebook, as a picture where its game has one."""

    __slots__ = ()

    def _repr_svg_(self) -> Any:
        return import_module("miai.pages.notebook").svg_of(self)

    def _repr_html_(self) -> Any:
        return import_module("miai.pages.notebook").html_of(self)
