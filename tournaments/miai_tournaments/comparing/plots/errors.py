"""Error against k with the line of the theory, and nodes against error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from miai_tournaments.comparing.blocks import Arm
from miai_tournaments.comparing.intervals import wilson
from miai_tournaments.comparing.plots.style import (
    INK,
    MOST_PANELS,
    MUTED,
    Look,
    legend_below,
    panels,
    ratio_axis,
)
from miai_tournaments.comparing.summary import Row
from miai_tournaments.comparing.tables import cell_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Counts = tuple[int, int, int]
"""A sketch's k, the wrong values, and the roots that were judged."""

_LEAST_F, _MOST_F = 1e-5, 0.999


def fitted_share(counts: Sequence[Counts]) -> float | None:
    """Return the f for which wrong values are likeliest, one root being wrong with (1 - f)^k.

    The binomial likelihood is unimodal in log f wherever some are wrong and some right; it is
    searched by golden sections. None where nothing is wrong: the line would be 0.
    """
    if not any(wrong for _, wrong, _ in counts):
        return None

    def unlikely(log_f: float) -> float:
        total = 0.0
        for k, wrong, judged in counts:
            rate = min(max((1 - math.exp(log_f)) ** k, 1e-12), 1 - 1e-12)
            total -= wrong * math.log(rate) + (judged - wrong) * math.log(1 - rate)
        return total

    low, high = math.log(_LEAST_F), math.log(_MOST_F)
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        one, other = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, other) if unlikely(one) < unlikely(other) else (one, high)
    return math.exp((low + high) / 2)


def against_k(
    rows: Sequence[Row], arms: Mapping[str, Arm], looks: Mapping[str, Look]
) -> Figure | None:
    """Return shares of wrong values and moves against k; None where arms do not differ in k.

    The dotted line is (1 - f)^k, the greatest probability of the theory that one comparison of
    sketches takes a set for a subset of which the share f is missing. What is compared in a search
    is not known from outside, so f is fitted: the share for which the line explains the wrong
    values best. A search makes many comparisons, of which few decide; the line shows how errors
    should fall with k, and is no bound of theirs.
    """
    series: dict[str, list[str]] = {}
    for arm in arms.values():
        if arm.k is not None:
            series.setdefault(arm.without_k(), []).append(arm.name)
    chosen = [names for names in series.values() if len({arms[n].k for n in names}) > 1]
    cells: dict[str, list[Row]] = {}
    for row in rows:
        if any(row.arm in names for names in chosen) and row.judged:
            cells.setdefault(cell_title(row), []).append(row)
    if not cells:
        return None
    if len(cells) > 1:
        cells = {"all cells together": [row for group in cells.values() for row in group], **cells}
    shown = list(cells.items())[:MOST_PANELS]
    figure, axes = panels(len(shown), "Errors against the hashes of a sketch")
    for axis, (title, group) in zip(axes, shown, strict=True):
        for names in chosen:
            _k_series(axis, [row for row in group if row.arm in names], names, looks)
        _k_axis(axis, sorted({row.k for row in group if row.k is not None}))
        axis.set_title(title)
    note = (
        "Bars: Wilson, 95 %. Dotted: (1 - f)^k of the theory, f being the share that fits the "
        "wrong values of the panel best."
    )
    legend_below(figure, axes, note=note)
    return figure


def _k_series(
    axis: Axes, rows: Sequence[Row], names: Sequence[str], looks: Mapping[str, Look]
) -> None:
    counts = _pooled(rows)
    if not counts:
        return
    look = looks[names[0]]
    label = _common_beginning(names) or names[0]
    for moves, name in ((False, f"{label}: wrong values"), (True, f"{label}: wrong moves")):
        ks = [k for k, *_ in counts]
        shares = [wilson(c[2] if moves else c[1], c[3]) for c in counts]
        values = [0.0 if s is None else 100 * s.value for s in shares]
        ends = [(0.0, 0.0) if s is None else (s.low or 0.0, s.high or 0.0) for s in shares]
        axis.errorbar(
            [k * (1.06 if moves else 1 / 1.06) for k in ks],
            values,
            yerr=[
                [max(0.0, v - 100 * low) for v, (low, _) in zip(values, ends, strict=True)],
                [max(0.0, 100 * high - v) for v, (_, high) in zip(values, ends, strict=True)],
            ],
            color=look.colour,
            marker=look.marker,
            markerfacecolor="white" if moves else look.colour,
            linestyle=(0, (5, 2)) if moves else "-",
            alpha=0.75 if moves else 1.0,
            elinewidth=0.9,
            capsize=2,
            label=name,
        )
    _theory(axis, [(k, values, judged) for k, values, _, judged in counts], look)


def _theory(axis: Axes, counts: Sequence[Counts], look: Look) -> None:
    """Draw (1 - f)^k from the least k to the greatest, and say which f that is."""
    share = fitted_share(counts)
    if share is None:
        return
    first, last = counts[0][0], counts[-1][0]
    ks = [first * (last / first) ** (i / 60) for i in range(61)]
    shares = [100 * (1 - share) ** k for k in ks]
    axis.plot(ks, shares, color=look.colour, linestyle=":", linewidth=1.4)
    axis.text(
        0.97,
        0.95 - 0.09 * len(axis.texts),
        f"f = {share:.2g}",
        transform=axis.transAxes,
        ha="right",
        va="top",
        color=look.colour,
        fontsize=8.5,
    )


def _common_beginning(names: Sequence[str]) -> str:
    """Return what names begin with before their k: ``dominance`` of ``dominance-k4``, say."""
    first, last = min(names), max(names)
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    )
    return first[:same].rstrip("-_.+k0123456789")


def _pooled(rows: Sequence[Row]) -> list[tuple[int, int, int, int]]:
    """Return (k, wrong values, wrong moves, judged) for each k, the least first."""
    counts: dict[int, list[int]] = {}
    for row in rows:
        if row.k is not None:
            sums = counts.setdefault(row.k, [0, 0, 0])
            for i, value in enumerate((row.wrong_values, row.wrong_moves, row.judged)):
                sums[i] += value
    return [(k, sums[0], sums[1], sums[2]) for k, sums in sorted(counts.items())]


def _k_axis(axis: Axes, ks: Sequence[int]) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    axis.set_xscale("log", base=2)
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticks(ks, [str(k) for k in ks])
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axis.set_ylim(bottom=-1.5)
    axis.set_xlabel("k, hashes of a sketch")
    axis.set_ylabel("wrong of the roots")


def pareto(rows: Sequence[Row], looks: Mapping[str, Look], *, baseline: str) -> Figure | None:
    """Return nodes against wrong values: each arm a point, the best of each price joined."""
    cells: dict[tuple[str, int, str, bool], list[Row]] = {}
    for row in rows:
        if row.judged and row.speedup_nodes is not None:
            cells.setdefault(row.cell, []).append(row)
    shown = list(cells.values())[:MOST_PANELS]
    if not shown:
        return None
    figure, axes = panels(len(shown), f"What errors buy: nodes, those of '{baseline}' being 1")
    for axis, group in zip(axes, shown, strict=True):
        points = []
        for row in group:
            if row.speedup_nodes is None or (rate := row.wrong_value_rate) is None:
                continue
            x, y, look = 1 / row.speedup_nodes.value, 100 * rate.value, looks[row.arm]
            low, high = 100 * (rate.low or 0.0), 100 * (rate.high or 0.0)
            if row.wrong_values:
                axis.plot([x, x], [low, high], color=look.colour, linewidth=0.8, alpha=0.6)
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
            points.append((x, y))
        front = _front(points)
        axis.step(*zip(*front, strict=True), where="post", color=MUTED, linewidth=1.1, zorder=1)
        _pareto_axis(axis, group)
    note = "Lower and further left is better. Bars: Wilson, 95 %, where some are wrong."
    legend_below(figure, axes, note=note)
    return figure


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other beats in both, by their nodes."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def _pareto_axis(axis: Axes, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_title(cell_title(rows[0]))
    axis.set_xscale("log")
    ratio_axis(axis.xaxis, least=0.5, most=1.5)
    axis.axvline(1, color=INK, linewidth=0.8, alpha=0.5)
    top = max(10.0, axis.get_ylim()[1])
    axis.set_ylim(-0.03 * top, top)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axis.set_xlabel("nodes")
    axis.set_ylabel("wrong values")
