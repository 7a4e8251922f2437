"""Speed-up against depth, against the size of the root's belief, and arm by arm as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from miai_tournaments.comparing.blocks import Block
from miai_tournaments.comparing.intervals import Interval
from miai_tournaments.comparing.plots.axes import count_axis, ratio_axis, set_title
from miai_tournaments.comparing.plots.cells import by_cell, deepest, shown
from miai_tournaments.comparing.plots.style import (
    COLUMNS,
    INK,
    MOST_PANELS,
    MUTED,
    RIGHT,
    WRONG,
    Look,
    legend_below,
    panel_lines,
    panels,
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
    chosen = list(deep.items())[:MOST_PANELS]
    if not chosen:
        return None
    figure, axes = panels(len(chosen), f"Nodes spared against depth, '{baseline}' being 1")
    for axis, ((game, kind, warm), group) in zip(axes, chosen, strict=True):
        _depth_panel(axis, group, looks, baseline)
        set_title(axis, f"{game}, {kind} roots" + ", warm" * warm)
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
    cells = deepest({block.cell: block for block in blocks})
    found = [
        (b, {arm: pairs_of(b, arm, baseline, searches) for arm in b.arms}) for b in cells.values()
    ]
    chosen = [(block, pairs) for block, pairs in found if _sizes(pairs) > 1][:MOST_PANELS]
    if not chosen:
        return None
    figure, axes = panels(len(chosen), f"Nodes spared against set size, '{baseline}' being 1")
    for axis, (block, pairs) in zip(axes, chosen, strict=True):
        set_title(axis, block.title)
        axis.axhline(1, color=MUTED, linewidth=1.2)
        for name in (name for name in looks if pairs.get(name) and name != baseline):
            _size_line(axis, block, pairs[name], looks[name], name)
        axis.set_xscale("log")
        axis.set_yscale("log")
        count_axis(axis.xaxis)
        ratio_axis(axis.yaxis)
        axis.set_xlabel("states of the root")
        axis.set_ylabel("speed-up in nodes")
    note = (
        "Dots: single roots. Lines: groups of roots. Bars: 95 % of a bootstrap, of groups of five "
        "roots or more."
    )
    legend_below(figure, axes, note=note)
    return figure


def _sizes(pairs: Mapping[str, Sequence[Pair]]) -> int:
    """Return how many sizes the roots have."""
    return len({own.size for found in pairs.values() for _, own in found})


def _size_line(axis: Axes, block: Block, pairs: Sequence[Pair], look: Look, name: str) -> None:
    """Draw a dot for each root, and a line through groups of roots."""
    ordered = sorted(pairs, key=lambda pair: pair[1].size)
    dots = [(own.size, base.nodes / max(1, own.nodes)) for base, own in ordered]
    axis.scatter([x for x, _ in dots], [y for _, y in dots], s=5, color=look.colour, alpha=0.25)
    groups = _parted(ordered)
    middles = [sum(own.size for _, own in group) / len(group) for group in groups]
    found = [speedup(group, "nodes", name=(*block.names, name)) for group in groups]
    points = [(x, s) for x, s in zip(middles, found, strict=True) if s is not None]
    _line(axis, points, look, name)


def ablation(rows: Sequence[Row], *, baseline: str) -> Figure | None:
    """Return bars: for each cell and arm the speed-up in nodes, and in wall time as a mark."""
    chosen, left_out = shown(by_cell(rows))
    if not chosen:
        return None
    lines = _lines(chosen)
    figure, axes = panel_lines(
        [len(line) for line in lines],
        f"Speed-up of each arm, '{baseline}' being 1",
        heights=[0.26 * len(line[0]) + 1.0 for line in lines],
    )
    firsts = {id(line[0]) for line in lines}
    for axis, group in zip(axes, chosen, strict=True):
        _bars(axis, group)
        set_title(axis, cell_title(group[0]))
        names = [row.arm for row in group] if id(group) in firsts else [""] * len(group)
        axis.set_yticks(range(len(group)), names)
        axis.tick_params(axis="y", length=0)
    legend_below(figure, axes, note=f"Whiskers: 95 % of a bootstrap over roots.{left_out}")
    return figure


def _lines(groups: Sequence[list[Row]]) -> list[list[list[Row]]]:
    """Part the panels into lines, those of a line having the same arms."""
    lines: list[list[list[Row]]] = []
    for group in groups:
        arms = [row.arm for row in group]
        if not lines or len(lines[-1]) == COLUMNS or arms != [r.arm for r in lines[-1][0]]:
            lines.append([])
        lines[-1].append(group)
    return lines


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
            told = f"{row.wrong_values}/{row.judged} wrong"
            beside = axis.get_yaxis_transform()
            axis.text(
                1.01, place, told, va="center", fontsize=7.5, color="#9A4300", transform=beside
            )
    axis.axvline(1, color=INK, linewidth=1.0)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")
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
