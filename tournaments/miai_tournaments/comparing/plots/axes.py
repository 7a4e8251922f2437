"""Titles of panels, and logarithmic axes whose labels keep clear of each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LENGTH = {"x": 2.6, "y": 2.0}
"""About how long the axes of a panel are, inches."""

_LETTER, _BETWEEN, _LINE = 0.08, 0.08, 0.17
"""Of the labels of axes: width of a letter, least distance sideways and of lines, inches."""

_TITLE_LETTERS = 32

_RATIOS = ((1, 2, 5), (1, 3), (1,))
_COUNTS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))


def set_title(axis: Axes, cell: str) -> None:
    """Write what a panel shows above it: its game, and on a line of its own the rest."""
    lines = cell.split(", ", 1)
    axis.set_title("\n".join(fill(line, _TITLE_LETTERS) for line in lines))


def ratio_axis(axis: Any, *, least: float = 0.5, most: float = 2.0) -> None:
    """Make an axis of ratios: logarithmic, with plain numbers and at least the given range."""
    low, high = axis.get_view_interval()
    low, high = min(low, least), max(high, most)
    _set_ticks(axis, low, high, _fitting(axis.axis_name, low, high, _RATIOS, _times))


def count_axis(axis: Any) -> None:
    """Make an axis of counts, none of which is 0: logarithmic, with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    low, high = axis.get_view_interval()
    ticks = _fitting(axis.axis_name, max(low, 1.0), high, _COUNTS, _whole)
    if len(ticks) < 2:
        found = MaxNLocator(4, integer=True).tick_values(max(low, 1.0), high)
        ticks = {float(tick): _whole(tick) for tick in found if low <= tick <= high}
    _set_ticks(axis, low, high, ticks)


def _set_ticks(axis: Any, low: float, high: float, ticks: dict[float, str]) -> None:
    from matplotlib.ticker import NullFormatter

    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
    axis.set_ticks(list(ticks), list(ticks.values()))
    axis.set_minor_formatter(NullFormatter())


def _times(value: float) -> str:
    return f"{value:,g}\N{MULTIPLICATION SIGN}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _fitting(
    name: str, low: float, high: float, digits: Sequence[Sequence[int]], label: Any
) -> dict[float, str]:
    """Return ticks with their labels, as many as keep clear of each other.

    Args:
      name: ``x`` or ``y``.
      digits: the first digits of ticks, the most first; if even the last are too many, whole
        decades are left out.
    """
    inches = _LENGTH[name] / math.log(high / low)
    for ticks in _ticks(low, high, digits):
        found = {tick: label(tick) for tick in ticks}
        rooms = [_LINE if name == "y" else _LETTER * len(s) + _BETWEEN for s in found.values()]
        apart = [inches * math.log(b / a) for a, b in pairwise(found)]
        if all(d >= (a + b) / 2 for d, (a, b) in zip(apart, pairwise(rooms), strict=True)):
            break
    return found


def _ticks(low: float, high: float, digits: Sequence[Sequence[int]]) -> Iterator[list[float]]:
    """Yield fewer and fewer ticks between two ends, at last one or none."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for firsts in digits:
        ticks = [float(f"{first}e{decade}") for decade in decades for first in firsts]
        yield [tick for tick in ticks if low <= tick <= high]
    for stride in count(2):
        ticks = [float(f"1e{decade}") for decade in decades if decade % stride == 0]
        yield [tick for tick in ticks if low <= tick <= high]
