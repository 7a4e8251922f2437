"""Speed-up against depth, against the size of the root's belief, and arm by arm as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from miai_tournaments.comparing.blocks import Block
from miai_tournaments.comparing.intervals import Interval
from miai_tournaments.comparing.plots.style import (
    INK,
    MOST_PANELS,
    MUTED,
    RIGHT,
    WRONG,
    Look,
    legend_below,
    panels,
    ratio_axis,
)
from miai_tournaments.comparing.summary import Row, Searches, pairs_of, speedup
from miai_tournaments.comparing.tables import cell_title
from miai_tournaments.store.comparisons import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[Measured, Measured]
"""What the baseline and an arm took at one root."""

_BINS = 4
_LEAST_IN_BIN = 3


def against_depth(
    rows: Sequence[Row], looks: Mapping[str, Look], *, baseline: str
) -> Figure | None:
    """Return speed-ups in nodes against depth; None where no game was searched to two depths."""
    groups: dict[tuple[str, str, bool], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.game, row.kind, row.warm), []).append(row)
    deep = {k: g for k, g in groups.items() if len({row.depth for row in g}) > 1}
    shown = list(deep.items())[:MOST_PANELS]
    if not shown:
        return None
    figure, axes = panels(len(shown), f"Nodes spared against depth, '{baseline}' being 1")
    for axis, ((game, kind, warm), group) in zip(axes, shown, strict=True):
        _depth_panel(axis, group, looks, baseline)
        axis.set_title(f"{game}, {kind} roots" + ", warm" * warm)
    legend_below(figure, axes, note="Bars: 95 % of a bootstrap over roots.")
    return figure


def _depth_panel(axis: Axes, rows: Sequence[Row], looks: Mapping[str, Look], baseline: str) -> None:
    from matplotlib.ticker import MaxNLocator

    names = [name for name in looks if name != baseline]
    axis.axhline(1, color=MUTED, linewidth=1.2)
    for i, name in enumerate(names):
        found = [(r.depth, r.speedup_nodes) for r in rows if r.arm == name and r.speedup_nodes]
        if found:
            aside = 0.24 * (i / max(1, len(names) - 1) - 0.5)  # or their bars would hide each other
            _line(axis, [(x + aside, s) for x, s in found if s is not None], looks[name], name)
    axis.set_yscale("log")
    ratio_axis(axis.yaxis)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    depths = [row.depth for row in rows]
    axis.set_xlim(min(depths) - 0.3, max(depths) + 0.3)
    axis.set_xlabel("depth")
    axis.set_ylabel("speed-up in nodes")


def against_size(
    blocks: Sequence[Block], searches: Searches, looks: Mapping[str, Look], *, baseline: str
) -> Figure | None:
    """Return speed-ups in nodes against the states of the root; None where all are of one size.

    Of each game and class the greatest depth is shown. Roots are sorted by size and parted into
    at most four groups of equal number; dots are single roots.
    """
    deepest = {(b.game, b.kind, b.warm): b for b in sorted(blocks, key=lambda b: b.depth)}
    shown = []
    for block in blocks:
        pairs = {arm: pairs_of(block, arm, baseline, searches) for arm in block.arms}
        sizes = {own.size for found in pairs.values() for _, own in found}
        if block is deepest[block.game, block.kind, block.warm] and len(sizes) > 1:
            shown.append((block, pairs))
    shown = shown[:MOST_PANELS]
    if not shown:
        return None
    figure, axes = panels(len(shown), f"Nodes spared against set size, '{baseline}' being 1")
    for axis, (block, pairs) in zip(axes, shown, strict=True):
        axis.set_title(block.title)
        axis.axhline(1, color=MUTED, linewidth=1.2)
        for name in (name for name in looks if pairs.get(name) and name != baseline):
            ordered = sorted(pairs[name], key=lambda pair: pair[1].size)
            dots = [(own.size, base.nodes / max(1, own.nodes)) for base, own in ordered]
            colour = looks[name].colour
            axis.scatter([x for x, _ in dots], [y for _, y in dots], s=5, color=colour, alpha=0.25)
            groups = _parted(ordered)
            middles = [sum(own.size for _, own in group) / len(group) for group in groups]
            found = [speedup(group, "nodes", name=(*block.names, name)) for group in groups]
            points = [(x, s) for x, s in zip(middles, found, strict=True) if s is not None]
            _line(axis, points, looks[name], name)
        axis.set_xscale("log")
        axis.set_yscale("log")
        ratio_axis(axis.yaxis)
        _size_axis(axis)
        axis.set_xlabel("states of the root")
        axis.set_ylabel("speed-up in nodes")
    legend_below(
        figure,
        axes,
        note="Dots: single roots. Lines: groups of roots; bars: 95 % of a bootstrap, from five on.",
    )
    return figure


def ablation(rows: Sequence[Row], *, baseline: str) -> Figure | None:
    """Return bars: for each cell and arm the speed-up in nodes, and in wall time as a mark."""
    cells: dict[tuple[str, int, str, bool], list[Row]] = {}
    for row in rows:
        cells.setdefault(row.cell, []).append(row)
    shown = list(cells.values())[:MOST_PANELS]
    if not shown:
        return None
    most = max(len(group) for group in shown)
    figure, axes = panels(
        len(shown), f"Speed-up of each arm, '{baseline}' being 1", height=0.28 * most + 1.0
    )
    for number, (axis, group) in enumerate(zip(axes, shown, strict=True)):
        _bars(axis, group)
        axis.set_title(cell_title(group[0]))
        axis.set_yticks(range(len(group)), [row.arm for row in group])
        axis.tick_params(axis="y", length=0)
        if number % 3 and [r.arm for r in group] == [r.arm for r in shown[number - 1]]:
            axis.set_yticklabels([])
    legend_below(figure, axes, note="Whiskers: 95 % of a bootstrap over roots.")
    return figure


def _bars(axis: Axes, rows: Sequence[Row]) -> None:
    axis.set_xscale("log")
    for place, row in enumerate(rows):
        found, wall = row.speedup_nodes, row.speedup_seconds
        if found is None:
            axis.text(1, place, " incomplete", va="center", fontsize=8, color=MUTED)
            continue
        wrong = row.wrong_values > 0
        axis.barh(
            place,
            found.value - 1,
            left=1,
            height=0.68,
            color=WRONG if wrong else RIGHT,
            alpha=0.85,
            hatch="////" if wrong else None,
            edgecolor="white",
            label="nodes, some values wrong" if wrong else "nodes",
        )
        low, high = _ends(found)
        axis.plot([low, high], [place, place], color=INK, linewidth=1.1, solid_capstyle="butt")
        if wall is not None:
            axis.plot(
                [wall.value],
                [place],
                marker="D",
                markersize=4.5,
                color="white",
                markeredgecolor=INK,
                linestyle="none",
                label="wall time",
            )
        if wrong:
            end = max(high, 1.0 if wall is None else wall.value, 1.0)
            told = f"  {row.wrong_values}/{row.judged} wrong"
            axis.text(end, place, told, va="center", fontsize=7.5, color="#9A4300")
    axis.axvline(1, color=INK, linewidth=1.0)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")
    low, high = axis.get_xlim()
    axis.set_xlim(low, high * (1.9 if any(row.wrong_values for row in rows) else 1.1))
    ratio_axis(axis.xaxis)
    axis.tick_params(axis="x", labelsize=8)


def _line(axis: Axes, points: Sequence[tuple[float, Interval]], look: Look, label: str) -> None:
    values = [s.value for _, s in points]
    below = [s.value - _ends(s)[0] for _, s in points]
    above = [_ends(s)[1] - s.value for _, s in points]
    axis.errorbar(
        [x for x, _ in points],
        values,
        yerr=[below, above],
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        elinewidth=0.9,
        capsize=2,
        label=label,
        markeredgecolor="white",
        markeredgewidth=0.6,
    )


def _ends(found: Interval) -> tuple[float, float]:
    """Return the ends of an interval, the value itself where it has none."""
    low = found.value if found.low is None else min(found.low, found.value)
    high = found.value if found.high is None else max(found.high, found.value)
    return low, high


def _parted(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    """Return at most four groups of about equal number, three pairs in each at least."""
    count = max(1, min(_BINS, len(pairs) // _LEAST_IN_BIN))
    edges = [round(i * len(pairs) / count) for i in range(count + 1)]
    return [pairs[a:b] for a, b in pairwise(edges)]


def _size_axis(axis: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axis.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 3.0, 5.0)))
    axis.xaxis.set_major_formatter(ScalarFormatter())
    axis.xaxis.set_minor_formatter(NullFormatter())
