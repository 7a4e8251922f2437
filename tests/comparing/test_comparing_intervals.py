"""Intervals: Wilson's against scipy, the bootstrap by how often it covers, f by its likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

from miai_tournaments.compare.summary import ratio_of_sums, wilson


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


def test_equal_figures_have_a_speed_up_of_exactly_one() -> None:
    figures = [3.0, 8.0, 1.0, 2.0, 2.0, 90.0]
    found: Any = ratio_of_sums(figures, figures, name=("x",))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
