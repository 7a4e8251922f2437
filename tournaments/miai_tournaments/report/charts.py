"""What charts share: scales with round ticks, colours of series, error bars and boxes in a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from miai_tournaments.report.html import Markup, number, tag

SERIES = 8
"""Colours that are told apart; further series repeat them in dashes."""

_DASHES = (None, "7 4", "2 3", "9 3 2 3")
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROW, _MIDDLE = 20, 10  # of the small pictures in rows of tables
_WIDE = 400


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from `low` to `high` to coordinates from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return where a value lies; within the scale also where it lies outside."""
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between two, about `count` of them; the one where they are equal."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in _ROUND if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [step * i for i in range(first, last + 1)]


def widened(values: Sequence[float], share: float = 0.04) -> tuple[float, float]:
    """Return the least and greatest value with some space around them."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    space = (high - low) * share or 1.0
    return low - space, high + space


def series_class(index: int) -> str:
    """Return the class that colours a series."""
    return f"s{index % SERIES}"


def series_dash(index: int) -> str | None:
    """Return the dashes of a series; None for a plain line."""
    return _DASHES[index // SERIES % len(_DASHES)]


def rating_bar(
    value: float, low: float, high: float, *, zero: float, extent: tuple[float, float], label: str
) -> Markup:
    """Return a rating as a bar from `zero` with its interval, for a cell of a table."""
    at = Scale(*extent, 4, _WIDE - 4)
    start, end = sorted((at(zero), at(value)))
    return _row(
        label,
        "rating",
        _line(at(zero), at(zero), 0, _ROW, "zero"),
        tag("rect", class_="bar", x=start, y=4, width=end - start, height=12),
        _whisker(at(low), at(high), 5),
        tag("circle", class_="dot", cx=at(value), cy=_MIDDLE, r=3),
    )


def share_bar(share: float, *, label: str) -> Markup:
    """Return a share, from 0 to 1, as a bar, for a cell of a table."""
    width = Scale(0.0, 1.0, 0, _WIDE)(share)
    return _row(label, "rating", tag("rect", class_="bar", x=0, y=4, width=width, height=12))


def box(quantiles: Sequence[float], *, extent: tuple[float, float], label: str) -> Markup:
    """Return five quantiles as whisker, box and middle, for a cell of a table."""
    at = Scale(*extent, 4, _WIDE - 4)
    low, quarter, middle, three, high = map(at, quantiles)
    return _row(
        label,
        "box",
        _whisker(low, high, 4),
        tag("rect", class_="body", x=quarter, y=3, width=max(three - quarter, 1.0), height=14),
        _line(middle, middle, 3, 17, "middle"),
    )


def _row(label: str, style: str, *parts: Markup) -> Markup:
    return tag(
        "svg",
        *parts,
        class_=style,
        viewBox=f"0 0 {_WIDE} {_ROW}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def _whisker(low: float, high: float, half: float) -> Markup:
    ends = "".join(f"M{number(x)} {_MIDDLE - half}v{2 * half}" for x in (low, high))
    path = f"M{number(low)} {_MIDDLE}H{number(high)}{ends}"
    return tag("path", class_="whisker", d=path, vector_effect="non-scaling-stroke")


def _line(x1: float, x2: float, y1: float, y2: float, style: str) -> Markup:
    return tag("line", class_=style, x1=x1, x2=x2, y1=y1, y2=y2, vector_effect="non-scaling-stroke")
