"""How often the ratings' 95 % intervals hold the truth, in simulated leagues of several kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy
from tests.tournaments.leagues import League, race

from miai_tournaments.ratings.rankings import Rankings
from miai_tournaments.ratings.ratings import Ratings, fit_rankings, fit_ratings


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of league: strengths are drawn anew, normal with deviation `spread` Elo."""

    players: int = 5
    games: int = 20
    spread: float = 150.0
    advantage: float = 30.0
    nu: float = 0.5

    def play(self, rng: np.random.Generator) -> tuple[tuple[float, ...], Ratings]:
        elo = tuple(float(e) for e in rng.normal(0, self.spread, self.players))
        results = League(elo=elo, advantage=self.advantage, nu=self.nu).play(rng, self.games)
        return elo, fit_ratings(results)


@dataclass(frozen=True, kw_only=True)
class RankedKind:
    """A kind of league of games of more than two players: all seatings of all groups."""

    players: int = 5
    seats: tuple[float, ...] = (30.0, 0.0, -30.0)
    games: int = 2
    spread: float = 150.0

    def play(self, rng: np.random.Generator) -> tuple[tuple[float, ...], Ratings]:
        elo = tuple(float(e) for e in rng.normal(0, self.spread, self.players))
        field = {f"p{i}": strength for i, strength in enumerate(elo)}
        games = race(rng, field, self.seats, self.games)
        return elo, fit_rankings(Rankings.from_games(games, players=tuple(field)))


KINDS: dict[str, Kind | RankedKind] = {
    "usual": Kind(),
    "equal": Kind(spread=0.0),
    "wide": Kind(spread=800.0),
    "without draws": Kind(nu=0.0),
    "drawish": Kind(nu=4.0),
    "few games": Kind(players=10, games=2, spread=200.0),
    "a long match": Kind(players=2, games=100, spread=100.0),
    "games of three": RankedKind(),
    "games of three, wide": RankedKind(spread=400.0),
    "games of four": RankedKind(seats=(30.0, 10.0, -10.0, -30.0), games=1),
}


def held(ratings: Ratings, elo: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return which differences ``(K, K)`` and distances from the mean ``(K,)`` are held."""
    truth, variance = np.array(elo), np.diagonal(ratings.covariance)
    errors = np.sqrt(np.maximum(variance[:, None] + variance - 2 * ratings.covariance, 0))
    gaps = (ratings.elo[:, None] - ratings.elo) - (truth[:, None] - truth)
    away = ratings.elo - (truth - truth.mean())
    return np.abs(gaps) <= 1.959964 * errors, np.abs(away) <= 1.959964 * ratings.standard_errors


@pytest.mark.parametrize("name", ["usual", "games of three"])
def test_intervals_hold_in_a_hundred_leagues(name: str) -> None:
    """One difference and one rating are looked at in each league, so that counts are binomial."""
    rng, counts = np.random.default_rng(30), np.zeros(2, dtype=int)
    for _ in range(100):
        elo, ratings = KINDS[name].play(rng)
        differences, distances = held(ratings, elo)
        i, j = (int(p) for p in rng.choice(len(elo), 2, replace=False))
        gap = ratings.difference(f"p{i}", f"p{j}")
        assert differences[i, j] == (gap.low <= elo[i] - elo[j] <= gap.high)
        counts += (differences[i, j], distances[i])
    low, high = scipy.stats.binom.interval(0.9999, 100, 0.95)
    print(f"{name}, seed 30: {counts} of 100 held the truth, band {low:.0f} to {high:.0f}")
    assert all(low <= count <= high for count in counts)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_in_94_to_96_of_100_leagues(name: str) -> None:
    """All differences and ratings of each league are looked at, which leaves less to chance."""
    rng, shares = np.random.default_rng(31), np.zeros(2)
    for _ in range(2000):
        elo, ratings = KINDS[name].play(rng)
        differences, distances = held(ratings, elo)
        shares += differences[~np.eye(len(elo), dtype=np.bool_)].mean(), distances.mean()
    shares /= 2000
    print(f"{name}, seed 31: differences {shares[0]:.4f}, distances from the mean {shares[1]:.4f}")
    assert ((shares >= 0.94) & (shares <= 0.96)).all()
