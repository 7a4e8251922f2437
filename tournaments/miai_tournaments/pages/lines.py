"""Lines over a common axis, with bands for what is uncertain: ratings over games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from miai_tournaments.pages import charts
from miai_tournaments.pages.markup import Markup, join, number, tag

_WIDTH, _HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 30, 16, 34


@dataclass(frozen=True, slots=True)
class Line:
    """A line.

    Attributes:
      label: a name as markup, for the legend.
      title: the same as text, shown under the pointer.
      x, y: its points.
      margins: half the width of the band about each point; empty for none.
    """

    label: Markup
    title: str
    x: Sequence[float]
    y: Sequence[float]
    margins: Sequence[float] = ()


def line_chart(
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    label: str,
    space: float = 80.0,
    levels: Mapping[str, float] = MappingProxyType({}),
) -> Markup:
    """Return a chart of lines with its legend; the band of the first few lines is shown.

    Args:
      label: what the chart shows, for readers who hear it.
      space: what is left above and below the lines' ends, in units of y.
      levels: values of y that are marked across the chart, by what they are called.
    """
    xs = [x for line in lines for x in line.x]
    ends = [y + m for line in lines for y in line.y[-1:] for m in (-space, space)]
    ys = [y for line in lines for y in line.y] + ends + list(levels.values())
    across = charts.Scale(0.0, max(xs, default=1.0), _LEFT, _WIDTH - _RIGHT)
    up = charts.Scale(*charts.widened(ys), _HEIGHT - _BOTTOM, _TOP)
    banded = len(lines) <= charts.SERIES
    parts = [
        *_axes(across, up, x_label, y_label),
        *(part for told, value in levels.items() for part in _level(told, up(value))),
        *(_band(i, line, across, up) for i, line in enumerate(lines) if banded and line.margins),
        *(_line(i, line, across, up) for i, line in enumerate(lines)),
    ]
    chart = tag(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
    )
    return join((chart, _legend(lines)))


def _axes(across: charts.Scale, up: charts.Scale, x_label: str, y_label: str) -> list[Markup]:
    parts = []
    for value in charts.ticks(up.low, up.high):
        y = number(up(value))
        parts.append(tag("path", class_="axis", d=f"M{_LEFT} {y}H{_WIDTH - _RIGHT}"))
        parts.append(_text(f"{value:g}", _LEFT - 6, up(value) + 4, "end"))
    for value in charts.ticks(across.low, across.high):
        parts.append(_text(f"{value:,.0f}", across(value), _HEIGHT - _BOTTOM + 15, "middle"))
    parts.append(_text(x_label, _WIDTH - _RIGHT, _HEIGHT - 4, "end"))
    parts.append(_text(y_label, 2, _TOP - 4, "start"))
    return parts


def _level(told: str, y: float) -> tuple[Markup, Markup]:
    path = tag("path", class_="zero", d=f"M{_LEFT} {number(y)}H{_WIDTH - _RIGHT}")
    return path, _text(told, _LEFT + 4, y - 4, "start")


def _text(text: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", text, class_="dim", x=x, y=y, text_anchor=anchor)


def _line(index: int, line: Line, across: charts.Scale, up: charts.Scale) -> Markup:
    points = " ".join(
        f"{number(across(x), 1)},{number(up(y), 1)}" for x, y in zip(line.x, line.y, strict=True)
    )
    return tag(
        "g",
        tag("title", line.title),
        tag("polyline", class_="line", points=points, stroke_dasharray=charts.series_dash(index)),
        class_=charts.series_class(index),
    )


def _band(index: int, line: Line, across: charts.Scale, up: charts.Scale) -> Markup:
    rows = list(zip(line.x, line.y, line.margins, strict=True))
    upper = [f"{number(across(x), 1)} {number(up(y + m), 1)}" for x, y, m in rows]
    lower = [f"{number(across(x), 1)} {number(up(y - m), 1)}" for x, y, m in reversed(rows)]
    path = tag("path", class_="band", d="M" + "L".join([*upper, *lower]) + "z")
    return tag("g", path, class_=charts.series_class(index))


def _legend(lines: Sequence[Line]) -> Markup:
    items = []
    for index, line in enumerate(lines):
        sign = tag(
            "line",
            class_="line",
            x1=0,
            x2=34,
            y1=6,
            y2=6,
            stroke_dasharray=charts.series_dash(index),
        )
        picture = tag(
            "svg", sign, viewBox="0 0 34 12", class_=charts.series_class(index), aria_hidden="true"
        )
        items.append(tag("li", picture, line.label))
    return tag("ul", *items, class_="legend")
