"""Teams: mean ratings, with the covariance of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tournaments.leagues import League

from miai_tournaments.ratings.ratings import fit_ratings

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
