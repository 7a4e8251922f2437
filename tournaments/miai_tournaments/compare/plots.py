"""Plots of a comparison, as SVG files.

Speed-ups by arm; depth against time; nodes against errors; errors against the hashes of a sketch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os.path import commonprefix
from pathlib import Path
from typing import TypeVar

from miai.pages.charts import (
    COLUMNS,
    Axis,
    Bars,
    Diamonds,
    Mark,
    Plot,
    Points,
    Remark,
    figure,
    percents,
    seconds,
    times,
)
from miai_tournaments.compare.config import Comparison
from miai_tournaments.compare.output import cell_title
from miai_tournaments.compare.schema import Arm
from miai_tournaments.compare.summary import ArmRow, Interval, wilson
from miai_tournaments.store.export import write_whole

MOST_PANELS = 24
"""Maximum number of panels of a figure."""

T = TypeVar("T")
CellKey = tuple[str, int, str, bool]
"""Key of a cell: game, depth, class and whether searchers are warm."""


def by_cell(rows: Iterable[ArmRow]) -> dict[CellKey, list[ArmRow]]:
    """Return the rows of each cell, in their order."""
    cells: dict[CellKey, list[ArmRow]] = {}
    for row in rows:
        cells.setdefault(row.cell, []).append(row)
    return cells


def deepest(cells: Mapping[CellKey, T]) -> dict[CellKey, T]:
    """Return the deepest cell of each game, class and cache."""
    depths: dict[tuple[str, str, bool], int] = {}
    for game, depth, kind, warm in cells:
        depths[game, kind, warm] = max(depth, depths.get((game, kind, warm), depth))
    return {cell: value for cell, value in cells.items() if depths[cell[0], *cell[2:]] == cell[1]}


def shown(cells: Mapping[CellKey, T], *, limit: int = MOST_PANELS) -> tuple[list[T], str]:
    """Return the cells that get a panel, and a note on those left out.

    If there are more cells than panels, the deepest of each game, class and cache are shown.
    """
    if len(cells) <= limit:
        return list(cells.values()), ""
    chosen = list(deepest(cells).values())[:limit]
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

    def of(self, rows: Sequence[ArmRow]) -> list[ArmRow]:
        """Return the rows of these arms; none unless all are present."""
        own = [row for row in rows if row.arm in self.arms]
        return own if len(own) == len(self.arms) else []


def against_k(rows: Sequence[ArmRow], arms: Mapping[str, Arm]) -> str | None:
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
    chosen, left_out = shown(cells, limit=MOST_PANELS - 1)
    if len(cells) > 1:
        chosen = [together, *chosen]
    panels = [
        _k_panel("all cells together" if group is together else cell_title(group[0]), group, drawn)
        for group in chosen
    ]
    names = ", ".join(one.label for one in never)
    exact = f" Never wrong, and not drawn: {names}." if never else ""
    title = "Errors against the hashes of a sketch"
    return figure(title, _in_rows(panels), note="Bars: Wilson, 95 %." + exact + left_out)


def _in_rows(panels: Sequence[Plot]) -> list[Sequence[Plot]]:
    return [panels[i : i + COLUMNS] for i in range(0, len(panels), COLUMNS)]


def _rows_of(series: Sequence[PlotSeries], rows: Sequence[ArmRow]) -> list[ArmRow]:
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
            label = commonprefix(names).rstrip("-_.+k0123456789")  # noqa: RUF071 - no paths
            taken = {one.label for one in series}
            series.append(PlotSeries(label if label not in ("", *taken) else names[0], names))
    return series


def _wrong_and_never(
    series: Sequence[PlotSeries], rows: Sequence[ArmRow]
) -> tuple[list[PlotSeries], list[PlotSeries]]:
    """Split the series that have rows into those to draw and those without errors.

    If no series has errors, all are drawn.
    """
    present = {row.arm for row in rows}
    wrong = {row.arm for row in rows if row.wrong_values or row.wrong_moves}
    there = [one for one in series if present.intersection(one.arms)]
    drawn = [one for one in there if wrong.intersection(one.arms)] or there
    return drawn, [one for one in there if one not in drawn]


def _k_panel(title: str, rows: Sequence[ArmRow], series: Sequence[PlotSeries]) -> Plot:
    lines = 2 * len(series)
    spread = min(0.4, 0.1 * lines)  # octaves of k, or their bars would hide each other
    marks: list[Mark] = []
    for i, one in enumerate(series):
        counts = _pooled([row for row in rows if row.arm in one.arms])
        if not counts:
            continue
        for moves in (False, True):
            aside = 2 ** (spread * ((2 * i + moves) / (lines - 1) - 0.5))
            marks.append(_k_line(counts, one.label, i, moves=moves, aside=aside))
    ks = sorted({row.k for row in rows if row.k is not None})
    return Plot(
        title=title,
        x=Axis(label="k, hashes of a sketch", logarithmic=True, names={k: str(k) for k in ks}),
        y=Axis(label="wrong of the roots", text=percents, within=(0.0,)),
        marks=marks,
    )


def _k_line(
    counts: Sequence[tuple[int, int, int, int]],
    label: str,
    number: int,
    *,
    moves: bool,
    aside: float,
) -> Points:
    shares = [wilson(c[2] if moves else c[1], c[3]) for c in counts]
    return Points(
        label=f"{label}: wrong moves" if moves else f"{label}: wrong values",
        points=[
            (k * aside, 0.0 if share is None else 100 * share.value)
            for (k, *_), share in zip(counts, shares, strict=True)
        ],
        y_spans=[
            (0.0, 0.0) if s is None else (100 * (s.low or 0.0), 100 * (s.high or 0.0))
            for s in shares
        ],
        series=number,
        hollow=moves,
    )


def _pooled(rows: Sequence[ArmRow]) -> list[tuple[int, int, int, int]]:
    """Return (k, wrong values, wrong moves, judged) by growing k."""
    counts: dict[int, list[int]] = {}
    for row in rows:
        if row.k is not None:
            sums = counts.setdefault(row.k, [0, 0, 0])
            for i, value in enumerate((row.wrong_values, row.wrong_moves, row.judged)):
                sums[i] += value
    return [(k, sums[0], sums[1], sums[2]) for k, sums in sorted(counts.items())]


def pareto(rows: Sequence[ArmRow], arms: Sequence[str], *, baseline: str) -> str | None:
    """Return nodes against wrong values: a point for each arm, and the Pareto front."""
    judged = [row for row in rows if row.judged and row.speedup_nodes is not None]
    chosen, left_out = shown(by_cell(judged))
    if not chosen:
        return None
    panels = []
    for group in chosen:
        points = [_arm_point(row, arms.index(row.arm)) for row in group]
        front = _front([point.points[0] for point in points])
        line = Points(label="", points=front, series=None, line="steps", hidden=True)
        panels.append(
            Plot(
                title=cell_title(group[0]),
                x=Axis(label="nodes", logarithmic=True, text=times, within=(0.5, 1.5)),
                y=Axis(label="wrong values", text=percents, within=(0.0, 10.0)),
                marks=[line, *points],
                x_levels=(1.0,),
            )
        )
    note = "Lower and further left is better. Bars: Wilson, 95 %, where some are wrong."
    title = f"What errors buy: nodes, those of '{baseline}' being 1"
    return figure(title, _in_rows(panels), note=note + left_out)


def _arm_point(row: ArmRow, number: int) -> Points:
    """Return an arm's nodes and its share of wrong values in %."""
    rate = row.wrong_value_rate
    assert row.speedup_nodes is not None
    assert rate is not None
    span = (100 * (rate.low or 0.0), 100 * (rate.high or 0.0))
    return Points(
        label=row.arm,
        points=[(1 / row.speedup_nodes.value, 100 * rate.value)],
        y_spans=[span] if row.wrong_values else (),
        series=number,
        line="none",
    )


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the Pareto front of points, by nodes."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def anytime(rows: Sequence[ArmRow], arms: Sequence[str]) -> str | None:
    """Return the depth reached against time; None if no game was searched to two depths.

    A search that deepens step by step reaches a depth after the mean times of all depths up to it.
    """
    groups: dict[tuple[str, str, bool], list[ArmRow]] = {}
    for row in rows:
        groups.setdefault((row.game, row.kind, row.warm), []).append(row)
    panels = [
        _anytime_panel(f"{game}, {kind} roots" + ", warm" * warm, group, arms)
        for (game, kind, warm), group in groups.items()
        if len({row.depth for row in group}) > 1
    ]
    if not panels:
        return None
    note = (
        "Time of the searches of all depths up to this one, mean over roots, without setup. "
        "Bars: sums of the depths' 95 % intervals."
    )
    return figure("Depth reached against time", _in_rows(panels[:MOST_PANELS]), note=note)


def reached(rows: Sequence[ArmRow]) -> list[tuple[int, Interval]]:
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


def _anytime_panel(title: str, rows: Sequence[ArmRow], arms: Sequence[str]) -> Plot:
    marks = []
    for i, name in enumerate(arms):
        points = reached([row for row in rows if row.arm == name])
        # Each series stands aside of its depth, or equal lines would hide each other.
        aside = 0.24 * (i / max(1, len(arms) - 1) - 0.5)
        if points:
            marks.append(
                Points(
                    label=name,
                    points=[(time.value, depth + aside) for depth, time in points],
                    x_spans=[_ends(time) for _, time in points],
                    series=i,
                    line="steps",
                )
            )
    return Plot(
        title=title,
        x=Axis(label="time", logarithmic=True, text=seconds),
        y=Axis(label="depth", whole=True),
        marks=marks,
    )


def ablation(rows: Sequence[ArmRow], *, baseline: str) -> str | None:
    """Return a bar for each cell and arm: the speed-up in nodes, with a mark for wall time."""
    chosen, left_out = shown(by_cell(rows))
    if not chosen:
        return None
    lines = [
        [_bar_panel(group, named=i == 0) for i, group in enumerate(line)] for line in _lines(chosen)
    ]
    title = f"Speed-up of each arm, '{baseline}' being 1"
    return figure(title, lines, note="Whiskers: 95 % of a bootstrap over roots." + left_out)


def _bar_panel(rows: Sequence[ArmRow], *, named: bool) -> Plot:
    marks = _ablation_bars(rows)
    return Plot(
        title=cell_title(rows[0]),
        x=Axis(logarithmic=True, text=times, within=(0.5, 2.0), space=0.04),
        y=Axis(
            names={float(i): row.arm if named else "" for i, row in enumerate(rows)},
            within=(-0.5, len(rows) - 0.5),
            space=0.0,
            grid=False,
        ),
        marks=marks,
        height=24.0 * len(rows),
        x_levels=(1.0,),
        room=66.0 if any(isinstance(mark, Remark) and mark.x is None for mark in marks) else 0.0,
        downwards=True,
    )


def _bars(found: Sequence[tuple[int, Interval]], label: str, *, bad: bool = False) -> list[Mark]:
    """Return speed-ups with their intervals; bad ones are hatched."""
    bars = [(place, s.value, _ends(s)) for place, s in found]
    return [Bars(label=label, bars=bars, bad=bad)] if bars else []


def _lines(groups: Sequence[list[ArmRow]]) -> list[list[list[ArmRow]]]:
    """Split the panels into lines with the same arms."""
    lines: list[list[list[ArmRow]]] = []
    for group in groups:
        arms = [row.arm for row in group]
        if not lines or len(lines[-1]) == COLUMNS or arms != [r.arm for r in lines[-1][0]]:
            lines.append([])
        lines[-1].append(group)
    return lines


def _ablation_bars(rows: Sequence[ArmRow]) -> list[Mark]:
    bars: dict[bool, list[tuple[int, Interval]]] = {False: [], True: []}
    walls: list[tuple[int, float]] = []
    remarks: list[Mark] = []
    for place, row in enumerate(rows):
        if row.speedup_nodes is None:
            remarks.append(Remark(text="incomplete", x=1.05, y=place))
            continue
        wrong = row.wrong_values > 0
        bars[wrong].append((place, row.speedup_nodes))
        if row.speedup_seconds is not None:
            walls.append((place, row.speedup_seconds.value))
        if wrong:
            remarks.append(Remark(text=f"{row.wrong_values}/{row.judged} wrong", y=place, series=1))
    return [
        *_bars(bars[False], "nodes"),
        *_bars(bars[True], "nodes, some values wrong", bad=True),
        *([Diamonds(label="wall time", points=walls)] if walls else []),
        *remarks,
    ]


def _ends(found: Interval) -> tuple[float, float]:
    """Return the ends of an interval, the value itself where it has none."""
    low = found.value if found.low is None else min(found.low, found.value)
    high = found.value if found.high is None else max(found.high, found.value)
    return low, high


def draw_all(folder: Path, comparison: Comparison, rows: Sequence[ArmRow]) -> list[str]:
    """Write all plots, and return the names of the files.

    Plots without data are left out, such as errors against k if no two arms differ in k alone.

    Raises:
      StoreError: the files cannot be written.
    """
    base, arms = comparison.baseline, list(comparison.arms)
    plots = {
        "anytime": anytime(rows, arms),
        "error-by-k": against_k(rows, comparison.arms),
        "pareto": pareto(rows, arms, baseline=base),
        "ablation": ablation(rows, baseline=base),
    }
    drawn = []
    for name, picture in plots.items():
        if picture is not None:
            write_whole(folder / f"{name}.svg", picture)
            drawn.append(f"{name}.svg")
    return drawn
