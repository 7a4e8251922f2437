"""Charts as SVG: figures of several panels, lines, bars and boxes, in the colours of pages.

A figure is a document of its own. It follows the reader's choice of light or dark, also as a
picture in another page. It needs no other file, and the same data give the same bytes.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Final, Literal, Protocol

from markupsafe import Markup

from miai.markup import Attribute, number, svg_document, tag

SERIES: Final = 8
"""Number of different colours; further series repeat them with dashes."""

_DASHES: Final = (None, "7 4", "2 3", "9 3 2 3")
_ROUND: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROW, _MIDDLE = 20, 10  # of the small pictures in rows of tables
_WIDE: Final = 400
_BAR: Final = 480

COLUMNS: Final = 3
"""Panels side by side."""

_LETTER: Final = 6.6
"""Width of a letter of 11 px, generously: the reader's font is unknown."""

_LINE: Final = 15
_PLOT: Final = 250.0
"""Usual width of a panel."""

_TITLE_LETTERS: Final = 34
_GAP: Final = 18
_SAMPLE: Final = 26
"""Width of a legend's sign."""

_DIGITS: Final = ((1, 2, 5), (1, 3), (1,))
"""Leading digits of the ticks of a logarithmic axis, densest first."""


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
    # With a tolerance, so that rounding does not skip a step, or a tick, that fits exactly.
    step = next(power * factor for factor in _ROUND if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [step * i for i in range(first, last + 1)]


def widened(values: Sequence[float], share: float = 0.04) -> tuple[float, float]:
    """Return the minimum and maximum with some space around them."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    space = (high - low) * share or 1.0
    return low - space, high + space


def series_class(index: int | None) -> str:
    """Return the class that colours a series; None for what is beside the point."""
    return "aside" if index is None else f"s{index % SERIES}"


def series_dash(index: int | None) -> str | None:
    """Return the dashes of a series; None for a plain line."""
    return _DASHES[(index or 0) // SERIES % len(_DASHES)]


def axis_text(text: str, x: float, y: float, anchor: str) -> Markup:
    """Return a label of an axis."""
    return tag("text", text, class_="dim", x=x, y=y, text_anchor=anchor)


def times(value: float) -> str:
    """Return a ratio: ``0.5`` and a multiplication sign."""
    return f"{value:,g}\N{MULTIPLICATION SIGN}"


def percents(value: float) -> str:
    """Return a number of per cent."""
    return f"{value:g} %"


def seconds(value: float) -> str:
    """Return seconds in a unit that keeps the number short."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "\N{MICRO SIGN}s")):
        if value >= unit * (1 - 1e-9):
            return f"{value / unit:,g} {name}"
    return f"{value * 1e9:,g} ns"


def plain(value: float) -> str:
    """Return a number with separators."""
    return f"{value:,.10g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis of a panel.

    Attributes:
      label: what it measures.
      text: text of a tick.
      logarithmic: whether equal ratios have equal distances.
      whole: whether only whole numbers get a tick; of a linear axis.
      within: values that it shows at least.
      space: share of its length that stays free at both ends.
      names: the ticks with their texts, in place of round numbers.
      grid: whether lines cross the panel at the ticks.
    """

    label: str = ""
    text: Callable[[float], str] = plain
    logarithmic: bool = False
    whole: bool = False
    within: Sequence[float] = ()
    space: float = 0.05
    names: Mapping[float, str] = field(default_factory=dict)
    grid: bool = True

    def place(self, value: float) -> float:
        """Return where a value lies on a linear scale."""
        return math.log10(value) if self.logarithmic else value

    def extent(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the ends of the axis, as places."""
        places = [self.place(value) for value in (*values, *self.within)]
        return widened(places, self.space) if self.space else (min(places), max(places))

    def ticks(self, extent: tuple[float, float], length: float, *, up: bool) -> Mapping[float, str]:
        """Return the ticks between two places, with their texts.

        Args:
          length: of the axis, in pixels.
          up: whether it is the vertical axis.
        """
        if self.names:
            return self.names
        if not self.logarithmic:
            values = ticks(*extent, max(2, int(length / (40 if up else 60))))
            return {v: self.text(v) for v in values if not self.whole or v == round(v)}
        low, high = (10**end for end in extent)
        found = _fitting(low, high, length, self.text, up=up)
        if len(found) < 2:  # within a decade
            found = {v: self.text(v) for v in ticks(low, high, 4) if v > 0}
        return found


def _fitting(
    low: float, high: float, length: float, text: Callable[[float], str], *, up: bool
) -> dict[float, str]:
    """Return as many ticks of a logarithmic axis as fit without overlapping texts."""
    pixels = length / math.log(high / low)
    # The densest ticks whose texts do not overlap; the last candidates are few enough.
    for values in _decimal_ticks(low, high):
        found = {value: text(value) for value in values}
        rooms = [_LINE if up else _LETTER * len(name) + 8 for name in found.values()]
        apart = [pixels * math.log(b / a) for a, b in pairwise(found)]
        if all(d >= (a + b) / 2 for d, (a, b) in zip(apart, pairwise(rooms), strict=True)):
            break
    return found


def _decimal_ticks(low: float, high: float) -> Iterator[list[float]]:
    """Yield sparser and sparser ticks between two positive values."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for firsts in _DIGITS:
        values = [float(f"{first}e{decade}") for decade in decades for first in firsts]
        yield [value for value in values if low <= value <= high]
    for stride in itertools.count(2):
        values = [float(f"1e{decade}") for decade in decades if decade % stride == 0]
        yield [value for value in values if low <= value <= high]


Span = tuple[float, float]
"""The ends of an interval."""


class Mark(Protocol):
    """Something that a panel shows."""

    @property
    def label(self) -> str:
        """Its name in the legend; empty for none."""

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the values of x and of y for which the axes must have room."""

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return the mark, given where values lie."""

    def sign(self) -> Markup:
        """Return its sign in the legend, `_SAMPLE` wide and 12 high."""


_SHAPES: Final = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 -4.8L4.6 3.6H-4.6z",
    "M0 4.8L4.6 -3.6H-4.6z",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Points of one series, joined by a line or not.

    Attributes:
      points: values of x and y.
      series: number that chooses colour, dashes and shape; None for a line beside the point.
      x_spans, y_spans: intervals of the points; empty for none.
      line: how the points are joined.
      hollow: whether the points are rings and the line is dashed.
      hidden: whether there is only the line.
      title: shown under the pointer.
    """

    label: str
    points: Sequence[tuple[float, float]]
    series: int | None
    x_spans: Sequence[Span] = ()
    y_spans: Sequence[Span] = ()
    line: Literal["straight", "steps", "none"] = "straight"
    hollow: bool = False
    hidden: bool = False
    title: str = ""

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return all values, the ends of intervals included."""
        xs, ys = ([point[i] for point in self.points] for i in (0, 1))
        return (
            [*xs, *itertools.chain.from_iterable(self.x_spans)],
            [*ys, *itertools.chain.from_iterable(self.y_spans)],
        )

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return lines, bars of intervals and points, in this order."""
        places = [(x(a), y(b)) for a, b in self.points]
        parts = [tag("title", self.title)] if self.title else []
        parts.append(self._line(places))
        for (_, b), (low, high) in zip(self.points, self.x_spans, strict=False):
            parts.append(_segment(x(low), x(high), y(b), y(b)))
        for (a, _), (low, high) in zip(self.points, self.y_spans, strict=False):
            parts.append(_segment(x(a), x(a), y(low), y(high)))
        if not self.hidden:
            parts += [self._point(a, b) for a, b in places]
        return tag("g", *parts, class_=series_class(self.series))

    def sign(self) -> Markup:
        """Return the line with one of the points."""
        middle = _SAMPLE / 2
        line = self._line([(0, 6), (_SAMPLE, 6)]) if self.line != "steps" else self._path("M0 6H26")
        return tag("g", line, self._point(middle, 6), class_=series_class(self.series))

    def _line(self, places: Sequence[tuple[float, float]]) -> Markup:
        if self.line == "none" or len(places) < 2:
            return Markup()
        (a, b), *rest = ((number(p, 1), number(q, 1)) for p, q in places)
        steps = self.line == "steps"
        tail = "".join(f"H{p}V{q}" if steps else f"L{p} {q}" for p, q in rest)
        return self._path(f"M{a} {b}{tail}")

    def _path(self, d: str) -> Markup:
        dash = "5 3" if self.hollow else series_dash(self.series)
        return tag("path", class_="line", d=d, stroke_dasharray=dash)

    def _point(self, a: float, b: float) -> Markup:
        style = "hollow" if self.hollow else "point"
        place = f"translate({number(a, 1)} {number(b, 1)})"
        return tag(
            "path", class_=style, d=_SHAPES[(self.series or 0) % len(_SHAPES)], transform=place
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The area within a margin above and below each point of a line.

    Attributes:
      series: of the line.
    """

    points: Sequence[tuple[float, float]]
    margins: Sequence[float]
    series: int
    label: str = ""

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the ends of the intervals."""
        pairs = zip(self.points, self.margins, strict=True)
        return (), [end for (_, y), m in pairs for end in (y - m, y + m)]

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return the area."""
        rows = [(a, b, m) for (a, b), m in zip(self.points, self.margins, strict=True)]
        upper = [f"{number(x(a), 1)} {number(y(b + m), 1)}" for a, b, m in rows]
        lower = [f"{number(x(a), 1)} {number(y(b - m), 1)}" for a, b, m in reversed(rows)]
        path = tag("path", class_="band", d="M" + "L".join([*upper, *lower]) + "z")
        return tag("g", path, class_=series_class(self.series))

    def sign(self) -> Markup:
        """Return nothing: its line is named."""
        return Markup()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Horizontal bars from 1, in lines numbered from the top.

    Attributes:
      bars: the line of each bar, its value and its interval.
      bad: whether they are hatched, in the colour of what is wrong.
    """

    label: str
    bars: Sequence[tuple[int, float, Span]]
    bad: bool = False

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return values and intervals, and the lines."""
        xs = [x for _, value, span in self.bars for x in (1.0, value, *span)]
        return xs, [float(line) for line, *_ in self.bars]

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return the bars with their intervals."""
        parts = []
        for line, value, (low, high) in self.bars:
            start, end = sorted((x(1.0), x(value)))
            parts.append(self._bar(start, y(line) - 8, end - start, 16))
            parts.append(tag("g", _segment(x(low), x(high), y(line), y(line)), class_="ink"))
        return tag("g", *parts)

    def sign(self) -> Markup:
        """Return a short bar."""
        return self._bar(0, 1, _SAMPLE, 10)

    def _bar(self, x: float, y: float, width: float, height: float) -> Markup:
        box = {"x": x, "y": y, "width": width, "height": height}
        bar = tag("rect", class_="bar", **box)
        hatch = tag("rect", fill="url(#hatch)", **box) if self.bad else Markup()
        return tag("g", bar, hatch, class_=series_class(1 if self.bad else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Diamonds:
    """Diamonds over bars: a second value of each line."""

    label: str
    points: Sequence[tuple[int, float]]

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return values and lines."""
        return [value for _, value in self.points], [float(line) for line, _ in self.points]

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return the diamonds."""
        return tag("g", *(self._diamond(x(value), y(line)) for line, value in self.points))

    def sign(self) -> Markup:
        """Return one of them."""
        return self._diamond(_SAMPLE / 2, 6)

    @staticmethod
    def _diamond(x: float, y: float) -> Markup:
        place = f"translate({number(x, 1)} {number(y, 1)})"
        return tag("path", class_="diamond", d="M0 -4.6L4.6 0L0 4.6L-4.6 0z", transform=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A text beside a panel of the usual width at a value of y, or inside it at one of x, too."""

    text: str
    y: float
    x: float | None = None
    series: int | None = None
    label: str = ""

    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return where it stands."""
        return [] if self.x is None else [self.x], [self.y]

    def draw(self, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
        """Return the text."""
        left = _PLOT + 6 if self.x is None else x(self.x)
        style = None if self.series is None else f"{series_class(self.series)} named"
        return tag("text", self.text, x=left, y=y(self.y) + 4, class_=style or "dim")

    def sign(self) -> Markup:
        """Return nothing: it names itself."""
        return Markup()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One panel.

    Attributes:
      title: its title; the part behind the first comma is a line of its own.
      marks: what it shows, the first at the bottom.
      height, width: between its axes, in pixels.
      x_levels: values of x at which a line crosses the panel.
      y_levels: the same of y, with a text for each line.
      room: space for remarks on its right.
      downwards: whether y grows downwards.
    """

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    height: float = 200.0
    width: float = _PLOT
    x_levels: Sequence[float] = ()
    y_levels: Mapping[float, str] = field(default_factory=dict)
    room: float = 0.0
    downwards: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """A panel with its scales and ticks."""

    panel: Plot
    x: Callable[[float], float]
    y: Callable[[float], float]
    across: Mapping[float, str]
    upwards: Mapping[float, str]
    left: float
    top: float

    @classmethod
    def of(cls, panel: Plot) -> _Layout:
        """Return where a panel's values, ticks and labels stand, in pixels."""
        values = [mark.values() for mark in panel.marks]
        xs = [*itertools.chain.from_iterable(x for x, _ in values), *panel.x_levels]
        ys = [*itertools.chain.from_iterable(y for _, y in values), *panel.y_levels]
        x_ends, y_ends = panel.x.extent(xs), panel.y.extent(ys)
        # SVG counts y from the top.
        ground, sky = (0.0, panel.height) if panel.downwards else (panel.height, 0.0)
        x, y = Scale(*x_ends, 0, panel.width), Scale(*y_ends, ground, sky)
        upwards = panel.y.ticks(y_ends, panel.height, up=True)
        return cls(
            panel=panel,
            x=lambda value: x(panel.x.place(value)),
            y=lambda value: y(panel.y.place(value)),
            across=panel.x.ticks(x_ends, panel.width, up=False),
            upwards=upwards,
            left=14 + _LETTER * max(map(len, upwards.values()), default=0),
            top=8 + _LINE * (len(_title_lines(panel.title)) + bool(panel.y.label)),
        )

    @property
    def bottom(self) -> float:
        return 24 + _LINE * bool(self.panel.x.label)

    def draw(self) -> Markup:
        """Return the panel as SVG, with the origin at the corner of its plot."""
        panel, height, width = self.panel, self.panel.height, self.panel.width
        lines = _title_lines(panel.title)
        head = -self.top + _LINE
        parts = [
            tag("text", line, x=0, y=head + _LINE * i, class_="title")
            for i, line in enumerate(lines)
        ]
        if panel.y.label:
            parts.append(axis_text(panel.y.label, -self.left + 14, -8, "start"))
        if panel.x.label:
            parts.append(axis_text(panel.x.label, width, height + 15 + _LINE, "end"))
        for value, name in self.upwards.items():
            y = self.y(value)
            if panel.y.grid:
                parts.append(tag("path", class_="axis", d=f"M0 {number(y, 1)}H{number(width)}"))
            parts.append(axis_text(name, -6, y + 4, "end"))
        for value, name in self.across.items():
            x = self.x(value)
            if panel.x.grid:
                parts.append(tag("path", class_="axis", d=f"M{number(x, 1)} 0V{number(height)}"))
            parts.append(axis_text(name, x, height + 16, "middle"))
        parts += [_segment(self.x(v), self.x(v), 0, height, "zero") for v in panel.x_levels]
        for value, name in panel.y_levels.items():
            parts.append(_segment(0, width, self.y(value), self.y(value), "zero"))
            parts += [axis_text(name, 4, self.y(value) - 4, "start")] if name else []
        parts += [mark.draw(self.x, self.y) for mark in panel.marks]
        return tag("g", *parts)


def picture(svg: str, title: str) -> Markup:
    """Return a figure as an image of a page, whose policy would refuse the figure's own style."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    return tag("img", src=source, alt=title)


def figure(title: str, rows: Sequence[Sequence[Plot]], *, note: str = "") -> str:
    """Return a figure as an SVG document.

    Args:
      rows: panels side by side, row by row.
      note: a text below the panels, above the legend of all of them.
    """
    layouts = [[_Layout.of(panel) for panel in row] for row in rows]
    columns = max(map(len, rows))
    # Panels below each other share their widths, so that their plots line up.
    left = [max(row[i].left for row in layouts if i < len(row)) for i in range(columns)]
    plots = [max(row[i].panel.width for row in layouts if i < len(row)) for i in range(columns)]
    room = [max(row[i].panel.room for row in layouts if i < len(row)) for i in range(columns)]
    width = sum(left) + sum(plots) + sum(room) + columns * _GAP
    width = max(width, 320.0)
    heading = wrap(title, int(width / 9.5))
    parts = [tag("text", line, x=8, y=24 + 20 * i, class_="head") for i, line in enumerate(heading)]
    y = 20.0 * len(heading) + 12
    for row in layouts:
        y += max(layout.top for layout in row)
        x = 0.0
        for i, layout in enumerate(row):
            x += left[i]
            place = f"translate({number(x, 1)} {number(y, 1)})"
            parts.append(tag("g", layout.draw(), transform=place))
            x += plots[i] + room[i] + _GAP
        y += max(layout.panel.height + layout.bottom for layout in row)
    for line in wrap(note, int((width - 16) / 5.8)):
        y += _LINE
        parts.append(tag("text", line, x=8, y=y, class_="dim"))
    # One legend for the whole figure: a label means the same in every panel.
    entries: dict[str, Mark] = {}
    for mark in (mark for row in rows for panel in row for mark in panel.marks):
        if mark.label:
            entries.setdefault(mark.label, mark)
    signs, height = _legend(entries, width)
    parts.append(tag("g", *signs, transform=f"translate(8 {number(y + 10, 1)})"))
    y += height + 16
    ground = tag("rect", class_="ground", width=width, height=y)
    picture = tag(
        "svg",
        tag("title", title),
        ground,
        *parts,
        viewBox=f"0 0 {number(width)} {number(y)}",
        width=width,
        height=y,
        role="img",
        class_="figure",
    )
    return svg_document(picture, tag("style", _style()) + _HATCH)


def _legend(entries: Mapping[str, Mark], width: float) -> tuple[list[Markup], float]:
    """Return the legend, in columns as wide as its longest name, and its height."""
    if not entries:
        return [], 0.0
    column = _SAMPLE + 24 + _LETTER * max(map(len, entries))
    lines = -(-len(entries) // max(1, int((width - 16) / column)))
    signs = []
    for i, (name, mark) in enumerate(entries.items()):
        place = f"translate({number(i // lines * column, 1)} {i % lines * 18})"
        words = tag("text", name, x=_SAMPLE + 8, y=10)
        signs.append(tag("g", mark.sign(), words, transform=place))
    return signs, 18.0 * lines


def _segment(x1: float, x2: float, y1: float, y2: float, style: str = "span") -> Markup:
    return tag("line", class_=style, x1=x1, x2=x2, y1=y1, y2=y2)


def _title_lines(title: str) -> list[str]:
    return [line for part in title.split(", ", 1) for line in wrap(part, _TITLE_LETTERS)]


_HATCH: Final = tag(
    "pattern",
    tag("path", class_="hatch", d="M-2 8L8 -2M2 12L12 2"),
    id="hatch",
    width=6,
    height=6,
    patternUnits="userSpaceOnUse",
)


@cache
def _style() -> Markup:
    """Return the colours of pages, with the rules of figures."""
    # A picture in another page cannot use its style sheet, so it carries the colours along.
    assets = Path(__file__).parent / "assets"
    page, chart = ((assets / name).read_text("utf-8") for name in ("page.css", "chart.css"))
    colours, _, _ = page.partition("/* Figures")
    return Markup(f"{colours.rstrip()}\n{chart}")  # noqa: S704 - own files


# -- charts of a page -------------------------------------------------------------------------


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
    space: float,
    levels: Mapping[str, float] = MappingProxyType({}),
    ratios: bool = False,
) -> Markup:
    """Return a chart of lines with its legend; the band of the first few lines is shown.

    The horizontal axis begins at 0, or has equal ratios at equal distances.

    Args:
      label: what the chart shows, for screen readers.
      space: margin above and below the lines' ends, in units of y.
      levels: values of y to mark across the chart, by name.
      ratios: whether equal ratios of x, all of them positive, have equal distances.
    """
    ends = [y + m for line in lines for y in line.y[-1:] for m in (-space, space)]
    bands: list[Mark] = []
    curves: list[Mark] = []
    for i, line in enumerate(lines):
        points = list(zip(line.x, line.y, strict=True))
        curves.append(Points(label="", points=points, series=i, hidden=True, title=line.title))
        if line.margins and len(lines) <= SERIES:
            bands.append(Band(points=points, margins=line.margins, series=i))
    panel = Plot(
        title="",
        x=Axis(
            label=x_label,
            logarithmic=ratios,
            within=() if ratios else (0.0,),
            space=0.0,
            grid=False,
        ),
        y=Axis(label=y_label, within=ends, space=0.04),
        marks=[*bands, *curves],
        height=244.0,
        width=400.0,
        y_levels={value: name for name, value in levels.items()},
    )
    return plot_chart(panel, label=label) + legend([line.label for line in lines])


def plot_chart(
    panel: Plot, *parts: Markup, label: str, style: str = "chart", **attributes: Attribute
) -> Markup:
    """Return one panel as an element of a page, which has its colours.

    Args:
      parts: more that it shows.
      label: what the chart shows, for screen readers.
      style: its class.
      attributes: of the element.
    """
    layout = _Layout.of(panel)
    left, width = layout.left, layout.left + panel.width + _GAP
    height = layout.top + panel.height + layout.bottom
    return tag(
        "svg",
        layout.draw(),
        *parts,
        class_=style,
        viewBox=" ".join(number(value) for value in (-left, -layout.top, width, height)),
        role="img",
        aria_label=label,
        **attributes,
    )


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


# -- bars -------------------------------------------------------------------------------------


def rating_bar(
    value: float, low: float, high: float, *, zero: float, extent: tuple[float, float], label: str
) -> Markup:
    """Return a rating as a bar from `zero` with its interval, for a cell of a table."""
    scale = Scale(*extent, 4, _WIDE - 4)
    start, end = sorted((scale(zero), scale(value)))
    return _row(
        label,
        "rating",
        _line(scale(zero), scale(zero), 0, _ROW, "zero"),
        tag("rect", class_="bar", x=start, y=4, width=end - start, height=12),
        _whisker(scale(low), scale(high), 5),
        tag("circle", class_="dot", cx=scale(value), cy=_MIDDLE, r=3),
    )


def box(quantiles: Sequence[float], *, extent: tuple[float, float], label: str) -> Markup:
    """Return five quantiles as whisker, box and middle, for a cell of a table."""
    scale = Scale(*extent, 4, _WIDE - 4)
    low, quarter, middle, three, high = map(scale, quantiles)
    return _row(
        label,
        "box",
        _whisker(low, high, 4),
        tag("rect", class_="body", x=quarter, y=3, width=max(three - quarter, 1.0), height=14),
        _line(middle, middle, 3, 17, "middle"),
    )


def _row(label: str, style: str, *parts: Markup, width: int = _WIDE) -> Markup:
    return tag(
        "svg",
        *parts,
        class_=style,
        viewBox=f"0 0 {width} {_ROW}",
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


def stacked_bar(counts: Mapping[str, tuple[int, Markup]], *, label: str) -> Markup:
    """Return counts as parts of one bar, with a legend.

    Args:
      counts: a number and its text in the legend, by name.
      label: what the chart shows, for screen readers.
    """
    total = sum(count for count, _ in counts.values())
    parts, items, left = [], [], 0.0
    for i, (name, (count, words)) in enumerate(counts.items()):
        width = _BAR * count / total
        bar = tag("rect", x=left, y=0, width=width, height=20)
        parts.append(tag("g", bar, class_=series_class(i)))
        sign = _swatch(tag("rect", class_="fill", width=34, height=12), i)
        items.append(tag("li", sign, f"{name} ", words))
        left += width
    return _row(label, "stack", *parts, width=_BAR) + tag("ul", *items, class_="legend")


def ratio_bar(llr: float, lower: float, upper: float) -> Markup:
    """Return a log-likelihood ratio between the bounds of a sequential test."""
    scale = Scale(lower - 0.4, upper + 0.4, 10, _BAR - 10)
    middle = number(min(_BAR - 24, max(24, scale(llr))), 1)  # where its text is whole
    start, end = (number(scale(value), 1) for value in (lower, upper))
    parts = [
        tag("path", class_="axis", d=f"M{start} 30H{end}"),
        tag("path", class_="zero", d=f"M{number(scale(0), 1)} 20V40"),
        *(tag("path", class_="axis", d=f"M{x} 16V44", stroke_width=2) for x in (start, end)),
        tag("g", tag("circle", class_="fill", cx=scale(llr), cy=30, r=6), class_="s0"),
        tag("text", f"H0 at {lower:.2f}", x=start, y=60, text_anchor="start", class_="dim"),
        tag("text", f"H1 at {upper:.2f}", x=end, y=60, text_anchor="end", class_="dim"),
        tag("text", f"{llr:.2f}", x=middle, y=12, text_anchor="middle"),
    ]
    return tag(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {_BAR} 66",
        role="img",
        aria_label=f"log-likelihood ratio {llr:.2f} between {lower:.2f} and {upper:.2f}",
        data_value=repr(float(llr)),
        data_key="llr",
    )
