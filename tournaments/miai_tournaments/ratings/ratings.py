"""Ratings of a tournament's players in Elo, with their uncertainty.

    results = PairResults.from_games([("mcts", "random", 1.0), ("random", "mcts", 0.5)])
    ratings = fit_ratings(results)
    ratings.elo, ratings.standard_errors, ratings.superiority()

All players, the first player's advantage and the frequency of draws are fitted jointly; see
`miai_tournaments.ratings.model` for the likelihood and docs/ratings.md for conclusions. A
difference of 400 Elo means odds of ten to one for winning.

Leagues of thousands of players are fitted in memory and time that grow with their pairings:
Newton's steps are found by conjugate gradients. For variances, b is drawn with the information I as
its covariance, so that the solution x of I x = b has the posterior's. Given all other parameters,
x_i has the mean x_i - b_i / I_ii and the variance 1 / I_ii, so only the variance of that mean is
estimated: the smaller part for all who met several opponents (P. Siden, F. Lindgren, D. Bolin and
M. Villani, "Efficient covariance approximations for large sparse precision matrices", 2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict

import numpy as np

from miai.errors import ConfigError, near_matches
from miai_tournaments.ratings import model as newton
from miai_tournaments.ratings.model import (
    Floats,
    Posterior,
    PosteriorPoint,
    SparseInformation,
    maximise,
    outcomes,
)
from miai_tournaments.ratings.pair_results import PairResults, ScoredGame
from miai_tournaments.ratings.plackett_luce import RankingModel
from miai_tournaments.ratings.rankings import Rankings

ELO: Final = 400 / math.log(10)
"""Elo points per unit of a natural logarithm of odds."""

Z95: Final = 1.959963984540054
"""Half the width of a 95 % interval, in standard errors."""

PRIOR_GAMES: Final = 0.5
"""Weight of the default prior in games: a standard deviation of 1019 Elo."""

PRIOR_RANGE: Final = (1e-3, 1e3)

_LARGEST_ANCHOR: Final = 1e6
LARGE: Final = 1000
"""Number of players beyond which no matrix of players by players is made."""

_SAMPLES: Final = 48
_SEED: Final = 1
_STEP, _SAMPLE = 1e-8, 1e-3  # how far conjugate gradients reduce the residual


@dataclass(frozen=True, slots=True, kw_only=True)
class FitValue:
    """A number with its standard error and 95 % interval, all in the same unit."""

    value: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def normal(cls, value: float, standard_error: float) -> FitValue:
        """Return the estimate whose interval is 1.96 standard errors to either side."""
        margin = Z95 * standard_error
        return cls(
            value=value, standard_error=standard_error, low=value - margin, high=value + margin
        )

    def to_json(self, key: str) -> dict[str, float]:
        """Return the estimate as plain data, its value under `key`."""
        ends = {"low": self.low, "high": self.high}
        return {key: self.value, "standard_error": self.standard_error, **ends}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """Fitted ratings; all numbers are finite for any results.

    Attributes:
      players: names, K of them, in the order of the arrays.
      elo: ``(K,)`` ratings.
      covariance: ``(K, K)`` covariance of the ratings, Elo squared; of more than `LARGE` players
        the variances alone, ``(K,)``, which serve `estimate` and nothing else.
      games, points: ``(K,)`` totals of each player.
      anchor, anchor_elo: player with a fixed rating, and that rating; without an anchor the mean
        is fixed.
      prior_games: weight of the prior.
      first_player_advantage: value of moving first in Elo; None if not fitted.
      draw_probability: for a game between equals (advantage balanced); None without draws.
      log_nu: logarithm of Davidson's draw weight; -inf without draws.
      groups: ratings compare only within a group; see `PairResults.groups`.
      one_sided: distances between these rest on the prior; see `PairResults.one_sided`.
      hides_first_move: whether only the prior separates strength from the value of moving first;
        see `PairResults.hides_first_move`.
      log_posterior: log-posterior at the fit, up to a constant.
      seats: of a fit of rankings, for each kind of game the value of each seat in Elo, relative to
        the mean of the seats.
    """

    players: tuple[str, ...]
    elo: Floats
    covariance: Floats
    games: Floats
    points: Floats
    anchor: str | None
    anchor_elo: float
    prior_games: float
    first_player_advantage: FitValue | None = None
    draw_probability: FitValue | None = None
    log_nu: float = -math.inf
    groups: tuple[tuple[str, ...], ...]
    one_sided: tuple[tuple[str, ...], ...]
    hides_first_move: bool = False
    log_posterior: float
    seats: tuple[tuple[FitValue, ...], ...] = ()

    @property
    def standard_errors(self) -> Floats:
        """``(K,)`` standard errors in Elo, relative to the anchor or the mean."""
        return np.asarray(np.sqrt(np.maximum(_diagonal(self.covariance), 0.0)))

    def estimate(self, player: str) -> FitValue:
        """Return a player's rating. Raises `KeyError` for an unknown name."""
        index = self._index(player)
        return FitValue.normal(float(self.elo[index]), float(self.standard_errors[index]))

    def difference(self, player: str, other: str) -> FitValue:
        """Return the rating of `player` minus that of `other`, using their covariance."""
        i, j = self._index(player), self._index(other)
        error = float(self._difference_errors()[i, j])
        return FitValue.normal(float(self.elo[i] - self.elo[j]), error)

    def mean(self, players: Sequence[str]) -> FitValue:
        """Return the mean rating of some players, such as a team. Raises `KeyError`."""
        places = [self._index(name) for name in players]
        variance = float(self.covariance[np.ix_(places, places)].mean())
        return FitValue.normal(float(self.elo[places].mean()), math.sqrt(max(variance, 0.0)))

    def superiority(self) -> Floats:
        """Return ``(K, K)`` probabilities that the player of the row is the stronger one.

        They use the normal approximation of the posterior; the diagonal is one half.
        """
        errors = self._difference_errors()
        gaps = self.elo[:, None] - self.elo[None, :]
        ratio = np.divide(gaps, errors, out=np.zeros_like(gaps), where=errors > 0)
        return np.asarray(_erfc(-ratio / math.sqrt(2)) / 2, dtype=np.float64)

    def ranking(self) -> list[int]:
        """Return indices of the players, best first; those without games last, ties by name."""
        keys = [
            (not n, -e, name) for n, e, name in zip(self.games, self.elo, self.players, strict=True)
        ]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def _difference_errors(self) -> Floats:
        variance = np.diagonal(self.covariance)
        squared = variance[:, None] + variance[None, :] - 2 * self.covariance
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def _index(self, player: str) -> int:
        try:
            return self.players.index(player)
        except ValueError:
            raise KeyError(f"no player '{player}'. {near_matches(player, self.players)}") from None


class FitOptions(TypedDict):
    """The options that all fits have; see `fit_ratings`."""

    anchor: str | None
    anchor_elo: float
    prior_games: float


def fit_results(
    results: PairResults | Rankings,
    *,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
) -> Ratings:
    """Return the ratings of results of either kind, by `fit_ratings` or `fit_rankings`."""
    options = FitOptions(anchor=anchor, anchor_elo=anchor_elo, prior_games=prior_games)
    if isinstance(results, Rankings):
        return fit_rankings(results, **options)
    return fit_ratings(results, **options)


def fit_ratings(
    results: PairResults | Iterable[ScoredGame],
    *,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
    first_player_advantage: bool = True,
    players: Sequence[str] = (),
) -> Ratings:
    """Return the ratings at the maximum of the posterior (MAP), with their covariance.

    Args:
      results: results, or games for `PairResults.from_games`.
      anchor: player whose rating is fixed at `anchor_elo`; None fixes the mean.
      prior_games: weight of the prior in games per player; see `Posterior`. It keeps the ratings of
        perfect scores finite.
      first_player_advantage: whether to fit the value of moving first; otherwise it is zero.
      players: names to rate besides those in the games.

    Raises:
      ConfigError: the anchor is not a player, or `anchor_elo` or `prior_games` is out of range.
      ValueError: as `PairResults.from_games`.
    """
    if not isinstance(results, PairResults):
        results = PairResults.from_games(results, players=players)
    check_options(results.players, anchor, anchor_elo, prior_games)
    drawn = bool(results.draws.any())
    k = len(results.players)
    posterior = Posterior(
        results.batch(), k, prior_games=prior_games, advantage=first_player_advantage, draws=drawn
    )
    if k > LARGE:
        place = None if anchor is None else results.players.index(anchor)
        fit, covariance = fit_large(posterior, anchor=place)
    else:
        fit = newton.maximise(posterior)
        covariance = newton.covariance(fit.information())[0]
    parameters, errors = fit.parameters[0], np.sqrt(_diagonal(covariance))
    scale = FitOptions(anchor=anchor, anchor_elo=anchor_elo, prior_games=prior_games)
    return replace(
        _strengths(parameters, covariance, results, results, **scale),
        log_posterior=float(fit.value()[0]),
        first_player_advantage=(
            FitValue.normal(ELO * float(parameters[k]), ELO * float(errors[k]))
            if first_player_advantage
            else None
        ),
        draw_probability=_draws(float(parameters[-1]), float(errors[-1])) if drawn else None,
        log_nu=float(parameters[-1]) if drawn else -math.inf,
        hides_first_move=first_player_advantage and results.hides_first_move(),
    )


def fit_rankings(
    rankings: Rankings,
    *,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
) -> Ratings:
    """Return the ratings of games of any number of players at the maximum of the posterior (MAP).

    See `miai_tournaments.ratings.plackett_luce` for the model. For games of two it is that of
    `fit_ratings`.

    Args:
      anchor: player whose rating is fixed at `anchor_elo`; None fixes the mean.
      prior_games: weight of the prior in games per player.

    Raises:
      ConfigError: as `fit_ratings`.
    """
    check_options(rankings.players, anchor, anchor_elo, prior_games)
    model = RankingModel(rankings)
    counts = np.concatenate([np.zeros(0), *(kind.count for kind in rankings.kinds)])
    posterior = model.posterior(counts[None], prior_games=prior_games)
    fit = newton.maximise(posterior)
    parameters, covariance = fit.parameters[0], newton.covariance(fit.information())[0]
    scale = FitOptions(anchor=anchor, anchor_elo=anchor_elo, prior_games=prior_games)
    return replace(
        _strengths(parameters, covariance, rankings, rankings.pairs(), **scale),
        log_posterior=float(fit.value()[0]),
        hides_first_move=rankings.hides_seats(),
        seats=tuple(_seat_values(columns, parameters, covariance) for columns in model.seats),
    )


def _strengths(
    parameters: Floats,
    covariance: Floats,
    results: PairResults | Rankings,
    pairs: PairResults,
    *,
    anchor: str | None,
    anchor_elo: float,
    prior_games: float,
) -> Ratings:
    """Return what is the same for games of two and of more: all about the players' strengths.

    They are the first parameters; `covariance` is that of all, or their variances relative to the
    anchor. `pairs` says who finished ahead of whom.
    """
    k = len(results.players)
    strengths, covariance = parameters[:k], covariance[..., :k]
    if covariance.ndim == 1:
        zero = strengths.mean() if anchor is None else strengths[results.players.index(anchor)]
        relative = strengths - zero
    else:
        shift = gauge(results.players, anchor)
        relative, covariance = shift @ strengths, shift @ covariance[:k] @ shift.T
    games, points = results.totals()
    return Ratings(
        players=results.players,
        elo=ELO * relative + anchor_elo,
        covariance=ELO**2 * covariance,
        games=games,
        points=points,
        anchor=anchor,
        anchor_elo=anchor_elo,
        prior_games=prior_games,
        groups=pairs.groups(),
        one_sided=pairs.one_sided(strengths),
        log_posterior=math.nan,
    )


def _seat_values(
    columns: Sequence[int], parameters: Floats, covariance: Floats
) -> tuple[FitValue, ...]:
    """Return the values of the seats of a kind of game relative to their mean; the last is zero."""
    n = len(columns)
    free = list(columns[:-1])
    centre = np.eye(n)[:, :-1] - 1 / n
    values = ELO * centre @ parameters[free]
    variances = np.diagonal(centre @ covariance[np.ix_(free, free)] @ centre.T)
    errors = ELO * np.sqrt(np.maximum(variances, 0.0))
    return tuple(FitValue.normal(float(v), float(e)) for v, e in zip(values, errors, strict=True))


def check_options(
    players: Sequence[str], anchor: str | None, anchor_elo: float, prior_games: float
) -> None:
    """Raise `ConfigError` if an option of a fit is out of range."""
    if anchor is not None and anchor not in players:
        raise ConfigError(f"anchor: no player '{anchor}'. {near_matches(anchor, players)}")
    if not abs(anchor_elo) <= _LARGEST_ANCHOR:
        raise ConfigError(
            f"anchor_elo: is {anchor_elo}; give a rating within {_LARGEST_ANCHOR:.0f} of zero"
        )
    low, high = PRIOR_RANGE
    if not low <= prior_games <= high:
        raise ConfigError(
            f"prior_games: is {prior_games}; give a number of games from {low:g} to {high:g}: "
            "without a prior a perfect score has no finite rating"
        )


def _diagonal(covariance: Floats) -> Floats:
    return covariance if covariance.ndim == 1 else np.diagonal(covariance)


def gauge(players: Sequence[str], anchor: str | None) -> Floats:
    """Return the matrix ``(K, K)`` that makes strengths relative to the anchor or their mean."""
    k = len(players)
    reference = np.zeros((k, k))
    if anchor is None:
        reference += 1 / max(k, 1)
    else:
        reference[:, players.index(anchor)] = 1.0
    return np.asarray(np.eye(k) - reference)


def _draws(log_nu: float, error: float) -> FitValue:
    """Return the probability of a draw between equals, with an interval from that of log nu."""
    low, value, high = (
        float(outcomes(np.zeros(()), np.array(log_nu + sign * Z95 * error))[1])
        for sign in (-1.0, 0.0, 1.0)
    )
    return FitValue(value=value, standard_error=value * (1 - value) * error, low=low, high=high)


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


# -- leagues of thousands of players --------------------------------------------------------------


def fit_large(posterior: Posterior, *, anchor: int | None) -> tuple[PosteriorPoint, Floats]:
    """Return the maximum of a league's posterior, and the variances of its parameters ``(P,)``.

    Args:
      posterior: of one league.
      anchor: index of the player to whom variances of strengths are relative; None for the mean.
    """

    def step_at(point: PosteriorPoint, gradient: Floats) -> Floats:
        return conjugate_gradients(point.sparse_information(), gradient[0], _STEP)[None]

    point = maximise(posterior, step_at=step_at)
    return point, _variances(point.sparse_information(), posterior.players, anchor)


def _variances(information: SparseInformation, players: int, anchor: int | None) -> Floats:
    rng, diagonal = np.random.default_rng(_SEED), information.diagonal()
    squares, own = np.zeros(information.size), 0.0
    for _ in range(_SAMPLES):
        noise = information.noise(rng)
        sample = conjugate_gradients(information, noise, _SAMPLE)
        mean = sample - noise / diagonal
        centre = sample[:players].mean()
        mean[:players] -= centre if anchor is None else sample[anchor]
        squares += mean**2
        own += 0.0 if anchor is None else (sample[anchor] - centre) ** 2
    variances = np.asarray(1 / diagonal + squares / _SAMPLES)
    if anchor is not None:
        # The anchor's own variance and covariances are exact, a column of the inverse; its sampled
        # variance is a control variate with the coefficients of a normal distribution.
        unit = np.zeros(information.size)
        unit[:players] = -1 / players
        unit[anchor] += 1
        column = conjugate_gradients(information, unit, _STEP)[:players]
        column -= column.mean()
        exact = column[anchor]
        variances[:players] += (column / exact - 1) ** 2 * (exact - own / _SAMPLES)
        variances = np.maximum(variances, 1 / diagonal)
        variances[anchor] = 0.0
    return variances


def conjugate_gradients(information: SparseInformation, vector: Floats, tolerance: float) -> Floats:
    """Return information^-1 vector ``(P,)``, the residual reduced to a share `tolerance`."""
    diagonal = information.diagonal()
    solution, residual = np.zeros_like(vector), vector.copy()
    scaled = residual / diagonal
    direction, size = scaled, float(residual @ scaled)
    enough = size * tolerance**2
    for _ in range(information.size):
        if size <= enough:
            break
        product = information.product(direction)
        length = size / float(direction @ product)
        solution += length * direction
        residual -= length * product
        scaled = residual / diagonal
        before, size = size, float(residual @ scaled)
        direction = scaled + size / before * direction
    return solution
