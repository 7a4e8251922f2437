"""Fits leagues of thousands of players in memory and time that grow with their pairings.

Newton's steps are found by conjugate gradients. For variances, b is drawn with the information I as
its covariance, so that the solution x of I x = b has the posterior's. Given all other parameters,
x_i has the mean x_i - b_i / I_ii and the variance 1 / I_ii, so only the variance of that mean is
estimated: the smaller part for all who met several opponents (P. Siden, F. Lindgren, D. Bolin and
M. Villani, "Efficient covariance approximations for large sparse precision matrices", 2018).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from miai_tournaments.ratings.model import (
    Floats,
    Posterior,
    PosteriorPoint,
    SparseInformation,
    maximise,
)

LARGE: Final = 1000
"""Number of players beyond which no matrix of players by players is made."""

_SAMPLES: Final = 48
_SEED: Final = 1
_STEP, _SAMPLE = 1e-8, 1e-3  # how far conjugate gradients reduce the residual


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
