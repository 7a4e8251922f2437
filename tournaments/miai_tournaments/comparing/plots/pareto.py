"""Nodes against errors: what an arm that errs buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from miai_tournaments.comparing.plots.axes import ratio_axis, set_title
from miai_tournaments.comparing.plots.cells import by_cell, shown
from miai_tournaments.comparing.plots.style import INK, MUTED, Look, legend_below, panels
from miai_tournaments.comparing.summary import Row
from miai_tournaments.comparing.tables import cell_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def pareto(rows: Sequence[Row], looks: Mapping[str, Look], *, baseline: str) -> Figure | None:
    """Return nodes against wrong values: each arm a point, the best of each price joined."""
    judged = [row for row in rows if row.judged and row.speedup_nodes is not None]
    chosen, left_out = shown(by_cell(judged))
    if not chosen:
        return None
    figure, axes = panels(len(chosen), f"What errors buy: nodes, those of '{baseline}' being 1")
    for axis, group in zip(axes, chosen, strict=True):
        points = [_point(axis, row, looks[row.arm]) for row in group]
        front = _front(points)
        axis.step(*zip(*front, strict=True), where="post", color=MUTED, linewidth=1.1, zorder=1)
        _axes(axis, group)
    note = "Lower and further left is better. Bars: Wilson, 95 %, where some are wrong."
    legend_below(figure, axes, note=note + left_out)
    return figure


def _point(axis: Axes, row: Row, look: Look) -> tuple[float, float]:
    """Draw an arm's point with its bar; return its nodes and the share of wrong values in %."""
    rate = row.wrong_value_rate
    assert row.speedup_nodes is not None
    assert rate is not None
    x, y = 1 / row.speedup_nodes.value, 100 * rate.value
    if row.wrong_values:
        ends = [100 * (rate.low or 0.0), 100 * (rate.high or 0.0)]
        axis.plot([x, x], ends, color=look.colour, linewidth=0.8, alpha=0.6)
    axis.plot(
        [x],
        [y],
        marker=look.marker,
        color=look.colour,
        markersize=7,
        linestyle="none",
        label=row.arm,
        markeredgecolor="white",
        markeredgewidth=0.6,
        clip_on=False,
        zorder=3,
    )
    return x, y


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other beats in both, by their nodes."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def _axes(axis: Axes, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import FuncFormatter

    set_title(axis, cell_title(rows[0]))
    axis.set_xscale("log")
    ratio_axis(axis.xaxis, least=0.5, most=1.5)
    axis.axvline(1, color=INK, linewidth=0.8, alpha=0.5)
    top = max(10.0, axis.get_ylim()[1])
    axis.set_ylim(-0.03 * top, top)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axis.set_xlabel("nodes")
    axis.set_ylabel("wrong values")
