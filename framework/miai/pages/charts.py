"""Charts as SVG: scales with round ticks, lines with bands, and bars and boxes for table rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from markupsafe import Markup

from miai.markup import number, tag

SERIES = 8
"""Number of different colours; further series repeat them with dashes."""

_DASHES = (None, "7 4", "2 3", "9 3 2 3")
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROW, _MIDDLE = 20, 10  # of the small pictures in rows of tables
_WIDE = 400
_NEAR = 1e-9  # rounding


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
    """Return about `count` round numbers between two values, or the one value if they are equal."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in _ROUND if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [step * i for i in range(first, last + 1)]


def round_steps(low: float, high: float, most: int = 8) -> list[float]:
    """Return round numbers between two positive values at about equal ratios."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps: list[float] = []
    for factors in ((1, 2, 5), (1, 3), (1,)):
        steps = [f * 10.0**p for p in powers for f in factors if low <= f * 10.0**p <= high]
        if len(steps) <= most:
            break
    return steps


def widened(values: Sequence[float], share: float = 0.04) -> tuple[float, float]:
    """Return the minimum and maximum with some space around them."""
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


# -- lines over a common axis ----------------------------------------------------------------

_WIDTH, _HEIGHT = 480, 300
_RIGHT, _TOP, _BOTTOM = 30, 20, 36


@dataclass(frozen=True, slots=True)
class PlotLine:
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
    lines: Sequence[PlotLine],
    *,
    x_label: str,
    y_label: str,
    label: str,
    space: float = 80.0,
    levels: Mapping[str, float] = MappingProxyType({}),
    ratios: bool = False,
    whole_bands: bool = False,
) -> Markup:
    """Return a chart of lines with its legend; the band of the first few lines is shown.

    The horizontal axis begins at 0, or has equal ratios at equal distances.

    Args:
      label: what the chart shows, for screen readers.
      space: margin above and below the lines' ends, in units of y.
      levels: values of y to mark across the chart, by name.
      ratios: whether equal ratios of x, all of them positive, have equal distances.
      whole_bands: make room for all of the bands, not only for the lines.
    """
    if ratios:
        lines = [replace(line, x=[math.log10(x) for x in line.x]) for line in lines]
    xs = [x for line in lines for x in line.x]
    ends = [y + m for line in lines for y in line.y[-1:] for m in (-space, space)]
    ys = [y for line in lines for y in line.y] + ends + list(levels.values())
    if whole_bands:
        about = [pair for line in lines for pair in zip(line.y, line.margins, strict=True)]
        ys += [end for y, margin in about for end in (y - margin, y + margin)]
    up = Scale(*widened(ys), _HEIGHT - _BOTTOM, _TOP)
    heights = ticks(up.low, up.high)
    first = min(xs, default=0.0) if ratios else 0.0
    across = Scale(first, max(xs, default=1.0), label_space(heights), _WIDTH - _RIGHT)
    marks = {f"{value:,.0f}": value for value in ticks(across.low, across.high)}
    if ratios:
        values = round_steps(10**across.low * (1 - _NEAR), 10**across.high * (1 + _NEAR))
        marks = {f"{value:,g}": math.log10(value) for value in values}
    banded = len(lines) <= SERIES
    parts = [
        *_axes(across, up, heights, marks, x_label, y_label),
        *(part for name, value in levels.items() for part in _level(name, across, up(value))),
        *(_band(i, line, across, up) for i, line in enumerate(lines) if banded and line.margins),
        *(_series(i, line, across, up) for i, line in enumerate(lines)),
    ]
    chart = tag(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
    )
    return chart + legend([line.label for line in lines])


def _axes(
    across: Scale,
    up: Scale,
    heights: Sequence[float],
    marks: Mapping[str, float],
    x_label: str,
    y_label: str,
) -> list[Markup]:
    parts = []
    left = number(across.start)
    for value in heights:
        y = number(up(value))
        parts.append(tag("path", class_="axis", d=f"M{left} {y}H{_WIDTH - _RIGHT}"))
        parts.append(axis_text(f"{value:g}", across.start - 6, up(value) + 4, "end"))
    for name, value in marks.items():
        parts.append(axis_text(name, across(value), _HEIGHT - _BOTTOM + 15, "middle"))
    parts.append(axis_text(x_label, _WIDTH - _RIGHT, _HEIGHT - 4, "end"))
    parts.append(axis_text(y_label, 2, _TOP - 4, "start"))
    return parts


def _level(name: str, across: Scale, y: float) -> tuple[Markup, Markup]:
    left = across.start
    path = tag("path", class_="zero", d=f"M{number(left)} {number(y)}H{_WIDTH - _RIGHT}")
    return path, axis_text(name, left + 4, y - 4, "start")


def label_space(values: Sequence[float]) -> int:
    """Return the width that the labels of an axis need beside it."""
    return max((len(f"{value:g}") for value in values), default=1) * 8 + 10


def axis_text(text: str, x: float, y: float, anchor: str) -> Markup:
    """Return a label of an axis."""
    return tag("text", text, class_="dim", x=x, y=y, text_anchor=anchor)


def _series(index: int, line: PlotLine, across: Scale, up: Scale) -> Markup:
    points = " ".join(
        f"{number(across(x), 1)},{number(up(y), 1)}" for x, y in zip(line.x, line.y, strict=True)
    )
    return tag(
        "g",
        tag("title", line.title),
        tag("polyline", class_="line", points=points, stroke_dasharray=series_dash(index)),
        class_=series_class(index),
    )


def _band(index: int, line: PlotLine, across: Scale, up: Scale) -> Markup:
    rows = list(zip(line.x, line.y, line.margins, strict=True))
    upper = [f"{number(across(x), 1)} {number(up(y + m), 1)}" for x, y, m in rows]
    lower = [f"{number(across(x), 1)} {number(up(y - m), 1)}" for x, y, m in reversed(rows)]
    path = tag("path", class_="band", d="M" + "L".join([*upper, *lower]) + "z")
    return tag("g", path, class_=series_class(index))


def legend(labels: Sequence[Markup]) -> Markup:
    """Return a legend of lines, one for each series."""
    items = []
    for index, label in enumerate(labels):
        dash = series_dash(index)
        line = tag("line", class_="line", x1=0, x2=34, y1=6, y2=6, stroke_dasharray=dash)
        items.append(tag("li", _swatch(line, index), label))
    return tag("ul", *items, class_="legend")


def _swatch(sign: Markup, index: int) -> Markup:
    """Return the picture of a series in a legend."""
    return tag("svg", sign, viewBox="0 0 34 12", class_=series_class(index), aria_hidden="true")


# -- single bars ------------------------------------------------------------------------------


def stacked_bar(counts: Mapping[str, tuple[int, Markup]], *, label: str) -> Markup:
    """Return counts as parts of one bar, with a legend.

    Args:
      counts: a number and its text in the legend, by name.
      label: what the chart shows, for screen readers.
    """
    total = sum(count for count, _ in counts.values())
    parts, items, at = [], [], 0.0
    for i, (name, (count, words)) in enumerate(counts.items()):
        width = _WIDTH * count / total
        bar = tag("rect", x=at, y=0, width=width, height=20)
        parts.append(tag("g", bar, class_=series_class(i)))
        sign = _swatch(tag("rect", class_="fill", width=34, height=12), i)
        items.append(tag("li", sign, f"{name} ", words))
        at += width
    stack = tag(
        "svg",
        *parts,
        class_="stack",
        viewBox=f"0 0 {_WIDTH} 20",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )
    return stack + tag("ul", *items, class_="legend")


def ratio_bar(llr: float, lower: float, upper: float) -> Markup:
    """Return a log-likelihood ratio between the bounds of a sequential test."""
    at = Scale(lower - 0.4, upper + 0.4, 10, _WIDTH - 10)
    middle = number(min(_WIDTH - 24, max(24, at(llr))), 1)  # where its text is whole
    start, end = (number(at(value), 1) for value in (lower, upper))
    parts = [
        tag("path", class_="axis", d=f"M{start} 30H{end}"),
        tag("path", class_="zero", d=f"M{number(at(0), 1)} 20V40"),
        *(tag("path", class_="axis", d=f"M{x} 16V44", stroke_width=2) for x in (start, end)),
        tag("g", tag("circle", class_="fill", cx=at(llr), cy=30, r=6), class_="s0"),
        tag("text", f"H0 at {lower:.2f}", x=start, y=60, text_anchor="start", class_="dim"),
        tag("text", f"H1 at {upper:.2f}", x=end, y=60, text_anchor="end", class_="dim"),
        tag(
            "text",
            f"{llr:.2f}",
            x=middle,
            y=12,
            text_anchor="middle",
        ),
    ]
    return tag(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} 66",
        role="img",
        aria_label=f"log-likelihood ratio {llr:.2f} between {lower:.2f} and {upper:.2f}",
        data_value=repr(float(llr)),
        data_key="llr",
    )
