"""Ratings against libraries that others wrote."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tournaments.leagues import League

from miai_tournaments.ratings.ratings import ELO, fit_ratings


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
