from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournaments.leagues import NATURAL, League, davidson, naive_loss

from miai.errors import ConfigError
from miai_tournaments.ratings.bootstrap import BlockGame, Bootstrap, bootstrap_ratings
from miai_tournaments.ratings.model import Posterior, maximise
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.performance import OpeningScore, measure_performance, wilson_interval
from miai_tournaments.ratings.ratings import ELO, Ratings, fit_ratings

Row = tuple[int, int, float, float]

quick = settings(max_examples=40, deadline=None)  # a busy machine makes any deadline a lie
WEAKEST = 1e-3
"""The weakest prior; it moves a rating by about this many games."""

names = st.sampled_from(["ada", "bob", "cyd", "dan", "eve"])
scores = st.sampled_from([0.0, 0.5, 1.0])
counts = st.integers(1, 50).map(float)
games = st.tuples(names, names, scores, counts).filter(lambda game: game[0] != game[1])
leagues = st.lists(games, min_size=1, max_size=25)


def random_games(rng: np.random.Generator, players: int, rows: int) -> list[Row]:
    drawn = []
    for _ in range(rows):
        first, second = (int(i) for i in rng.choice(players, 2, replace=False))
        drawn.append((first, second, float(rng.integers(3)) / 2, float(rng.integers(1, 9))))
    return drawn


def named(rows: list[Row]) -> list[tuple[str, str, float, float]]:
    return [(f"p{a}", f"p{b}", score, count) for a, b, score, count in rows]


def assert_finite(ratings: Ratings) -> None:
    assert np.isfinite(ratings.elo).all()
    assert np.isfinite(ratings.covariance).all()
    assert np.isfinite(ratings.standard_errors).all()
    assert np.isfinite(ratings.superiority()).all()
    for estimate in (ratings.first_player_advantage, ratings.draw_probability):
        if estimate is not None:
            values = (estimate.value, estimate.standard_error, estimate.low, estimate.high)
            assert all(math.isfinite(value) for value in values)
    assert math.isfinite(ratings.log_posterior)


# -- against independent computations ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_fit_is_the_maximum_that_a_general_optimiser_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, prior = int(rng.integers(2, 6)), float(rng.choice([0.1, 1.0, 3.0]))
    rows = random_games(rng, k, 14)
    rows.append((0, 1, 0.5, 2.0))
    ratings = fit_ratings(named(rows), players=[f"p{i}" for i in range(k)], prior_games=prior)
    found = scipy.optimize.minimize(
        naive_loss, np.zeros(k + 2), args=(rows, k, prior), method="BFGS", options={"gtol": 1e-7}
    )
    strengths = found.x[:k] - found.x[:k].mean()
    np.testing.assert_allclose(ratings.elo, strengths / NATURAL, atol=0.05)
    assert ratings.first_player_advantage is not None
    assert ratings.first_player_advantage.value == pytest.approx(found.x[k] / NATURAL, abs=0.05)
    assert ratings.log_nu == pytest.approx(found.x[k + 1], abs=1e-3)
    assert ratings.log_posterior == pytest.approx(-found.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_covariance_is_the_inverse_curvature_of_the_naive_posterior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 4
    rows = [*random_games(rng, k, 20), (0, 1, 0.5, 3.0)]
    ratings = fit_ratings(named(rows), players=[f"p{i}" for i in range(k)], prior_games=1.0)
    assert ratings.first_player_advantage is not None
    assert ratings.draw_probability is not None
    strengths = scipy.optimize.minimize(naive_loss, np.zeros(k + 2), args=(rows, k, 1.0)).x
    hessian = _numerical_hessian(strengths, rows, k)
    inverse = np.linalg.inv(hessian)
    centre = np.eye(k) - 1 / k
    expected = centre @ inverse[:k, :k] @ centre / NATURAL**2
    np.testing.assert_allclose(ratings.covariance, expected, rtol=2e-3, atol=2.0)
    error = math.sqrt(inverse[k, k]) / NATURAL
    assert ratings.first_player_advantage.standard_error == pytest.approx(error, rel=1e-3)
    share = ratings.draw_probability
    spread = 1.959964 * math.sqrt(inverse[k + 1, k + 1])
    low, high = (math.exp(ratings.log_nu + sign * spread) for sign in (-1, 1))
    assert share.low == pytest.approx(low / (2 + low), rel=1e-3)
    assert share.high == pytest.approx(high / (2 + high), rel=1e-3)


def _numerical_hessian(parameters: np.ndarray, rows: list[Row], k: int) -> np.ndarray:
    step, size = 1e-3, k + 2
    hessian = np.empty((size, size))
    unit = np.eye(size) * step
    for i in range(size):
        for j in range(size):
            corners = [
                sign * naive_loss(parameters + a * unit[i] + b * unit[j], rows, k, 1.0)
                for a, b, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
            ]
            hessian[i, j] = sum(corners) / (4 * step**2)
    return hessian


@quick
@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 500))
def test_two_players_with_draws_have_the_closed_form(wins: int, draws: int, losses: int) -> None:
    results = [("a", "b", 1.0, wins), ("a", "b", 0.5, draws), ("b", "a", 1.0, losses)]
    ratings = fit_ratings(results, prior_games=WEAKEST, first_player_advantage=False)
    gap = ratings.difference("a", "b").value
    slack = WEAKEST * (1 / wins + 1 / losses + 1 / draws)
    assert gap == pytest.approx(400 * math.log10(wins / losses), abs=slack * ELO)
    assert math.exp(ratings.log_nu) == pytest.approx(draws / math.sqrt(wins * losses), rel=slack)


@quick
@given(*[st.integers(1, 200)] * 4)
def test_colour_swapped_games_separate_strength_and_advantage(
    first_wins: int, first_losses: int, second_wins: int, second_losses: int
) -> None:
    ratings = fit_ratings(
        [
            ("a", "b", 1.0, first_wins),
            ("a", "b", 0.0, first_losses),
            ("b", "a", 0.0, second_wins),
            ("b", "a", 1.0, second_losses),
        ],
        prior_games=WEAKEST,
    )
    as_first = 400 * math.log10(first_wins / first_losses)
    as_second = 400 * math.log10(second_wins / second_losses)
    counts = (first_wins, first_losses, second_wins, second_losses)
    slack = WEAKEST * ELO * sum(1 / count for count in counts)
    assert ratings.first_player_advantage is not None
    gap, advantage = ratings.difference("a", "b"), ratings.first_player_advantage
    assert gap.value == pytest.approx((as_first + as_second) / 2, abs=slack)
    assert advantage.value == pytest.approx((as_first - as_second) / 2, abs=slack)


@pytest.mark.parametrize("seed", range(3))
def test_without_draws_and_advantage_it_is_choix_s_bradley_and_terry(seed: int) -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(seed)
    truth = League(elo=tuple(float(e) for e in rng.normal(0, 200, 6)))
    results = truth.play(rng, 25)
    won = [
        (int(a), int(b))
        for first, second, games, points in zip(
            results.first, results.second, results.games, results.points, strict=True
        )
        for a, b, times in ((first, second, points), (second, first, games - points))
        for _ in range(round(times))
    ]
    theirs = np.asarray(choix.ilsr_pairwise(6, won)) * ELO
    ours = fit_ratings(results, prior_games=1e-3, first_player_advantage=False)
    np.testing.assert_allclose(ours.elo, theirs - theirs.mean(), atol=0.2)


# -- statistics -------------------------------------------------------------------------------

TRUTH = League(elo=(420.0, 150.0, 60.0, 0.0, -80.0, -550.0), advantage=45.0, nu=0.4)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Intervals of a difference, of the advantage and of the draws, in 200 simulated leagues.

    One difference is looked at in each league, so that the counts are binomial.
    """
    rng = np.random.default_rng(20)
    held = np.zeros(3, dtype=int)
    for _ in range(200):
        elo = tuple(float(e) for e in rng.normal(0, 150, 5))
        ratings = fit_ratings(League(elo=elo, advantage=30.0, nu=0.5).play(rng, 20))
        i, j = (int(p) for p in rng.choice(5, 2, replace=False))
        gap = ratings.difference(f"p{i}", f"p{j}")
        advantage, draws = ratings.first_player_advantage, ratings.draw_probability
        assert advantage is not None
        assert draws is not None
        held += (
            gap.low <= elo[i] - elo[j] <= gap.high,
            advantage.low <= 30.0 <= advantage.high,
            draws.low <= 0.5 / 2.5 <= draws.high,
        )
    # A right procedure leaves this band once in 10,000 seeds, for each of the three.
    low, high = scipy.stats.binom.interval(0.9999, 200, 0.95)
    assert all(low <= count <= high for count in held), held


def test_superiority_is_the_normal_tail_of_the_difference() -> None:
    ratings = fit_ratings(TRUTH.play(np.random.default_rng(3), 5))
    chances = ratings.superiority()
    np.testing.assert_allclose(chances + chances.T, 1.0, atol=1e-12)
    np.testing.assert_array_equal(np.diagonal(chances), 0.5)
    draw = np.random.default_rng(4).multivariate_normal(
        ratings.elo, ratings.covariance, 20_000, method="svd"
    )
    share = (draw[:, 1] > draw[:, 2]).mean()
    assert abs(chances[1, 2] - share) < 4.5 * math.sqrt(0.25 / 20_000)
    gap = ratings.difference("p1", "p2")
    assert chances[1, 2] == pytest.approx(scipy.stats.norm.cdf(gap.value / gap.standard_error))


def test_a_million_games_of_a_hundred_players_take_a_moment() -> None:
    rng = np.random.default_rng(6)
    truth = League(elo=tuple(float(e) for e in rng.normal(0, 300, 100)), advantage=30, nu=0.6)
    results = truth.play(rng, 101)
    begun = time.process_time()
    ratings = fit_ratings(results)
    # CPU of all threads, and ten times what it takes: only work for each game would take longer.
    assert time.process_time() - begun < 5
    assert ratings.games.sum() == 2 * 100 * 99 * 101
    assert np.corrcoef(ratings.elo, truth.elo)[0, 1] > 0.999


# -- invariances ------------------------------------------------------------------------------


@quick
@given(leagues)
def test_counts_are_games(rows: list[tuple[str, str, float, float]]) -> None:
    summed = fit_ratings(rows)
    single = fit_ratings([row[:3] for row in rows for _ in range(int(row[3]))])
    np.testing.assert_allclose(single.elo, summed.elo, atol=1e-6)
    np.testing.assert_allclose(single.covariance, summed.covariance, rtol=1e-6, atol=1e-6)


@quick
@given(leagues, st.floats(-3000, 3000))
def test_an_anchor_moves_all_ratings_alike(
    rows: list[tuple[str, str, float, float]], elo: float
) -> None:
    free = fit_ratings(rows)
    anchor = rows[0][0]
    held = fit_ratings(rows, anchor=anchor, anchor_elo=elo)
    assert held.estimate(anchor).value == pytest.approx(elo, abs=1e-9)
    assert held.estimate(anchor).standard_error == pytest.approx(0.0, abs=1e-9)
    assert free.elo.mean() == pytest.approx(0.0, abs=1e-6)
    for player in free.players:
        before, after = free.difference(player, anchor), held.difference(player, anchor)
        assert after.value == pytest.approx(before.value, abs=1e-6)
        assert after.standard_error == pytest.approx(before.standard_error, abs=1e-6)
        assert held.estimate(player).standard_error == pytest.approx(
            before.standard_error, abs=1e-6
        )


# -- monotonicity -----------------------------------------------------------------------------


@quick
@given(leagues, names, names)
def test_an_extra_win_never_lowers_a_rating(
    rows: list[tuple[str, str, float, float]], winner: str, loser: str
) -> None:
    """Where no advantage is fitted and nothing drawn, the information is an M-matrix: a theorem."""
    if winner == loser:
        return
    decisive = [row for row in rows if row[2] != 0.5]
    before, after = (
        fit_ratings(rows, players=["ada", "bob", "cyd", "dan", "eve"], first_player_advantage=False)
        for rows in (decisive, [*decisive, (winner, loser, 1.0, 1.0)])
    )
    assert after.estimate(winner).value >= before.estimate(winner).value - 1e-7
    assert after.estimate(loser).value <= before.estimate(loser).value + 1e-7


# -- unusual leagues --------------------------------------------------------------------------


def test_no_player_or_a_single_one_without_games() -> None:
    assert fit_ratings([]).players == ()
    assert_finite(fit_ratings([]))
    ratings = fit_ratings([], players=["a"])
    assert_finite(ratings)
    assert ratings.elo[0] == 0.0
    assert ratings.groups == (("a",),)


def test_without_games_the_prior_is_what_is_known() -> None:
    ratings = fit_ratings([], players=["a", "b"], prior_games=1.0)
    assert ratings.difference("a", "b").value == 0.0
    # The curvature of the log of a hyperbolic secant is a quarter: variance 4, for either player.
    assert ratings.difference("a", "b").standard_error == pytest.approx(ELO * math.sqrt(8))
    assert ratings.superiority()[0, 1] == 0.5


def test_one_game() -> None:
    ratings = fit_ratings([("a", "b", 1.0)])
    assert_finite(ratings)
    assert ratings.estimate("a").value > 0 > ratings.estimate("b").value
    assert ratings.estimate("a").low < 0


def test_all_draws() -> None:
    ratings = fit_ratings([("a", "b", 0.5, 1000), ("b", "a", 0.5, 1000)])
    assert_finite(ratings)
    np.testing.assert_allclose(ratings.elo, 0.0, atol=1e-6)
    assert ratings.draw_probability is not None
    assert 0.99 < ratings.draw_probability.low < ratings.draw_probability.high < 1


def test_no_draws_leave_bradley_and_terry() -> None:
    ratings = fit_ratings([("a", "b", 1.0, 3), ("b", "a", 1.0, 2)])
    assert ratings.draw_probability is None
    assert ratings.log_nu == -math.inf


def test_a_perfect_score_is_finite_and_grows_with_the_games() -> None:
    few, many = (
        fit_ratings([("a", "b", 1.0, n), ("b", "a", 0.0, n)], first_player_advantage=False)
        for n in (5, 50_000)
    )
    assert_finite(few)
    assert_finite(many)
    assert 200 < few.difference("a", "b").value < many.difference("a", "b").value < 5000
    assert few.one_sided == (("a",), ("b",))


def test_the_first_player_wins_always() -> None:
    ratings = fit_ratings([("a", "b", 1.0, 100), ("b", "a", 1.0, 100)])
    assert_finite(ratings)
    assert ratings.first_player_advantage is not None
    assert ratings.first_player_advantage.low > 0
    assert ratings.difference("a", "b").value == pytest.approx(0.0, abs=1e-6)
    assert ratings.one_sided == ()


def test_huge_differences() -> None:
    chain = [f"p{i:02}" for i in range(40)]
    games = [
        (better, worse, score, count)
        for better, worse in pairwise(chain)
        for score, count in ((1.0, 1000.0), (0.0, 1.0))
    ]
    ratings = fit_ratings(games, first_player_advantage=False, prior_games=1e-3)
    assert_finite(ratings)
    assert (np.diff(ratings.elo) < -1100).all()
    assert ratings.superiority()[0, -1] == pytest.approx(1.0)


def test_a_fit_ends_where_rounding_is_all_that_is_left() -> None:
    ratings = fit_ratings([("a", "b", 0.5, 3e8), ("a", "a", 0.0, 1e4)], prior_games=WEAKEST)
    assert_finite(ratings)


def test_unconnected_groups_are_reported() -> None:
    ratings = fit_ratings(
        [("a", "b", 1.0), ("b", "a", 1.0), ("c", "d", 1.0), ("d", "e", 0.5), ("e", "c", 1.0)]
    )
    assert ratings.groups == (("c", "d", "e"), ("a", "b"))
    assert ratings.one_sided == ()
    within, across = ratings.difference("c", "d"), ratings.difference("a", "c")
    assert across.standard_error > within.standard_error
    # Each group sits on the average of the prior.
    assert ratings.elo[:2].mean() == pytest.approx(ratings.elo[2:].mean(), abs=1e-6)


@quick
@given(leagues)
def test_where_strength_and_the_first_move_are_one_is_what_linear_algebra_says(
    rows: list[tuple[str, str, float, float]],
) -> None:
    results = PairResults.from_games(rows)
    incidence = np.zeros((len(results.first), len(results.players)))
    incidence[range(len(incidence)), results.first] += 1
    incidence[range(len(incidence)), results.second] -= 1
    ones = np.ones(len(incidence))
    heights = np.linalg.lstsq(incidence, ones, rcond=None)[0]
    assert fit_ratings(results).hides_first_move == bool(np.allclose(incidence @ heights, ones))


def test_a_player_who_always_moves_first_is_hidden_behind_it() -> None:
    hero = [("hero", other, 1.0, 1500.0) for other in "ab"]
    hero += [("hero", other, 0.0, 500.0) for other in "ab"]
    ratings = fit_ratings(hero)
    assert ratings.hides_first_move
    assert ratings.difference("hero", "a").standard_error > 300
    assert ratings.difference("a", "b").standard_error < 30
    ratings = fit_ratings([*hero, ("a", "hero", 1.0, 1.0)])
    assert not ratings.hides_first_move


def test_one_sided_groups_are_reported() -> None:
    ratings = fit_ratings(
        [("a", "b", 1.0), ("b", "a", 1.0), ("a", "c", 1.0), ("b", "d", 1.0), ("c", "d", 0.5)]
    )
    assert ratings.groups == (("a", "b", "c", "d"),)
    assert ratings.one_sided == (("a", "b"), ("c", "d"))


@quick
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.integers(0, 5),
            scores,
            st.sampled_from([0.0, 1e-3, 1, 7, 1e4, 3e7]),
        ),
        max_size=20,
    ),
    st.sampled_from([1e-3, 0.1, 1.0, 1e3]),
    st.booleans(),
)
def test_every_league_converges_to_a_finite_maximum(
    rows: list[Row], prior: float, advantage: bool
) -> None:
    results = PairResults.from_games(named(rows), players=[f"p{i}" for i in range(6)])
    ratings = fit_ratings(results, prior_games=prior, first_player_advantage=advantage)
    assert_finite(ratings)
    posterior = Posterior(
        results.batch(), 6, prior_games=prior, advantage=advantage, draws=bool(results.draws.any())
    )
    fit = maximise(posterior)
    best = posterior.at(fit.parameters).value()[0]
    for shift in np.eye(posterior.size) * 0.05:
        for nearby in (fit.parameters + shift, fit.parameters - shift):
            assert posterior.at(nearby).value()[0] <= best + 1e-12 * (1 + abs(best))


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("score", [0.3, -1.0, 2.0, math.nan])
def test_an_invalid_score_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match=r"a score is 0, 0.5 or 1"):
        fit_ratings([("a", "b", score)])


@pytest.mark.parametrize("count", [-1.0, math.nan, math.inf, 1e10])
def test_an_invalid_count_is_refused(count: float) -> None:
    with pytest.raises(ValueError, match="counts of games"):
        fit_ratings([("a", "b", 1.0, count)])


@pytest.mark.parametrize("index", [-1, 2, 0.5])
def test_an_invalid_index_is_refused(index: float) -> None:
    with pytest.raises(ValueError, match="index of a player"):
        PairResults.from_arrays([index], [0], [1.0], players=["a", "b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"prior_games": prior}, "prior_games") for prior in (0.0, 1e-4, 1e4, math.nan)),
        ({"anchor": "a", "anchor_elo": math.inf}, "anchor_elo"),
        ({"anchor": "aa"}, r"no player 'aa'. Did you mean 'a'"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit_ratings([("a", "b", 1.0)], **options)


def test_names_that_are_there_twice_or_not_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="two players have the same name"):
        PairResults.from_arrays([0], [1], [1.0], players=["a", "a"])
    with pytest.raises(KeyError, match="no player 'c'"):
        fit_ratings([("a", "b", 1.0)]).estimate("c")


# -- the pair bootstrap -----------------------------------------------------------------------

Paired = tuple[str, str, str, float]


def swapped_pairs(rng: np.random.Generator, *, pairs: int, alike: bool) -> list[Paired]:
    """Return pairs of games of four players, independent or with the same winner twice."""
    truth = League(elo=(100.0, 50.0, 0.0, -60.0), advantage=20.0)
    played = []
    for i in range(4):
        for j in range(i):
            for n in range(pairs):
                pair = f"{i}-{j}-{n}"
                wins = [
                    rng.random() < davidson(truth.elo[a] - truth.elo[b] + 20.0, 0.0)[0]
                    for a, b in ((i, j), (j, i))
                ]
                second = (not wins[0]) if alike else wins[1]
                played.append((pair, f"p{i}", f"p{j}", float(wins[0])))
                played.append((pair, f"p{j}", f"p{i}", float(second)))
    return played


def in_blocks(played: Sequence[Paired]) -> list[BlockGame]:
    """Return the games of pairs as the bootstrap takes them."""
    return [(pair, (one, other), (score, 1 - score)) for pair, one, other, score in played]


def test_intervals_of_the_bootstrap_leave_out_one_replicate_in_forty_at_each_end() -> None:
    elo = np.stack([np.arange(1001.0), -3 * np.arange(1001.0)[::-1]], axis=1)
    replicates = Bootstrap(players=("a", "b"), elo=elo, seed=0)
    np.testing.assert_allclose(replicates.intervals(), [[25, 975], [-2925, -75]])


def test_bootstrap_sees_that_the_games_of_a_pair_hang_together() -> None:
    played = swapped_pairs(np.random.default_rng(9), pairs=100, alike=True)
    fit = fit_ratings([game[1:] for game in played])
    bootstrap = bootstrap_ratings(in_blocks(played), seed=10)
    # Two games that always agree tell as much as one.
    ratio = bootstrap.standard_errors / fit.standard_errors
    np.testing.assert_allclose(ratio, math.sqrt(2), rtol=0.2)


def test_bootstrap_is_what_drawing_pairs_one_by_one_gives() -> None:
    played = swapped_pairs(np.random.default_rng(12), pairs=6, alike=False)
    strata: dict[str, list[list[tuple[str, str, float]]]] = {}
    for k in range(0, len(played), 2):
        stratum = strata.setdefault(played[k][0].rsplit("-", 1)[0], [])
        stratum.append([played[k][1:], played[k + 1][1:]])
    rng = np.random.default_rng(13)
    ratings = []
    for _ in range(300):
        drawn = [
            game
            for stratum in strata.values()
            for i in rng.integers(len(stratum), size=len(stratum))
            for game in stratum[i]
        ]
        ratings.append(fit_ratings(drawn, players=["p0", "p1", "p2", "p3"]).elo)
    bootstrap = bootstrap_ratings(
        in_blocks(played), seed=14, replicates=3000, players=["p0", "p1", "p2", "p3"]
    )
    naive = np.array(ratings)
    error = naive.std(axis=0, ddof=1) / math.sqrt(len(naive))
    assert (np.abs(bootstrap.elo.mean(axis=0) - naive.mean(axis=0)) < 4.5 * error).all()
    # The standard deviation of 300 values is known to about 4 %.
    np.testing.assert_allclose(bootstrap.standard_errors, naive.std(axis=0, ddof=1), rtol=0.18)


def test_bootstrap_depends_on_the_seed_and_not_on_the_order() -> None:
    played = swapped_pairs(np.random.default_rng(15), pairs=5, alike=False)
    everybody = ["p0", "p1", "p2", "p3"]
    one, two, other = (
        bootstrap_ratings(in_blocks(games), seed=seed, replicates=50, players=everybody).elo
        for games, seed in ((played, 1), (played[::-1], 1), (played, 2))
    )
    np.testing.assert_allclose(one, two, atol=1e-6)
    assert not np.allclose(one, other)


def test_bootstrap_of_an_anchored_league_with_draws_and_an_unfinished_pair() -> None:
    played = [
        ("1", "a", "b", 1.0),
        ("1", "b", "a", 0.5),
        ("2", "a", "b", 0.0),
        ("3", "c", "a", 1.0),
    ]
    bootstrap = bootstrap_ratings(in_blocks(played), anchor="b", anchor_elo=1500.0, replicates=20)
    np.testing.assert_allclose(bootstrap.elo[:, bootstrap.players.index("b")], 1500.0)
    assert np.isfinite(bootstrap.elo).all()


def test_bootstrap_of_nothing() -> None:
    bootstrap = bootstrap_ratings([], players=["a", "b"], replicates=3)
    np.testing.assert_array_equal(bootstrap.elo, np.zeros((3, 2)))


@pytest.mark.parametrize("replicates", [-1, 1, 10**9])
def test_bootstrap_refuses_a_number_of_replicates(replicates: int) -> None:
    with pytest.raises(ConfigError, match="replicates"):
        bootstrap_ratings([("1", ("a", "b"), (1.0, 0.0))], replicates=replicates)


# -- teams ------------------------------------------------------------------------------------

RATINGS = fit_ratings(
    League(elo=(200.0, 150.0, 100.0, -50.0, -150.0), nu=0.4).play(np.random.default_rng(1), 30)
)


def test_a_team_of_one_is_its_player() -> None:
    team, player = RATINGS.mean(["p1"]), RATINGS.estimate("p1")
    assert (team.value, team.standard_error) == pytest.approx((player.value, player.standard_error))


def test_a_team_s_error_is_that_of_drawn_ratings() -> None:
    drawn = np.random.default_rng(2).multivariate_normal(
        RATINGS.elo, RATINGS.covariance, 40_000, method="svd"
    )
    team, means = RATINGS.mean(["p0", "p1"]), drawn[:, :2].mean(axis=1)
    assert team.standard_error == pytest.approx(means.std(), rel=0.02)
    assert team.value == pytest.approx(means.mean(), abs=1.5)


def test_all_players_are_the_mean_that_is_held() -> None:
    team = RATINGS.mean(RATINGS.players)
    assert team.value == pytest.approx(0.0, abs=1e-9)
    assert team.standard_error == pytest.approx(0.0, abs=1e-4)


# -- performance by opening -------------------------------------------------------------------

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
