"""Plots: whole SVG documents, the same each time, that follow the reader's choice of colours."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from tests.comparing.comparisons import config_text
from tests.whole_texts import assert_expected

from miai_tournaments.compare.config import Comparison, load_comparison
from miai_tournaments.compare.output import verdict
from miai_tournaments.compare.plots import draw_all, reached, series_of, shown
from miai_tournaments.compare.schema import Arm
from miai_tournaments.compare.summary import ArmRow, Interval, ratio_of_sums, wilson

ARMS = ("table", "rough-8", "rough-2", "calm-1", "calm-2")


def row_of(arm: str, depth: int = 1, mean: float = 1.0, **more: Any) -> ArmRow:
    """Return a row with a mean time, and half and twice of it as the ends of its interval."""
    values: dict[str, Any] = dict.fromkeys(ArmRow.__slots__, 0)
    values |= {"game": "g", "depth": depth, "kind": "hard", "warm": False, "arm": arm}
    values |= {"k": int(arm[-1]) if arm[-1].isdigit() else None, "roots": 4, "judged": 4}
    values |= {"speedup_nodes": Interval(1.0), "speedup_seconds": None}
    values |= {"mean_seconds": Interval(mean, mean / 2, 2 * mean)}
    return ArmRow(**{**values, **more})


UNKNOWN: dict[str, Any] = {"incomplete": 1, "speedup_nodes": None}
ROWS = [
    row_of("table", mean=2.0, speedup_seconds=Interval(1.0)),
    row_of("rough-8", wrong_moves=2, speedup_nodes=Interval(2.0, 1.0)),
    replace(
        row_of("rough-2", wrong_values=1, wrong_moves=3, speedup_seconds=Interval(3.0)),
        speedup_nodes=Interval(4.0, 2.0, 8.0),
    ),
    row_of("calm-1", speedup_nodes=Interval(0.5)),
    row_of("calm-2", **UNKNOWN),
    row_of("table", 3, 4.0),
    row_of("rough-8", 3, 6.0, wrong_values=2, speedup_nodes=Interval(5.0)),
    row_of("rough-2", 3, 8.0, wrong_values=4, wrong_moves=4, speedup_nodes=Interval(5.0)),
    row_of("calm-1", 2, **UNKNOWN, judged=0),
    row_of("calm-1", game="h", warm=True),
]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A comparison with these arms: a baseline, and two pairs that differ in k alone."""
    path = tmp_path_factory.mktemp("plots") / "x.toml"
    sketch = 'bounds = "minhash"\nbounds_parameters = {{ k = {}, verified = {} }}'
    arms = {name: sketch.format(name[-1], str(name < "d").lower()) for name in ARMS[1:]}
    path.write_text(config_text({"table": 'bounds = "table"', **arms}))
    return load_comparison(path)


def test_each_plot_is_a_picture_and_always_the_same(comparison: Comparison, tmp_path: Path) -> None:
    written = draw_all(tmp_path, comparison, ROWS)
    assert written == ["anytime.svg", "error-by-k.svg", "pareto.svg", "ablation.svg"]
    for name in written:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme: dark" in text
        assert "href=" not in text
        assert_expected(f"comparison/{name}", text)
    calm = [row_of(name) for name in ARMS[1:]]  # where none has errors, all are drawn
    names = draw_all(tmp_path / "calm", comparison, calm)
    assert names == ["error-by-k.svg", "pareto.svg", "ablation.svg"]
    assert_expected("comparison/no-errors.svg", (tmp_path / "calm" / names[0]).read_text())
    assert draw_all(tmp_path, comparison, [row_of("table")]) == ["pareto.svg", "ablation.svg"]
    assert draw_all(tmp_path, comparison, []) == []


def test_the_verdict_is_on_the_fastest_arm_that_is_right_in_the_deepest_cell() -> None:
    sure, unsure = Interval(3.0, 2.5, 3.5), Interval(0.9, 0.8, 1.2)
    rows = [row_of("calm-1", 1, speedup_seconds=Interval(9.0)), row_of("calm-2", 2)]
    assert verdict(rows[1:], "table").startswith("No arm has completed")
    rows += [row_of("table", 2, speedup_seconds=Interval(1.0))]
    rows += [row_of("rough-8", 2, wrong_values=1, speedup_seconds=Interval(8.0))]
    rows += [row_of("calm-1", 2, speedup_seconds=unsure), row_of("quick", 2, speedup_seconds=sure)]
    told = "g, depth 2, hard roots: 'quick' is 3.00 times as fast as 'table' (95 % 2.50-3.50), "
    assert (
        verdict(rows, "table") == f"{told}nodes \N{MULTIPLICATION SIGN} 1.00. Wrong values: 0 of 4."
    )
    assert "0.90 times as fast as 'table' (95 % 0.80-1.20, no clear" in verdict(rows[:-1], "table")


def test_series_are_named_by_what_their_arms_share() -> None:
    def arm(name: str, k: int, **more: Any) -> Arm:
        return Arm(name=name, search="s", parameters={"k": k, **more})

    arms = [arm("a-4", 4), arm("a-2", 2), arm("a-1", 1, x=1), arm("a-8", 8, x=1), arm("b", 2, x=2)]
    found = series_of({each.name: each for each in (*arms, arm("4", 4, x=3), arm("2", 2, x=3))})
    series = [("a", ("a-2", "a-4")), ("a-1", ("a-1", "a-8")), ("2", ("2", "4"))]
    assert [(one.label, one.arms) for one in found] == series
    assert [arm("a", k).k for k in (0, 1)] == [None, 1]


def test_of_too_many_cells_the_deepest_are_shown_and_a_note_says_so() -> None:
    cells = {(game, depth, "hard", False): (game, depth) for game in "ab" for depth in (1, 3, 2)}
    assert shown(cells, limit=6) == (list(cells.values()), "")
    note = " 2 of 6 cells, the deepest; the tables have all."
    assert shown(cells, limit=5) == ([("a", 3), ("b", 3)], note)


def test_a_depth_is_reached_after_the_times_of_all_depths_up_to_it() -> None:
    first, second = row_of("a", mean=2.0), row_of("a", 3, 5.0)
    assert reached([second, first]) == [(1, Interval(2.0, 1.0, 4.0)), (3, Interval(7.0, 3.5, 14.0))]
    one = [(1, Interval(2.0, 1.0, 4.0))]
    assert reached([first, row_of("a", 2, incomplete=1), second]) == one


@pytest.mark.parametrize("total", [1, 2, 7, 30, 1000])
def test_wilson_is_that_of_scipy(total: int) -> None:
    for count in {0, 1, total // 3, total - 1, total}:
        expected = scipy.stats.binomtest(count, total).proportion_ci(0.95, method="wilson")
        found: Any = wilson(count, total)
        assert found.value == count / total
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert wilson(0, 0) is None


@pytest.mark.slow
def test_the_ratio_of_sums_is_covered_about_as_often_as_it_says() -> None:
    rng, trials, covered = np.random.default_rng(5), 300, 0
    true = 3.0  # the second figure is the first one's third, with noise of mean 1
    for trial in range(trials):
        above = rng.lognormal(3, 0.7, 30)
        below = above / true * rng.gamma(5, 1 / 5, 30)
        found: Any = ratio_of_sums(above.tolist(), below.tolist(), name=("trial", trial))
        covered += found.low <= true <= found.high
    # Percentile intervals of 30 roots are a little narrow: 90 to 95 %.
    assert 0.87 * trials <= covered <= 0.98 * trials


def test_the_interval_is_the_same_each_time_and_needs_five_roots() -> None:
    above, below = [9.0, 4.0, 7.0, 1.0, 5.0], [3.0, 2.0, 2.0, 1.0, 4.0]
    once: Any = ratio_of_sums(above, below, name=("x",))
    assert once == ratio_of_sums(above, below, name=("x",))
    assert once.value == 26 / 12
    few: Any = ratio_of_sums(above[:4], below[:4], name=("x",))
    assert (few.low, few.high) == (None, None)
    assert ratio_of_sums([], [], name=("x",)) is None

    equal: Any = ratio_of_sums(above, above, name=("x",))
    assert (equal.value, equal.low, equal.high) == (1.0, 1.0, 1.0)
