"""Figures: labels of axes keep clear of each other, marks are where their values are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from miai.pages.charts import (
    Axis,
    Bars,
    Plot,
    Points,
    figure,
    plain,
    seconds,
    times,
)

SVG = "{http://www.w3.org/2000/svg}"


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


def test_points_bars_and_texts_are_where_their_values_are() -> None:
    line = Points(label="a<b", points=[(0, 1), (1, 3)], y_spans=[(0, 2), (2, 4)], series=0)
    bars = Bars(label="bars", bars=[(0, 2.0, (1.5, 2.5))], bad=True)
    panels = [
        Plot(title="one, below", x=Axis(), y=Axis(), marks=[line]),
        Plot(title="two", x=Axis(logarithmic=True), y=Axis(), marks=[bars], downwards=True),
    ]
    root = ElementTree.fromstring(figure("Title", [panels], note="A note."))
    words = [node.text for node in root.iter(f"{SVG}text")]
    for text in ("Title", "one", "below", "two", "A note.", "a<b", "bars"):
        assert words.count(text) == 1, words
    first, second = (
        [float(part) for part in node.attrib["transform"][10:-1].split()]
        for node in root.iter(f"{SVG}path")
        if node.attrib.get("class") == "point"
        and float(node.attrib["transform"][10:].split()[0]) != 13
    )
    assert first[0] < second[0]
    assert first[1] > second[1], "greater values of y are higher"
    spans = [node.attrib for node in root.iter(f"{SVG}line") if node.attrib["class"] == "span"]
    assert (float(spans[0]["x1"]), float(spans[1]["x2"])) == pytest.approx(
        (first[0], second[0]), abs=0.1
    )
    assert float(spans[0]["y1"]) > first[1] > float(spans[0]["y2"])
    hatched = [node for node in root.iter(f"{SVG}rect") if node.attrib.get("fill") == "url(#hatch)"]
    assert len(hatched) == 2, "a bad bar and its sign in the legend are hatched"
