"""Newton's method on a batch of log-posteriors, and the covariance at their maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from miai_tournaments.ratings.model import Floats, Point, Posterior

MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-14
"""Newton stops after a step whose squared length, in standard errors, was below this."""

ROUNDING: Final = 1e-6
"""It also stops where such a squared length no longer shrinks: there rounding is all there is."""

_LONGEST_STEP: Final = 8.0
_MOST_HALVINGS: Final = 60
_OVERSTEP: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The maxima of a batch.

    Attributes:
      parameters: ``(B, P)``.
      information: ``(B, P, P)``, minus the Hessian at the maximum; positive definite.
      log_posterior: ``(B,)``, at the maximum, up to a constant.
      iterations: Newton steps taken.
    """

    parameters: Floats
    information: Floats
    log_posterior: Floats
    iterations: int


def maximise(posterior: Posterior, *, start: Floats | None = None) -> Fit:
    """Return the maxima of a posterior, by Newton's method with backtracking.

    `start` is where to begin, shaped ``(P,)`` or ``(B, P)``; by default `Posterior.start`.

    A step is shortened to 8 natural units, and halved until it no longer oversteps the maximum
    along its line by much. On a concave function that gains at least half of what the line has to
    give, so it converges from anywhere (Boyd and Vandenberghe, Convex Optimization, 2004, 9.5).
    The slope decides, not the value: of a million games, rounding hides what a prior of a
    fraction of a game adds to the value.

    Raises:
      ArithmeticError: it did not, which is a defect of miai.
    """
    parameters = posterior.start()
    if start is not None:
        parameters[:] = start
    point = posterior.at(parameters)
    settled = np.zeros(posterior.leagues, dtype=np.bool_)
    previous = np.full(posterior.leagues, np.inf)
    for iteration in range(1, MAX_ITERATIONS + 1):
        gradient = point.gradient()
        step = solve(point.information(), gradient)
        decrement = (gradient * step).sum(axis=1)
        settled |= (decrement <= ROUNDING) & (decrement > previous / 2)
        if np.all(settled | (decrement <= TOLERANCE)):
            return _fit(posterior.at(point.parameters + step), iteration)
        previous = decrement
        point = _line_search(posterior, point, step, decrement)
    raise ArithmeticError(
        f"the fit of {posterior.players} ratings did not converge in {MAX_ITERATIONS} steps; the "
        "posterior is concave, so this is a defect: please report the results that caused it"
    )


def _fit(point: Point, iterations: int) -> Fit:
    return Fit(
        parameters=point.parameters,
        information=point.information(),
        log_posterior=point.value(),
        iterations=iterations,
    )


def _line_search(posterior: Posterior, point: Point, step: Floats, decrement: Floats) -> Point:
    """Return the point after the longest of the halved steps that does not overstep."""
    scale = np.minimum(1.0, _LONGEST_STEP / np.abs(step).max(axis=1, initial=_LONGEST_STEP))
    value = point.value()
    noise = 1e-12 * (1 + np.abs(value))
    for _ in range(_MOST_HALVINGS):
        reached = posterior.at(point.parameters + scale[:, None] * step)
        slope = (reached.gradient() * step).sum(axis=1)
        overstepped = (slope < -_OVERSTEP * decrement) | (reached.value() < value - noise)
        if not overstepped.any():
            break
        scale = np.where(overstepped, scale / 2, scale)
    return reached


def solve(information: Floats, vectors: Floats) -> Floats:
    """Return information^-1 vectors, ``(B, P)``; its products with the vectors are positive."""
    scaled, scale = _scaled(information)
    try:
        np.linalg.cholesky(scaled)  # refuses what rounding has left indefinite
        solved = np.linalg.solve(scaled, (vectors * scale)[:, :, None])[:, :, 0] * scale
    except np.linalg.LinAlgError:
        pass
    else:
        if ((solved * vectors).sum(axis=1) >= 0).all():
            return np.asarray(solved)
    root = _root(information)
    return np.asarray((root @ (root.transpose(0, 2, 1) @ vectors[:, :, None]))[:, :, 0])


def covariance(information: Floats) -> Floats:
    """Return the inverse of information ``(B, P, P)``: symmetric, its variances positive."""
    root = _root(information)
    return np.asarray(root @ root.transpose(0, 2, 1))


def _root(information: Floats) -> Floats:
    """Return R with R R^T = information^-1.

    Where rounding leaves an eigenvalue of next to nothing, or less, it is raised to what rounding
    can tell: so that a step is always upwards, and a variance positive and finite, also where a
    billion games meet a thousandth of one.
    """
    scaled, scale = _scaled(information)
    values, vectors = np.linalg.eigh(scaled)
    least = information.shape[1] * np.finfo(np.float64).eps
    return np.asarray(scale[:, :, None] * vectors / np.sqrt(np.maximum(values, least))[:, None, :])


def _scaled(information: Floats) -> tuple[Floats, Floats]:
    """Return information with a unit diagonal, which is better conditioned, and the scale."""
    scale = 1 / np.sqrt(np.diagonal(information, axis1=1, axis2=2))
    return information * scale[:, :, None] * scale[:, None, :], scale
