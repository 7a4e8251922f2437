"""The style of all plots: colours for the colour-blind, panels, axes, and reproducible files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from miai.errors import StoreError
from miai.files import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_PANELS = 24
"""Maximum number of panels of a figure."""

COLUMNS = 3
"""Panels side by side."""

RIGHT = "#0072B2"
WRONG = "#D55E00"
MUTED = "#8A8A8A"
INK = "#222222"

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#000000")
_MARKERS = "osD^vPX<>*hp"
_LINES = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
_TITLE_LETTER, _NOTE_LETTER, _LETTER = 0.13, 0.068, 0.075
"""Average widths of letters in a figure's title, a note and a legend, in inches."""

_HANDLE = 0.7
"""Width of a line or bar in a legend and of its gap, in inches."""

_RC: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#BBBBBB",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.titlesize": 13,
    "figure.titleweight": "bold",
    "font.size": 9,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "svg.hashsalt": "miai",
    "text.color": INK,
    "text.parse_math": False,  # names of arms are texts
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True, slots=True)
class Look:
    """How an arm is drawn; the first 24 differ in colour or line."""

    colour: str
    marker: str
    line: Any


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Return the look of each arm, by its place among the names."""
    return {
        name: Look(
            _COLOURS[i % len(_COLOURS)],
            _MARKERS[i % len(_MARKERS)],
            _LINES[i // len(_COLOURS) % len(_LINES)],
        )
        for i, name in enumerate(names)
    }


@contextmanager
def styled() -> Iterator[None]:
    """Use the style of these plots within the block."""
    import matplotlib as mpl

    with mpl.rc_context(_RC):
        yield


def panels(
    count: int, title: str, *, width: float = 3.7, height: float = 3.1
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels, `COLUMNS` in a line.

    Args:
      width, height: of a panel, inches.
    """
    lines = [min(COLUMNS, count - first) for first in range(0, count, COLUMNS)]
    return panel_lines(lines, title, heights=[height] * len(lines), width=width)


def panel_lines(
    counts: Sequence[int], title: str, *, heights: Sequence[float], width: float = 3.7
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `counts` panels in its lines, and the panels line by line.

    Args:
      heights: of the lines, inches.
      width: of a panel, inches.
    """
    from matplotlib.figure import Figure

    columns = max(counts)
    size = (max(width * columns, 6.4), sum(heights) + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(fill(title, int(size[0] / _TITLE_LETTER)), x=0.01, ha="left")
    grid = figure.subplots(len(counts), columns, squeeze=False, height_ratios=list(heights))
    axes = []
    for line, count in zip(grid, counts, strict=True):
        axes += list(line[:count])
        for unused in line[count:]:
            unused.remove()
    return figure, axes


def legend_below(figure: Figure, axes: Sequence[Axes], *, note: str) -> None:
    """Put one legend for all panels below them, a note above its entries."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    width = figure.get_figwidth() - 0.2
    longest = max(map(len, handles), default=0)
    lines = -(-len(handles) // max(1, int(width / (_LETTER * longest + _HANDLE))))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower left",
        ncols=-(-len(handles) // max(1, lines)),
        title=fill(note, int(width / _NOTE_LETTER)),
        title_fontsize=8,
        alignment="left",
    )


def save(figure: Figure, folder: Path, name: str) -> list[str]:
    """Write a figure as PNG and SVG, reproducibly, and return the names of the files.

    Raises:
      StoreError: they cannot be written.
    """
    names = [f"{name}.png", f"{name}.svg"]
    with writing(folder, StoreError):
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / names[0], dpi=160, metadata={"Software": None})
        figure.savefig(folder / names[1], metadata={"Date": None, "Creator": None})
    return names


_LENGTH = {"x": 2.6, "y": 2.0}
"""Approximate lengths of a panel's axes, in inches."""

_AXIS_LETTER, _BETWEEN, _LINE = 0.08, 0.08, 0.17
"""Labels of axes: width of a letter, minimum distance sideways and between lines, in inches."""

_TITLE_LETTERS = 32

_RATIOS = ((1, 2, 5), (1, 3), (1,))
_COUNTS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))


def set_title(axis: Axes, cell: str) -> None:
    """Set a panel's title: its game, and the rest on a second line."""
    lines = cell.split(", ", 1)
    axis.set_title("\n".join(fill(line, _TITLE_LETTERS) for line in lines))


def ratio_axis(axis: Any, *, least: float = 0.5, most: float = 2.0) -> None:
    """Format an axis of ratios: logarithmic, with plain numbers and a minimum range."""
    low, high = axis.get_view_interval()
    low, high = min(low, least), max(high, most)
    _set_ticks(axis, low, high, _fitting(axis.axis_name, low, high, _RATIOS, _times))


def count_axis(axis: Any) -> None:
    """Format an axis of positive counts: logarithmic, with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    low, high = axis.get_view_interval()
    ticks = _fitting(axis.axis_name, max(low, 1.0), high, _COUNTS, _whole)
    if len(ticks) < 2:
        values = MaxNLocator(4, integer=True).tick_values(max(low, 1.0), high)
        ticks = {float(tick): _whole(tick) for tick in values if low <= tick <= high}
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
    """Return as many ticks as fit without overlapping labels, with their labels.

    Args:
      name: ``x`` or ``y``.
      digits: leading digits of ticks, densest first; if even the last are too dense, decades
        are skipped.
    """
    inches = _LENGTH[name] / math.log(high / low)
    for ticks in _ticks(low, high, digits):
        found = {tick: label(tick) for tick in ticks}
        rooms = [_LINE if name == "y" else _AXIS_LETTER * len(s) + _BETWEEN for s in found.values()]
        apart = [inches * math.log(b / a) for a, b in pairwise(found)]
        if all(d >= (a + b) / 2 for d, (a, b) in zip(apart, pairwise(rooms), strict=True)):
            break
    return found


def _ticks(low: float, high: float, digits: Sequence[Sequence[int]]) -> Iterator[list[float]]:
    """Yield sparser and sparser ticks between two ends."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for firsts in digits:
        ticks = [float(f"{first}e{decade}") for decade in decades for first in firsts]
        yield [tick for tick in ticks if low <= tick <= high]
    for stride in itertools.count(2):
        ticks = [float(f"1e{decade}") for decade in decades if decade % stride == 0]
        yield [tick for tick in ticks if low <= tick <= high]
