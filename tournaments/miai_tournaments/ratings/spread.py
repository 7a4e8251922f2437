"""How far ratings truly lie apart, beyond what their errors explain.

A random-effects model: true ratings spread about their mean with a standard deviation tau, and
what was measured spreads about these with the known covariance of the fit. tau is estimated by
restricted maximum likelihood (REML), which only looks at differences, so that neither an anchor
nor the errors that all ratings share have a part in it. The test is Cochran's Q, as DerSimonian
and Laird (Controlled Clinical Trials 7, 1986) have it; the interval is its profile (Viechtbauer,
Statistics in Medicine 26, 2007). All of it here for errors that are correlated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from miai_tournaments.ratings.chi_square import chi_square_quantile, chi_square_tail
from miai_tournaments.ratings.model import Floats

_GRID: Final = 400
_REFINEMENTS: Final = 6
_HALVINGS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The standard deviation of true values, in their unit.

    Attributes:
      value: the estimate; 0 where errors explain all there is to see.
      low, high: 95 % interval.
      q: Cochran's Q: squared deviations in units of their errors; about `members` - 1 by chance.
      p_value: the chance of a Q as large where all true values are equal.
      members: how many values there are.
    """

    value: float
    low: float
    high: float
    q: float
    p_value: float
    members: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """Values as uncorrelated differences, without their mean.

    Attributes:
      basis: ``(n, n - 1)`` columns that are orthonormal and sum to zero.
      differences: ``(n - 1,)``: what the values are in this basis.
      variances: ``(n - 1,)`` of the errors of the differences, positive.
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
            raise ValueError("a spread is of two values at least")
        start = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
        variances, turn = np.linalg.eigh(start.T @ covariance @ start)
        largest = float(variances[-1])
        if not (np.isfinite(largest) and largest > 0):
            raise ValueError("a spread is of values whose errors have a variance")
        basis = start @ turn
        least = largest * n * float(np.finfo(np.float64).eps)
        return cls(
            basis=basis,
            differences=np.asarray(basis.T @ values),
            variances=np.asarray(np.maximum(variances, least)),
        )

    def between(self) -> float:
        """Return the REML estimate of the variance of the true values, from 0."""
        low, high = 0.0, float((self.differences**2).max())
        best = 0.0
        for _ in range(_REFINEMENTS):
            grid = np.linspace(low, high, _GRID)
            total = grid[:, None] + self.variances
            loss = (np.log(total) + self.differences**2 / total).sum(axis=1)
            at = int(loss.argmin())
            best = float(grid[at])
            low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, _GRID - 1)])
        return best

    def q(self, between: float = 0.0) -> float:
        """Return Cochran's Q where the true values have the variance `between`."""
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
    """Return the variance at which Q has come down to `target`; 0 where it is below anyway."""
    low = high = 0.0
    if contrasts.q() <= target:
        return 0.0
    high = float((contrasts.differences**2).sum()) / target
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if contrasts.q(middle) > target:
            low = middle
        else:
            high = middle
    return high
