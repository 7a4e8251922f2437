"""Figures: labels of axes keep clear of each other, marks are where their values are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from markupsafe import Markup
from tests.whole_texts import assert_expected

from miai.pages.charts import (
    Axis,
    Band,
    Bars,
    Diamonds,
    Mark,
    Plot,
    PlotLine,
    Points,
    Remark,
    box,
    figure,
    line_chart,
    percents,
    plain,
    rating_bar,
    ratio_bar,
    seconds,
    stacked_bar,
    times,
)


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("ends", [(0.9, 1.1), (0.004, 1.2), (0.02, 30), (1e-7, 1e6)])
def test_labels_of_ratios_keep_clear_of_each_other(up: bool, ends: tuple[float, float]) -> None:
    axis = Axis(logarithmic=True, text=times, within=(0.5, 2.0))
    low, high = axis.extent(ends)
    found = axis.ticks((low, high), 200.0, up=up)
    assert len(found) > 1
    assert found[1.0] == "1\N{MULTIPLICATION SIGN}"
    rooms = [12.0 if up else 6.0 * len(text) for text in found.values()]
    places = [200 * (axis.place(value) - low) / (high - low) for value in found]
    for (a, b), (one, other) in zip(pairwise(places), pairwise(rooms), strict=True):
        assert b - a > (one + other) / 2, found


def test_numbers_are_written_in_their_unit() -> None:
    assert [seconds(value) for value in (3e-7, 1e-4, 0.003, 20.0)] == [
        "300 ns",
        "100 \N{MICRO SIGN}s",
        "3 ms",
        "20 s",
    ]
    assert (plain(1_000_000), plain(2.5)) == ("1,000,000", "2.5")


def a_figure() -> str:
    """Return a figure with each kind of mark."""
    line = Points(label="a<b", points=[(0, 1), (1, 3)], y_spans=[(0, 2), (2, 4)], series=0)
    rings = [(0.0, 2.0), (1.0, 1.0)]
    steps = Points(label="steps", points=rings, series=9, line="steps", hollow=True, title="a ring")
    spread = Points(label="x", points=[(1, 1)], x_spans=[(0.5, 2)], series=None, line="none")
    thin = Points(label="", points=[(0, 0), (2, 4)], series=17, hidden=True)
    band = Band(points=[(0, 1), (1, 3)], margins=[0.5, 1], series=0)
    bars = Bars(label="bars", bars=[(0, 2.0, (1.5, 2.5)), (1, 0.5, (0.25, 1))])
    bad = Bars(label="bad", bars=[(2, 4.0, (3.0, 5.0))], bad=True)
    diamonds = Diamonds(label="limits", points=[(0, 2.25), (1, 0.75)])
    remarks = [Remark(text="beside", y=1, series=2), Remark(text="inside", y=0, x=2)]
    ratios = Axis(label="ratio", logarithmic=True, text=times, within=(0.5, 2))
    lines = Axis(names={0: "first", 1: "second", 2: "third"}, grid=False)
    games, elo, shares = Axis(label="games", whole=True), Axis(label="Elo"), Axis(text=percents)
    over: list[Mark] = [band, thin, line, steps, spread]
    lying: list[Mark] = [bars, bad, diamonds, *remarks]
    size: dict[str, Any] = {"room": 60, "downwards": True, "height": 80}
    one = Plot(title="one, below", x=games, y=elo, marks=over, y_levels={2: "level", 3: ""})
    two = Plot(title="two", x=ratios, y=lines, marks=lying, x_levels=[1], **size)
    three = Plot(title="three", x=shares, y=Axis(space=0), marks=[line], width=120)
    return figure("A title of a figure", [[one, two], [three]], note="A note of a few words. " * 8)


def drawn_charts() -> Iterator[str]:
    """Yield a figure, and each chart of a page."""
    yield a_figure()
    wide = Points(label="wide" * 99, points=[(0, 1), (1, 2)], series=0)
    yield figure("", [[Plot(title="", x=Axis(), y=Axis(), marks=[wide])]])
    one = PlotLine(Markup("<b>one</b>"), "one", [1, 10, 100], [0, 5, 4], [1, 2, 3])
    two = PlotLine(Markup("two"), "two", [1, 100], [2, 2])
    words = {"x_label": "games", "y_label": "Elo", "label": "Elo over games"}
    for curves, ratios in (([one, two], False), ([one, two] * 8, True)):
        yield line_chart(curves, **words, space=1.5, levels={"the best": 6}, ratios=ratios)
    yield rating_bar(-20, -35, 5, zero=0, extent=(-50, 50), label="rating")
    yield box([1, 2, 3, 5, 9], extent=(0, 10), label="quantiles")
    yield stacked_bar({"won": (3, Markup("3 <i>games</i>")), "lost": (1, Markup("1"))}, label="all")
    yield from (ratio_bar(llr, -2.94, 2.2) for llr in (0.5, -9))


def test_charts_are_drawn_as_they_were_looked_at() -> None:
    assert_expected("charts.html", "\n".join(drawn_charts()))
