"""Which two players should meet next: sequential designs by Fisher information.

A pair of games between i and j, colours swapped, tells w = I(x + advantage) + I(advantage - x) of
their difference x: the Fisher information of both games. It turns the covariance C of the ratings
into

    C - w C u u' C / (1 + w u' C u),      u = e_i - e_j            (Sherman and Morrison 1950)

so the next pair is compared with all others in a few operations on arrays ``(K, K)``.

The next pair is the one after which the widest intervals are narrowest. A maximum is flat where
several intervals are equally wide, so variances v count as the sum of v^32 over the eight widest,
which a pair lowers in proportion to sum v^31 w (C_ti - C_tj)^2 / (1 + w u' C u).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_tournaments.ratings.model import Floats, curvature, outcomes
from miai_tournaments.ratings.ratings import ELO, Ratings

Ints = NDArray[np.intp]

_WIDEST: Final = 8
_POWER: Final = 32
_GRID: Final = 400
_REFINEMENTS: Final = 6
_TIED: Final = 1e-6
"""Gains closer than this fraction are equal: the first pair wins, whatever rounding says."""
_FEW: Final = 100
"""Maximum number of players of whom all pairs are compared."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """Values as uncorrelated contrasts, without their mean.

    A random-effects model: true values vary about their mean, and estimates about them with a known
    covariance. The variance of the true values is estimated by restricted maximum likelihood
    (REML), which uses differences only, so that neither an anchor nor shared errors matter.

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
        """Return the contrasts of values ``(n,)`` whose errors have the covariance ``(n, n)``."""
        n = len(values)
        # Helmert's contrasts: each value against the mean of those before it.
        before = np.arange(1, n)
        start = np.triu(np.ones((n, n - 1)))
        start[before, before - 1] = -before
        start /= np.sqrt(before * (before + 1.0))
        variances, turn = np.linalg.eigh(start.T @ covariance @ start)
        basis = start @ turn
        # Rounding may leave the smallest variance zero or negative, and its weight would be
        # infinite.
        least = float(variances[-1]) * n * float(np.finfo(np.float64).eps)
        return cls(
            basis=basis,
            differences=np.asarray(basis.T @ values),
            variances=np.asarray(np.maximum(variances, least)),
        )

    def between(self) -> float:
        """Return the REML estimate of the variance of the true values, at least 0."""
        low, high = 0.0, float((self.differences**2).max())
        best = 0.0
        # The profile may have several local minima, so a grid looks for the global one, to within
        # its spacing; each round narrows the interval around its best point.
        for _ in range(_REFINEMENTS):
            grid = np.linspace(low, high, _GRID)
            total = grid[:, None] + self.variances
            loss = (np.log(total) + self.differences**2 / total).sum(axis=1)
            place = int(loss.argmin())
            best = float(grid[place])
            low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, _GRID - 1)])
        return best


def pair_information(ratings: Ratings) -> Floats:
    """Return the Fisher information ``(K, K)`` of two games with swapped colours, per Elo squared.

    It is about the difference of the two players' ratings, at ratings that are shrunk as far as
    their errors ask for (empirical Bayes). At the fitted ones, an error that takes two players
    apart would also keep them from meeting, and so from being corrected: all ratings would drift
    apart.
    """
    contrasts = Contrasts.of(ratings.elo / ELO, ratings.covariance / ELO**2)
    between = float(f"{contrasts.between():.3g}")  # so that its last digits decide no tie
    shrinkage = between / (between + contrasts.variances)
    strengths = contrasts.basis @ (shrinkage * contrasts.differences)
    advantage = ratings.first_player_advantage
    x = strengths[:, None] - strengths + (advantage.value / ELO if advantage else 0.0)
    # Transposing exchanges the colours, so the sum is the information of both games of a pair.
    information, _, _ = curvature(*outcomes(x, np.array(ratings.log_nu)))
    return np.asarray((information + information.T) / ELO**2)


class PairDesign:
    """Chooses pairs one by one, each as if those before it were played.

    Args:
      covariance: ``(K, K)`` covariance of the ratings, Elo squared.
      information: ``(K, K)`` information of a pair of games, see `pair_information`.

    Attributes:
      covariance: expected covariance after the chosen pairs.
    """

    def __init__(self, covariance: Floats, information: Floats) -> None:
        self.covariance = covariance.copy()
        self._information = information

    def add(self, i: int, j: int) -> None:
        """Count a pair of games between two players as played."""
        effect = self.covariance[:, i] - self.covariance[:, j]
        w = self._information[i, j]
        self.covariance -= np.outer(effect * (w / (1 + w * (effect[i] - effect[j]))), effect)

    def choose(self) -> tuple[int, int]:
        """Return the next two players, and count their games as played.

        One of many players has one of the widest intervals. A pair without is hardly ever worth
        more, and to compare a thousand players with each other takes 80 ms a pair.
        """
        variances = np.diagonal(self.covariance)
        relative = np.round(variances / variances.max(), 9)  # equal players stay in their order
        widest = np.argsort(-relative, kind="stable")[:_WIDEST]
        ones = np.arange(len(variances)) if len(variances) <= _FEW else widest
        gains = self._gains(ones, widest, relative[widest] ** (_POWER - 1))
        gains[np.arange(len(ones)), ones] = -np.inf
        best, others = np.nonzero(gains >= gains.max() * (1 - _TIED))
        i, j = min(map(sorted, zip(ones[best].tolist(), others.tolist(), strict=True)))
        self.add(i, j)
        return i, j

    def _gains(self, ones: Ints, widest: Ints, weights: Floats) -> Floats:
        """Return what the pairs of some players ``(N,)`` with all are worth, ``(N, K)``.

        A maximum of variances has no useful slope where several are equal; a high power is its
        smooth stand-in, over the few that matter.
        """
        rows, information = self.covariance[widest], self._information[ones]
        informed = information * _distances(
            self.covariance[ones], np.diagonal(self.covariance), ones
        )
        weighted = rows * weights[:, None]
        shrinkage = _distances(weighted[:, ones].T @ rows, (weighted * rows).sum(axis=0), ones)
        return np.asarray(information * shrinkage / (1 + informed))


def _distances(products: Floats, diagonal: Floats, ones: Ints) -> Floats:
    """Return u' M u for differences u of some with all, from those rows of M and its diagonal."""
    return np.asarray(diagonal[ones, None] + diagonal - 2 * products)
