"""Performance by opening."""

from __future__ import annotations

import pytest
import scipy

from miai_tournaments.ratings.performance import OpeningScore, measure_performance, wilson_interval

ROWS: list[OpeningScore] = [("e4", 1.0), ("e4", 0.5), ("d4", 0.0), ("d4", 1.0), ("d4", 1.0)]


def test_results_are_counted_by_opening() -> None:
    e4, d4 = measure_performance(ROWS)
    assert (e4.opening, e4.wins, e4.draws, e4.losses) == ("e4", 1, 1, 0)
    assert (d4.opening, d4.wins, d4.draws, d4.losses) == ("d4", 2, 0, 1)
    assert e4.score == 0.75


@pytest.mark.parametrize(("points", "games"), [(0, 5), (3, 9), (9, 9), (50, 120), (1, 1)])
def test_intervals_are_wilson_s(points: int, games: int) -> None:
    reference = scipy.stats.binomtest(points, games).proportion_ci(method="wilson")
    assert wilson_interval(points, games) == pytest.approx((reference.low, reference.high))


def test_zero_games_give_no_information() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert measure_performance([]) == []


def test_invalid_values_are_refused() -> None:
    with pytest.raises(ValueError, match="a score is"):
        measure_performance([("a", 0.3)])
