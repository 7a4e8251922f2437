"""Teams: mean ratings with their covariance, and the spread between members beyond noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats
from tests.tournaments.leagues import League

from miai.errors import ConfigError
from miai_tournaments.ratings.ratings import fit_ratings
from miai_tournaments.ratings.spread import (
    chi_square_quantile,
    chi_square_tail,
    fit_spread,
    team_difference,
    team_rating,
    team_spread,
)

RATINGS = fit_ratings(
    League(elo=(200.0, 150.0, 100.0, -50.0, -150.0), nu=0.4).play(np.random.default_rng(1), 30)
)


def test_a_team_of_one_is_its_player() -> None:
    team, player = team_rating(RATINGS, ["p1"]), RATINGS.estimate("p1")
    assert (team.value, team.standard_error) == pytest.approx((player.value, player.standard_error))
    gap, single = team_difference(RATINGS, ["p0"], ["p4"]), RATINGS.difference("p0", "p4")
    assert (gap.value, gap.standard_error) == pytest.approx((single.value, single.standard_error))


def test_a_team_s_error_is_that_of_drawn_ratings() -> None:
    drawn = np.random.default_rng(2).multivariate_normal(
        RATINGS.elo, RATINGS.covariance, 40_000, method="svd"
    )
    team, gap = (
        team_rating(RATINGS, ["p0", "p1"]),
        team_difference(RATINGS, ["p0", "p1"], ["p3", "p4"]),
    )
    means = drawn[:, :2].mean(axis=1), drawn[:, :2].mean(axis=1) - drawn[:, 3:].mean(axis=1)
    for estimate, values in zip((team, gap), means, strict=True):
        assert estimate.standard_error == pytest.approx(values.std(), rel=0.02)
        assert estimate.value == pytest.approx(values.mean(), abs=1.5)


def test_all_players_are_the_mean_that_is_held() -> None:
    team = team_rating(RATINGS, RATINGS.players)
    assert team.value == pytest.approx(0.0, abs=1e-9)
    assert team.standard_error == pytest.approx(0.0, abs=1e-4)


def random_covariance(rng: np.random.Generator, size: int) -> np.ndarray:
    root = rng.normal(0, 20, (size, size))
    return np.asarray(root @ root.T + np.diag(rng.uniform(100, 900, size)))


@pytest.mark.parametrize("seed", range(5))
def test_the_spread_maximises_the_restricted_likelihood(seed: int) -> None:
    """Harville's form (1974), with the mean integrated out, by a general optimiser."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    covariance = random_covariance(rng, size)
    values = rng.normal(0, 60, size) + np.linalg.cholesky(covariance) @ rng.normal(size=size)

    def loss(tau: float) -> float:
        inverse = np.linalg.inv(covariance + tau**2 * np.eye(size))
        weight = inverse.sum()
        mean = inverse.sum(axis=0) @ values / weight
        away = values - mean
        return float(
            (-np.linalg.slogdet(inverse)[1] + math.log(weight) + away @ inverse @ away) / 2
        )

    found = fit_spread(values, covariance)
    taus = np.linspace(0, 500, 2001)
    start = taus[int(np.argmin([loss(t) for t in taus]))]
    best = optimize.minimize_scalar(
        loss, bounds=(max(0.0, start - 1), start + 1), method="bounded", options={"xatol": 1e-6}
    )
    assert loss(found.value) <= best.fun + 1e-9
    assert found.value == pytest.approx(best.x, abs=0.1)


def test_independent_errors_give_cochran_s_q() -> None:
    values, errors = np.array([10.0, 50.0, 90.0, -20.0]), np.array([10.0, 20.0, 15.0, 30.0])
    found = fit_spread(values, np.diag(errors**2))
    weights = errors**-2
    mean = (weights * values).sum() / weights.sum()
    q = (weights * (values - mean) ** 2).sum()
    assert found.q == pytest.approx(q)
    assert found.p_value == pytest.approx(stats.chi2.sf(q, 3))
    assert found.low < found.value < found.high


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_a_spread_is_in_the_unit_of_the_values(unit: float) -> None:
    values, errors = np.array([1.0, 3.0, 2.2, -1.5, 0.7]), np.array([0.4, 0.8, 0.3, 0.5, 0.9])
    plain = fit_spread(values, np.diag(errors**2))
    found = fit_spread(unit * values, np.diag((unit * errors) ** 2))
    expected = [unit * end for end in (plain.value, plain.low, plain.high)]
    assert [found.value, found.low, found.high] == pytest.approx(expected, rel=1e-6)
    assert 0 < plain.low < plain.value < plain.high
    assert (found.q, found.p_value) == pytest.approx((plain.q, plain.p_value))


def test_errors_that_all_share_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    covariance, values = random_covariance(rng, 5), rng.normal(0, 80, 5)
    one, two = fit_spread(values, covariance), fit_spread(values + 1000, covariance + 5000)
    for name in ("value", "low", "high", "q"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("tau", [0.0, 80.0])
def test_simulated_spreads(tau: float) -> None:
    rng = np.random.default_rng(4)
    held = below = 0
    estimates = []
    for _ in range(100):
        elo = tuple(float(e) for e in rng.normal(0, tau, 10))
        ratings = fit_ratings(League(elo=elo, nu=0.5).play(rng, 10))
        found = team_spread(ratings, ratings.players)
        held += found.low <= tau <= found.high
        below += found.p_value <= 0.05
        estimates.append(found.value)
    print(f"seed 4, tau {tau}: {held} of 100 hold it, {below} below 5 %, {np.mean(estimates):.1f}")
    # With no spread the lower end is nearly always 0: only 97.5 % are asked of it.
    low, high = stats.binom.interval(0.9999, 100, 0.95)
    assert low <= held
    assert held <= high or tau == 0
    if tau == 0:
        assert below <= stats.binom.ppf(0.9999, 100, 0.05)
    else:
        assert np.mean(estimates) == pytest.approx(tau, rel=0.1)


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 99, 400])
@pytest.mark.parametrize("value", [0.0, 0.1, 3.0, 80.0, 500.0, 3000.0])
def test_chi_square_is_scipy_s(degrees: int, value: float) -> None:
    assert chi_square_tail(value, degrees) == pytest.approx(
        stats.chi2.sf(value, degrees), rel=1e-9, abs=1e-300
    )


@pytest.mark.parametrize("degrees", [1, 4, 30])
@pytest.mark.parametrize("tail", [0.975, 0.5, 0.025])
def test_quantiles_are_scipy_s(degrees: int, tail: float) -> None:
    assert chi_square_quantile(tail, degrees) == pytest.approx(stats.chi2.isf(tail, degrees))


@pytest.mark.parametrize(
    ("members", "output"),
    [([], "no members"), (["p9"], "no player 'p9'"), (["p0", "p0"], "a member twice")],
)
def test_invalid_teams_are_refused(members: list[str], output: str) -> None:
    for function in (team_rating, team_spread):
        with pytest.raises(ConfigError, match=f"^team: .*{output}"):
            function(RATINGS, members)


def test_a_spread_of_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="one member, 'p0'"):
        team_spread(RATINGS, ["p0"])
