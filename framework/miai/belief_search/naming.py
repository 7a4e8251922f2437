"""Bounds by the names that plugins registered them under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from miai.belief_search.bounds.protocol import Bounds
from miai.belief_search.universe import Universe
from miai.plugins.loader import registry

MakeBounds: TypeAlias = Callable[[Universe[Any]], Bounds]
"""Makes the bounds of one search, whose states its universe numbers."""


def named_bounds(name: str, **parameters: Any) -> MakeBounds:
    """Return what makes the bounds of a name.

    Raises:
      UnknownComponentError: no plugin registered bounds of that name.
      ParameterError: the parameters are not theirs.
    """
    component = registry().get("bounds", name)
    component.fill(parameters)  # a mistake is told now, not when the first search begins

    def make(universe: Universe[Any]) -> Bounds:
        bounds: Bounds = component.build(universe, values=parameters)
        return bounds

    return make
