"""Plots of a comparison, drawn by matplotlib, which the extra ``miai[plots]`` brings.

Speed-ups in time and by arm, by depth and by size of the root; depth against time; nodes against
errors; errors against the hashes of a sketch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from miai_tournaments.compare.blocks import Arm, Block
from miai_tournaments.compare.config import Comparison
from miai_tournaments.compare.plot_style import (
    COLUMNS,
    INK,
    MOST_PANELS,
    MUTED,
    RIGHT,
    WRONG,
    Look,
    count_axis,
    legend_below,
    looks,
    panel_lines,
    panels,
    ratio_axis,
    save,
    set_title,
    styled,
)
from miai_tournaments.compare.results import Measurement
from miai_tournaments.compare.summary import Interval, Row, Searches, pairs_of, speedup, wilson
from miai_tournaments.compare.tables import cell_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


T = TypeVar("T")
Cell = tuple[str, int, str, bool]
"""Key of a cell: game, depth, class and whether searchers are warm."""


def by_cell(rows: Iterable[Row]) -> dict[Cell, list[Row]]:
    """Return the rows of each cell, in their order."""
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault(row.cell, []).append(row)
    return cells


def deepest(cells: Mapping[Cell, T]) -> dict[Cell, T]:
    """Return the deepest cell of each game, class and cache."""
    most: dict[tuple[str, str, bool], int] = {}
    for game, depth, kind, warm in cells:
        most[game, kind, warm] = max(depth, most.get((game, kind, warm), depth))
    return {cell: value for cell, value in cells.items() if most[cell[0], *cell[2:]] == cell[1]}


def shown(cells: Mapping[Cell, T], *, most: int = MOST_PANELS) -> tuple[list[T], str]:
    """Return the cells that get a panel, and a note on those left out.

    If there are more cells than panels, the deepest of each game, class and cache are shown.
    """
    if len(cells) <= most:
        return list(cells.values()), ""
    chosen = list(deepest(cells).values())[:most]
    return chosen, f" {len(chosen)} of {len(cells)} cells, the deepest; the tables have all."


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """Arms that differ in k alone.

    Attributes:
      label: name of the series.
      arms: names of the arms, by growing k.
    """

    label: str
    arms: tuple[str, ...]

    def of(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows of these arms; none unless all are present."""
        own = [row for row in rows if row.arm in self.arms]
        return own if len(own) == len(self.arms) else []


def against_k(rows: Sequence[Row], arms: Mapping[str, Arm]) -> Figure | None:
    """Return shares of wrong values and moves against k; None if arms do not differ in k.

    Arms that differ in k alone make a line, in the cells that all of them have searched. Lines
    without errors are named but not drawn, if another one has errors.
    """
    series, judged = series_of(arms), [row for row in rows if row.judged]
    drawn, never = _wrong_and_never(series, _rows_of(series, judged))
    cells = by_cell(_rows_of(drawn, judged))
    if not cells:
        return None
    together = list(chain.from_iterable(cells.values()))
    chosen, left_out = shown(cells, most=MOST_PANELS - 1)
    if len(cells) > 1:
        chosen = [together, *chosen]
    figure, axes = panels(len(chosen), "Errors against the hashes of a sketch")
    look = looks([one.label for one in drawn])
    for axis, group in zip(axes, chosen, strict=True):
        _panel(axis, group, drawn, look)
        set_title(axis, "all cells together" if group is together else cell_title(group[0]))
    names = ", ".join(one.label for one in never)
    exact = f" Never wrong, and not drawn: {names}." if never else ""
    legend_below(figure, axes, note="Bars: Wilson, 95 %." + exact + left_out)
    return figure


def _rows_of(series: Sequence[PlotSeries], rows: Sequence[Row]) -> list[Row]:
    """Return the rows of each series in the cells that all of its arms have searched."""
    cells = by_cell(rows).values()
    return [row for group in cells for one in series for row in one.of(group)]


def series_of(arms: Mapping[str, Arm]) -> list[PlotSeries]:
    """Return the arms that differ in k alone, those of one kind together."""
    alike: dict[str, list[Arm]] = {}
    for arm in arms.values():
        if arm.k is not None:
            alike.setdefault(arm.without_k(), []).append(arm)
    series: list[PlotSeries] = []
    for group in alike.values():
        if len({arm.k for arm in group}) > 1:
            names = tuple(arm.name for arm in sorted(group, key=lambda arm: arm.k or 0))
            label = _common_beginning(names)
            taken = {one.label for one in series}
            series.append(PlotSeries(label if label not in ("", *taken) else names[0], names))
    return series


def _wrong_and_never(
    series: Sequence[PlotSeries], rows: Sequence[Row]
) -> tuple[list[PlotSeries], list[PlotSeries]]:
    """Split the series that have rows into those to draw and those without errors.

    If no series has errors, all are drawn.
    """
    present = {row.arm for row in rows}
    wrong = {row.arm for row in rows if row.wrong_values or row.wrong_moves}
    there = [one for one in series if present.intersection(one.arms)]
    drawn = [one for one in there if wrong.intersection(one.arms)] or there
    return drawn, [one for one in there if one not in drawn]


def _panel(
    axis: Axes, rows: Sequence[Row], series: Sequence[PlotSeries], look: Mapping[str, Look]
) -> None:
    lines = 2 * len(series)
    spread = min(0.4, 0.1 * lines)  # octaves of k, or their bars would hide each other
    for i, one in enumerate(series):
        counts = _pooled([row for row in rows if row.arm in one.arms])
        if not counts:
            continue
        for moves in (False, True):
            aside = 2 ** (spread * ((2 * i + moves) / (lines - 1) - 0.5))
            _k_line(axis, counts, one.label, look[one.label], moves=moves, aside=aside)
    _k_axis(axis, sorted({row.k for row in rows if row.k is not None}))


def _k_line(
    axis: Axes,
    counts: Sequence[tuple[int, int, int, int]],
    label: str,
    look: Look,
    *,
    moves: bool,
    aside: float,
) -> None:
    shares = [wilson(c[2] if moves else c[1], c[3]) for c in counts]
    values = [0.0 if s is None else 100 * s.value for s in shares]
    ends = [(0.0, 0.0) if s is None else (s.low or 0.0, s.high or 0.0) for s in shares]
    axis.errorbar(
        [k * aside for k, *_ in counts],
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
        label=f"{label}: wrong moves" if moves else f"{label}: wrong values",
    )


def _common_beginning(names: Sequence[str]) -> str:
    """Return the common prefix of names before their k, such as ``sketches``."""
    first, last = min(names), max(names)
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    )
    return first[:same].rstrip("-_.+k0123456789")


def _pooled(rows: Sequence[Row]) -> list[tuple[int, int, int, int]]:
    """Return (k, wrong values, wrong moves, judged) by growing k."""
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
    """Return nodes against wrong values: a point for each arm, and the Pareto front."""
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
    """Return the Pareto front of points, by nodes."""
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


Pair = tuple[Measurement, Measurement]
"""The measurements of the baseline and an arm at one root."""

_BINS = 4
_LEAST_IN_BIN = 3


def against_depth(
    rows: Sequence[Row], looks: Mapping[str, Look], *, baseline: str
) -> Figure | None:
    """Return speed-ups in nodes against depth; None if no game was searched to two depths."""
    return _panels_of_depths(
        rows,
        lambda axis, group: _depth_panel(axis, group, looks, baseline),
        f"Nodes spared against depth, '{baseline}' being 1",
        note="Bars: 95 % of a bootstrap over roots.",
    )


def anytime(rows: Sequence[Row], looks: Mapping[str, Look]) -> Figure | None:
    """Return the depth reached against time; None if no game was searched to two depths.

    A search that deepens step by step reaches a depth after the mean times of all depths up to it.
    """
    return _panels_of_depths(
        rows,
        lambda axis, group: _anytime_panel(axis, group, looks),
        "Depth reached against time",
        note="Time of the searches of all depths up to this one, mean over roots, without setup. "
        "Bars: sums of the depths' 95 % intervals.",
    )


def _panels_of_depths(
    rows: Sequence[Row], draw: Callable[[Axes, list[Row]], None], title: str, *, note: str
) -> Figure | None:
    """Return a panel for each game, class and cache with several depths; None without any."""
    groups: dict[tuple[str, str, bool], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.game, row.kind, row.warm), []).append(row)
    deep = {k: g for k, g in groups.items() if len({row.depth for row in g}) > 1}
    chosen = list(deep.items())[:MOST_PANELS]
    if not chosen:
        return None
    figure, axes = panels(len(chosen), title)
    for axis, ((game, kind, warm), group) in zip(axes, chosen, strict=True):
        draw(axis, group)
        set_title(axis, f"{game}, {kind} roots" + ", warm" * warm)
    legend_below(figure, axes, note=note)
    return figure


def reached(rows: Sequence[Row]) -> list[tuple[int, Interval]]:
    """Return the depths of one arm's rows with the time to reach each, from the least depth on.

    The list ends before a depth at which a search was incomplete.
    """
    times: list[tuple[int, Interval]] = []
    total = low = high = 0.0
    for row in sorted(rows, key=lambda row: row.depth):
        if row.incomplete or row.mean_seconds is None:
            break
        total += row.mean_seconds.value
        ends = _ends(row.mean_seconds)
        low, high = low + ends[0], high + ends[1]
        times.append((row.depth, Interval(total, low, high)))
    return times


def _anytime_panel(axis: Axes, rows: Sequence[Row], looks: Mapping[str, Look]) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    for i, (name, look) in enumerate(looks.items()):
        points = reached([row for row in rows if row.arm == name])
        if not points:
            continue
        seconds = [time.value for _, time in points]
        aside = 0.24 * (i / max(1, len(looks) - 1) - 0.5)  # or equal lines would hide each other
        depths = [depth + aside for depth, _ in points]
        axis.plot(
            *(seconds, depths),
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            drawstyle="steps-post",
            label=name,
            markeredgecolor="white",
            markeredgewidth=0.6,
        )
        for depth, (_, time) in zip(depths, points, strict=True):
            axis.plot(_ends(time), [depth, depth], color=look.colour, linewidth=0.9)
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("time")
    axis.set_ylabel("depth")


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
    """Return speed-ups in nodes against the states of the root; None if all have one size.

    The greatest depth of each game and class is shown. Roots are sorted by size and split into at
    most four groups of equal number; dots are single roots.
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
    """Return the number of different sizes of roots."""
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


def in_time(rows: Sequence[Row], *, baseline: str) -> Figure | None:
    """Return a bar for each cell and arm: the speed-up in time; arms that lose are marked."""
    others = [row for row in rows if row.arm != baseline and row.speedup_seconds is not None]
    title = f"Speed-up in time, '{baseline}' being 1"
    note = "Time of the searches, without setup. Whiskers: 95 % of a bootstrap over roots."
    return _bar_panels(others, _time_bars, title, note=note)


def ablation(rows: Sequence[Row], *, baseline: str) -> Figure | None:
    """Return a bar for each cell and arm: the speed-up in nodes, with a mark for wall time."""
    title = f"Speed-up of each arm, '{baseline}' being 1"
    return _bar_panels(rows, _bars, title, note="Whiskers: 95 % of a bootstrap over roots.")


def _bar_panels(
    rows: Sequence[Row], draw: Callable[[Axes, Sequence[Row]], None], title: str, *, note: str
) -> Figure | None:
    """Return a panel for each cell, with a line for each arm; None without rows."""
    chosen, left_out = shown(by_cell(rows))
    if not chosen:
        return None
    lines = _lines(chosen)
    figure, axes = panel_lines(
        [len(line) for line in lines],
        title,
        heights=[0.26 * len(line[0]) + 1.0 for line in lines],
    )
    firsts = {id(line[0]) for line in lines}
    for axis, group in zip(axes, chosen, strict=True):
        axis.set_xscale("log")
        draw(axis, group)
        axis.axvline(1, color=INK, linewidth=1.0)
        axis.set_ylim(len(group) - 0.4, -0.6)
        axis.grid(visible=False, axis="y")
        ratio_axis(axis.xaxis)
        axis.tick_params(axis="x", labelsize=8)
        set_title(axis, cell_title(group[0]))
        names = [row.arm for row in group] if id(group) in firsts else [""] * len(group)
        axis.set_yticks(range(len(group)), names)
        axis.tick_params(axis="y", length=0)
    legend_below(figure, axes, note=note + left_out)
    return figure


def _time_bars(axis: Axes, rows: Sequence[Row]) -> None:
    for place, row in enumerate(rows):
        found = row.speedup_seconds
        assert found is not None
        slower = found.value < 1
        _bar(axis, place, found, bad=slower, label="slower" if slower else "faster")


def _bar(axis: Axes, place: int, found: Interval, *, bad: bool, label: str) -> None:
    """Draw a speed-up with its interval; a bad one is hatched."""
    axis.barh(
        place,
        found.value - 1,
        left=1,
        height=0.68,
        color=WRONG if bad else RIGHT,
        alpha=0.85,
        hatch="////" if bad else None,
        edgecolor="white",
        label=label,
    )
    axis.plot(_ends(found), [place, place], color=INK, linewidth=1.1, solid_capstyle="butt")


def _lines(groups: Sequence[list[Row]]) -> list[list[list[Row]]]:
    """Split the panels into lines with the same arms."""
    lines: list[list[list[Row]]] = []
    for group in groups:
        arms = [row.arm for row in group]
        if not lines or len(lines[-1]) == COLUMNS or arms != [r.arm for r in lines[-1][0]]:
            lines.append([])
        lines[-1].append(group)
    return lines


def _bars(axis: Axes, rows: Sequence[Row]) -> None:
    for place, row in enumerate(rows):
        found, wall = row.speedup_nodes, row.speedup_seconds
        if found is None:
            axis.text(1, place, " incomplete", va="center", fontsize=8, color=MUTED)
            continue
        wrong = row.wrong_values > 0
        label = "nodes, some values wrong" if wrong else "nodes"
        _bar(axis, place, found, bad=wrong, label=label)
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
            label = f"{row.wrong_values}/{row.judged} wrong"
            beside = axis.get_yaxis_transform()
            axis.text(
                1.01, place, label, va="center", fontsize=7.5, color="#9A4300", transform=beside
            )


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
    """Return at most four groups of about equal size, with at least three pairs each."""
    count = max(1, min(_BINS, len(pairs) // _LEAST_IN_BIN))
    edges = [round(i * len(pairs) / count) for i in range(count + 1)]
    return [pairs[a:b] for a, b in pairwise(edges)]


def why_not() -> str | None:
    """Return why nothing can be drawn, with the remedy; None if it can."""
    if find_spec("matplotlib") is None:
        return 'no plots without matplotlib; install it with: pip install "miai[plots]"'
    return None


def draw_all(
    folder: Path, comparison: Comparison, rows: Sequence[Row], searches: Searches
) -> list[str]:
    """Draw all plots as PNG and SVG, and return the names of the files.

    Plots without data are left out, such as errors against k if no two arms differ in k alone.

    Raises:
      StoreError: the files cannot be written.
    """
    base, look = comparison.baseline, looks(list(comparison.arms))
    plots: dict[str, Callable[[], Figure | None]] = {
        "speedup-in-time": lambda: in_time(rows, baseline=base),
        "anytime": lambda: anytime(rows, look),
        "speedup-by-depth": lambda: against_depth(rows, look, baseline=base),
        "speedup-by-size": lambda: against_size(comparison.blocks, searches, look, baseline=base),
        "error-by-k": lambda: against_k(rows, comparison.arms),
        "pareto": lambda: pareto(rows, look, baseline=base),
        "ablation": lambda: ablation(rows, baseline=base),
    }
    drawn: list[str] = []
    with styled():
        for name, draw in plots.items():
            if (figure := draw()) is not None:
                drawn += save(figure, folder, name)
    return drawn
