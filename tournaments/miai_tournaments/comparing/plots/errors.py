"""Errors against k, the hashes of a sketch, with the line of the theory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from miai_tournaments.comparing.blocks import Arm
from miai_tournaments.comparing.intervals import wilson
from miai_tournaments.comparing.plots.axes import set_title
from miai_tournaments.comparing.plots.cells import by_cell, shown
from miai_tournaments.comparing.plots.style import MOST_PANELS, Look, legend_below, looks, panels
from miai_tournaments.comparing.summary import Row
from miai_tournaments.comparing.tables import cell_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Counts = tuple[int, int, int]
"""A sketch's k, the wrong values, and the roots that were judged."""

_LEAST_F, _MOST_F = 1e-5, 0.999
_NOTE = (
    "Bars: Wilson, 95 %. Dotted: (1 - f)^k of the theory, f being the share that fits the wrong "
    "values of the panel best."
)


@dataclass(frozen=True, slots=True)
class Series:
    """Arms that differ in k alone.

    Attributes:
      label: what they are called.
      arms: their names, the least k first.
      theory: whether the theory says how their errors fall with k.
    """

    label: str
    arms: tuple[str, ...]
    theory: bool

    def of(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows of these arms, or none unless all of them are there."""
        own = [row for row in rows if row.arm in self.arms]
        return own if len(own) == len(self.arms) else []


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


def against_k(rows: Sequence[Row], arms: Mapping[str, Arm]) -> Figure | None:
    """Return shares of wrong values and moves against k; None where arms do not differ in k.

    Arms that differ in k alone make a line, in the cells that all of them have searched. Lines
    that were never wrong are named and not drawn, if another one was.

    The dotted line is (1 - f)^k, the greatest probability of the theory that one comparison of
    sketches takes a set for a subset of which the share f is missing. What is compared in a search
    is not known from outside, so f is fitted: the share for which the line explains the wrong
    values best. A search makes many comparisons, of which few decide; the line shows how errors
    should fall with k, and is no bound of theirs. Arms with a threshold have none: what it lets
    through is wrong however many hashes there are.
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
    told = f" Never wrong, and not drawn: {', '.join(one.label for one in never)}." if never else ""
    legend_below(figure, axes, note=_NOTE + told + left_out)
    return figure


def _rows_of(series: Sequence[Series], rows: Sequence[Row]) -> list[Row]:
    """Return the rows of each series in the cells that all of its arms have searched."""
    cells = by_cell(rows).values()
    return [row for group in cells for one in series for row in one.of(group)]


def series_of(arms: Mapping[str, Arm]) -> list[Series]:
    """Return the arms that differ in k alone, those of one kind together."""
    alike: dict[str, list[Arm]] = {}
    for arm in arms.values():
        if arm.k is not None:
            alike.setdefault(arm.without_k(), []).append(arm)
    series: list[Series] = []
    for group in alike.values():
        if len({arm.k for arm in group}) > 1:
            names = tuple(arm.name for arm in sorted(group, key=lambda arm: arm.k or 0))
            theory = "threshold" not in group[0].parameters.get("bounds_parameters", {})
            label = _common_beginning(names)
            taken = {one.label for one in series}
            series.append(Series(label if label not in ("", *taken) else names[0], names, theory))
    return series


def _wrong_and_never(
    series: Sequence[Series], rows: Sequence[Row]
) -> tuple[list[Series], list[Series]]:
    """Part the series that have rows into those to be drawn and those that were never wrong.

    If none was wrong, all are drawn.
    """
    present = {row.arm for row in rows}
    wrong = {row.arm for row in rows if row.wrong_values or row.wrong_moves}
    there = [one for one in series if present.intersection(one.arms)]
    drawn = [one for one in there if wrong.intersection(one.arms)] or there
    return drawn, [one for one in there if one not in drawn]


def _panel(
    axis: Axes, rows: Sequence[Row], series: Sequence[Series], look: Mapping[str, Look]
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
        if one.theory:
            _theory(axis, [(k, wrong, judged) for k, wrong, _, judged in counts], look[one.label])
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
