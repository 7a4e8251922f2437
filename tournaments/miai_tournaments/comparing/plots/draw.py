"""Draws every plot of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from miai_tournaments.comparing.load import Comparison
from miai_tournaments.comparing.plots import errors, pareto, speedups
from miai_tournaments.comparing.plots.style import looks, save, styled
from miai_tournaments.comparing.summary import Row, Searches

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def why_not() -> str | None:
    """Return why nothing can be drawn, and the remedy; None when it can."""
    if find_spec("matplotlib") is None:
        return 'no plots without matplotlib; install it with: pip install "miai[plots]"'
    return None


def draw_all(
    folder: Path, comparison: Comparison, rows: Sequence[Row], found: Searches
) -> list[str]:
    """Draw what there is to be drawn, each as PNG and SVG; return the names of the files.

    A plot with nothing to show is left out: speed-up against depth where nothing was searched to
    two depths, error against k where no two arms differ in k alone.

    Raises:
      StoreError: the files cannot be written.
    """
    base, look = comparison.baseline, looks(list(comparison.arms))
    plots: dict[str, Callable[[], Figure | None]] = {
        "speedup-by-depth": lambda: speedups.against_depth(rows, look, baseline=base),
        "speedup-by-size": lambda: speedups.against_size(
            comparison.blocks, found, look, baseline=base
        ),
        "error-by-k": lambda: errors.against_k(rows, comparison.arms),
        "pareto": lambda: pareto.pareto(rows, look, baseline=base),
        "ablation": lambda: speedups.ablation(rows, baseline=base),
    }
    drawn: list[str] = []
    with styled():
        for name, draw in plots.items():
            if (figure := draw()) is not None:
                drawn += save(figure, folder, name)
    return drawn
