"""What all plots share: colours that the colour-blind tell apart, panels, files that never vary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.errors import StoreError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 24
"""Panels of one figure; what there is beyond them is in the files."""

RIGHT = "#0072B2"
WRONG = "#D55E00"
MUTED = "#8A8A8A"
INK = "#222222"

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#000000")
_MARKERS = "osD^vPX<>*hp"
_LINES = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
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
    """How an arm is drawn in every plot: no two of the first 24 alike in colour and line."""

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
    """Draw in the style of these plots within the block, and leave matplotlib as it was."""
    import matplotlib as mpl

    with mpl.rc_context(_RC):
        yield


def panels(
    count: int, title: str, *, width: float = 3.7, height: float = 3.0, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, three in a row at most.

    Args:
      width, height: of a panel, inches.
      share: whether the panels of a row share their vertical axis.
    """
    from matplotlib.figure import Figure

    columns = min(3, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(max(width * columns, 6.4), height * rows + 0.9), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left")
    grid = figure.subplots(rows, columns, squeeze=False, sharey="row" if share else False)
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def legend_below(figure: Figure, axes: Sequence[Axes], *, note: str) -> None:
    """Put one legend for all panels below them, a note above its entries."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower left",
        ncols=max(1, int(figure.get_figwidth() // 2.1)),
        title=note,
        title_fontsize=8,
        alignment="left",
    )


def ratio_axis(axis: Any, *, least: float = 0.5, most: float = 2.0) -> None:
    """Make an axis of ratios: logarithmic, with plain numbers and at least the given range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}\N{MULTIPLICATION SIGN}"))
    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_view_interval()
    axis.set_view_interval(min(low, least), max(high, most), ignore=True)


def save(figure: Figure, folder: Path, name: str) -> list[str]:
    """Write a figure as PNG and SVG, the same bytes for the same figure; return their names.

    Raises:
      StoreError: they cannot be written.
    """
    names = [f"{name}.png", f"{name}.svg"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / names[0], dpi=160, metadata={"Software": None})
        figure.savefig(folder / names[1], metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from error
    return names
