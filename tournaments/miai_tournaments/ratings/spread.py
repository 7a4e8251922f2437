"""The spread of true ratings beyond their errors, and ratings of teams.

A random-effects model: true ratings vary about their mean with standard deviation tau, and
estimates vary about them with the known covariance of the fit. tau is estimated by restricted
maximum likelihood (REML), which uses differences only, so that neither an anchor nor shared errors
matter. The test is Cochran's Q (DerSimonian and Laird, Controlled Clinical Trials 7, 1986); the
interval is its profile (Viechtbauer, Statistics in Medicine 26, 2007). All are generalised to
correlated errors.

A team may be one agent with several seeds, networks of several trainings, or variants of one idea.
Its members are players of one fit, so their errors are correlated; all figures use the covariance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from miai.errors import ConfigError, near_matches
from miai_tournaments.ratings.model import Floats
from miai_tournaments.ratings.ratings import Estimate, Ratings

_GRID: Final = 400
_REFINEMENTS: Final = 6
_HALVINGS: Final = 200


def chi_square_tail(value: float, degrees: int) -> float:
    """Return the probability that chi-square with `degrees` degrees of freedom exceeds `value`.

    A finite sum (Abramowitz and Stegun, 26.4.4 and 26.4.5), with terms in logarithms so that none
    overflows. Raises `ValueError` without a degree of freedom.
    """
    if degrees < 1:
        raise ValueError(f"chi-square of {degrees} degrees of freedom; at least one is needed")
    if value <= 0:
        return 1.0
    half = value / 2
    powers = np.arange(degrees // 2) + (degrees % 2) / 2
    logs = [power * math.log(half) - half - math.lgamma(power + 1) for power in powers.tolist()]
    odd = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    return min(1.0, odd + math.fsum(math.exp(term) for term in logs))


def chi_square_quantile(tail: float, degrees: int) -> float:
    """Return the value that chi-square exceeds with probability `tail`, between 0 and 1."""
    high = 1.0
    while chi_square_tail(high, degrees) > tail:
        high *= 2
    return _crossing(lambda value: chi_square_tail(value, degrees), tail, high)


def _crossing(function: Callable[[float], float], target: float, high: float) -> float:
    """Return where a falling function, which is lower at `high`, reaches a target above 0."""
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if function(middle) > target:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The standard deviation of true values, in their unit.

    Attributes:
      value: the estimate; 0 if errors explain the whole variation.
      low, high: 95 % interval.
      q: Cochran's Q: squared deviations in units of their errors; about `members` - 1 by chance.
      p_value: probability of a Q as large if all true values are equal.
      members: number of values.
    """

    value: float
    low: float
    high: float
    q: float
    p_value: float
    members: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """Values as uncorrelated contrasts, without their mean.

    Attributes:
      basis: ``(n, n - 1)`` orthonormal columns that sum to zero.
      differences: ``(n - 1,)`` coordinates of the values in this basis.
      variances: ``(n - 1,)`` variances of their errors, positive.
    """

    basis: Floats
    differences: Floats
    variances: Floats

    @classmethod
    def of(cls, values: Floats, covariance: Floats) -> Contrasts:
        """Return the contrasts of values ``(n,)`` with the covariance ``(n, n)`` of their errors.

        Raises:
          ValueError: there are fewer than two values, or errors without a variance.
        """
        n = len(values)
        if n < 2:
            raise ValueError("a spread needs at least two values")
        start = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
        variances, turn = np.linalg.eigh(start.T @ covariance @ start)
        largest = float(variances[-1])
        if not (np.isfinite(largest) and largest > 0):
            raise ValueError("a spread needs errors with a positive, finite variance")
        basis = start @ turn
        least = largest * n * float(np.finfo(np.float64).eps)
        return cls(
            basis=basis,
            differences=np.asarray(basis.T @ values),
            variances=np.asarray(np.maximum(variances, least)),
        )

    def between(self) -> float:
        """Return the REML estimate of the variance of the true values, at least 0."""
        low, high = 0.0, float((self.differences**2).max())
        best = 0.0
        for _ in range(_REFINEMENTS):
            grid = np.linspace(low, high, _GRID)
            total = grid[:, None] + self.variances
            loss = (np.log(total) + self.differences**2 / total).sum(axis=1)
            place = int(loss.argmin())
            best = float(grid[place])
            low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, _GRID - 1)])
        return best

    def q(self, between: float = 0.0) -> float:
        """Return Cochran's Q if the true values have variance `between`."""
        return float((self.differences**2 / (between + self.variances)).sum())


def fit_spread(values: Floats, covariance: Floats) -> Spread:
    """Return the spread of values ``(n,)`` with the covariance ``(n, n)`` of their errors.

    Raises `ValueError` as `Contrasts.of`.
    """
    contrasts = Contrasts.of(values, covariance)
    degrees = len(contrasts.differences)
    low, high = (_profile(contrasts, chi_square_quantile(t, degrees)) for t in (0.025, 0.975))
    q = contrasts.q()
    return Spread(
        value=math.sqrt(contrasts.between()),
        low=math.sqrt(low),
        high=math.sqrt(high),
        q=q,
        p_value=chi_square_tail(q, degrees),
        members=degrees + 1,
    )


def _profile(contrasts: Contrasts, target: float) -> float:
    """Return the variance at which Q falls to `target`; 0 if it is below anyway."""
    if contrasts.q() <= target:
        return 0.0
    return _crossing(contrasts.q, target, float((contrasts.differences**2).sum()) / target)


def team_rating(ratings: Ratings, members: Sequence[str]) -> Estimate:
    """Return the mean rating of a team's members, Elo, relative to the anchor or the mean.

    The error is for these members; for other members of the same kind add `team_spread`.

    Raises:
      ConfigError: the team is empty, or names a player twice or an unknown one.
    """
    return _combined(ratings, _weights(ratings, members))


def team_difference(ratings: Ratings, members: Sequence[str], others: Sequence[str]) -> Estimate:
    """Return the mean rating of one team minus that of another. Raises as `team_rating`."""
    return _combined(ratings, _weights(ratings, members) - _weights(ratings, others))


def team_spread(ratings: Ratings, members: Sequence[str]) -> Spread:
    """Return the standard deviation of the members' true ratings, Elo, beyond noise.

    Raises:
      ConfigError: as `team_rating`, or the team has only one member.
    """
    places = _indices(ratings, members)
    if len(places) < 2:
        raise ConfigError(f"team: has one member, '{members[0]}'; a spread needs at least two")
    return fit_spread(ratings.elo[places], ratings.covariance[np.ix_(places, places)])


def _weights(ratings: Ratings, members: Sequence[str]) -> Floats:
    places, weights = _indices(ratings, members), np.zeros(len(ratings.players))
    weights[places] = 1 / len(places)
    return weights


def _combined(ratings: Ratings, weights: Floats) -> Estimate:
    variance = float(weights @ ratings.covariance @ weights)
    return Estimate.normal(float(weights @ ratings.elo), math.sqrt(max(variance, 0.0)))


def _indices(ratings: Ratings, members: Sequence[str]) -> list[int]:
    if not members:
        raise ConfigError("team: has no members; name its players")
    for name in members:
        if name not in ratings.players:
            raise ConfigError(f"team: no player '{name}'. {near_matches(name, ratings.players)}")
    if len(set(members)) < len(members):
        raise ConfigError("team: has a member twice; name each player once")
    return [ratings.players.index(name) for name in members]
