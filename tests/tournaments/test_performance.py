"""Performance by opening and colour, and the test whether openings differ."""

from __future__ import annotations

import math
import random
import time
from itertools import product

import numpy as np
import pytest
from scipy import stats

from miai.errors import ConfigError
from miai_tournaments.ratings.performance import (
    Row,
    compare_openings,
    measure_performance,
    wilson_interval,
)

ROWS: list[Row] = [
    ("e4", "ann", "bob", 1.0),
    ("e4", "bob", "ann", 0.5),
    ("d4", "ann", "bob", 0.0),
    ("d4", "bob", "ann", 1.0),
    ("d4", "ann", "cid", 1.0),
]


def test_results_are_counted_by_opening() -> None:
    e4, d4 = measure_performance(ROWS)
    assert (e4.opening, e4.wins, e4.draws, e4.losses) == ("e4", 1, 1, 0)
    assert (d4.opening, d4.wins, d4.draws, d4.losses) == ("d4", 2, 0, 1)
    assert e4.score == 0.75


@pytest.mark.parametrize(("points", "games"), [(0, 5), (3, 9), (9, 9), (50, 120), (1, 1)])
def test_intervals_are_wilson_s(points: int, games: int) -> None:
    reference = stats.binomtest(points, games).proportion_ci(method="wilson")
    assert wilson_interval(points, games) == pytest.approx((reference.low, reference.high))


def test_zero_games_give_no_information() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert measure_performance([]) == []


def rows_of(counts: dict[tuple[str, str, str], tuple[int, int, int]]) -> list[Row]:
    return [
        (opening, first, second, score)
        for (opening, first, second), outcomes in counts.items()
        for score, times in zip((1.0, 0.5, 0.0), outcomes, strict=True)
        for _ in range(times)
    ]


def test_with_one_pairing_it_is_pearson_s_chi_square() -> None:
    table = {"a": (40, 20, 30), "b": (55, 10, 20), "c": (30, 30, 40)}
    rows = rows_of({(opening, "x", "y"): counts for opening, counts in table.items()})
    reference = stats.chi2_contingency(list(table.values()))
    found = compare_openings(rows, replicates=4000, seed=1)
    assert found.statistic == pytest.approx(reference.statistic)
    error = math.sqrt(reference.pvalue / 4000)
    assert found.p_value == pytest.approx(reference.pvalue, abs=4.5 * error + 1 / 4000)
    assert (found.openings, found.games) == (3, 275)


def test_small_tables_have_their_exact_chance() -> None:
    rows = rows_of({("a", "x", "y"): (3, 0, 0), ("b", "x", "y"): (1, 0, 3)})
    # Of the 35 ways to deal four wins to seven games, 4 give the first opening three wins and
    # one gives it none; only these are as far from what is expected.
    found = compare_openings(rows, replicates=20_000, seed=2)
    exact = stats.fisher_exact([[3, 0], [1, 3]]).pvalue
    assert found.p_value == pytest.approx(exact, abs=4.5 * math.sqrt(exact / 20_000))


def test_strength_and_colour_are_not_taken_for_an_effect_of_the_opening() -> None:
    rows = rows_of({("a", "strong", "weak"): (60, 0, 2), ("b", "weak", "strong"): (2, 0, 60)})
    found = compare_openings(rows, replicates=199)
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_chances_are_right_where_openings_are_alike() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(150):
        rows: list[Row] = []
        for (first, second), chance in {("x", "y"): 0.8, ("y", "x"): 0.3}.items():
            wins = rng.random(40) < chance
            rows += [(f"o{i % 5}", first, second, float(won)) for i, won in enumerate(wins)]
        found.append(compare_openings(rows, replicates=99, seed=4).p_value)
    # Uniform, as the p-values of a right test are.
    assert stats.kstest(found, "uniform").pvalue > 1e-4


def test_the_order_of_rows_does_not_matter() -> None:
    rows = rows_of({(o, "x", "y"): (n, 3, 2) for n, o in enumerate("abc")})
    shuffled = list(rows)
    random.Random(5).shuffle(shuffled)
    assert compare_openings(rows, seed=6) == compare_openings(shuffled, seed=6)


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS[:2]])
def test_little_to_compare_is_no_difference(rows: list[Row]) -> None:
    assert compare_openings(rows).p_value == 1.0


def test_a_hundred_thousand_games_take_seconds() -> None:
    rng = np.random.default_rng(7)
    players = [f"p{i}" for i in range(20)]
    rows: list[Row] = [
        (f"o{int(o)}", a, b, float(s) / 2)
        for a, b in product(players, players)
        if a != b
        for o, s in zip(rng.integers(50, size=263), rng.integers(3, size=263), strict=True)
    ]
    begun = time.process_time()
    found = compare_openings(rows, replicates=99)
    assert time.process_time() - begun < 5
    assert found.games == len(rows) == 99_940
    assert found.replicates == 99


def test_invalid_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="replicates: is 10"):
        compare_openings(ROWS, replicates=10)
    for function in (measure_performance, compare_openings):
        with pytest.raises(ValueError, match="a score is"):
            function([("a", "x", "y", 0.3)])
