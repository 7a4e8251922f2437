"""What all plots share: colours that the colour-blind tell apart, panels, files that never vary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from miai.errors import StoreError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 24
"""Panels of one figure; what there is beyond them is in the files."""

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
"""Widths of letters, on average: of a figure's title, a note, a legend's entry; inches."""

_HANDLE = 0.7
"""The room of a line or bar in a legend and of what parts it from the next, inches."""

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
    count: int, title: str, *, width: float = 3.7, height: float = 3.1
) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, `COLUMNS` in a line.

    Args:
      width, height: of a panel, inches.
    """
    lines = [min(COLUMNS, count - first) for first in range(0, count, COLUMNS)]
    return panel_lines(lines, title, heights=[height] * len(lines), width=width)


def panel_lines(
    counts: Sequence[int], title: str, *, heights: Sequence[float], width: float = 3.7
) -> tuple[Figure, list[Axes]]:
    """Return a figure with lines of panels, of so many each, and the panels line by line.

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
