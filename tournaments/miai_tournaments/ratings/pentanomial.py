"""How likely the results of pairs of games are at best, where a hypothesis holds.

The two games of a colour-swapped pair share their opening, so they are one observation with five
outcomes: 0, 1/2, 1, 3/2 or 2 points for the first player. A hypothesis fixes the mean score a
game, or the normalised one: mean less one half, in standard deviations. Everything else about the
five probabilities is free, and is put where the results are likeliest. Lagrange's method makes of
either hypothesis one equation in one unknown (Van den Bergh, Comments on normalized Elo, 2021;
the same author's notes on the maximum-likelihood estimate of a multinomial distribution).

Everything works on a batch: R rows of counts, one for each number of pairs played. All methods
are exact up to rounding, and everything is finite: an outcome that was never seen counts as a
thousandth of a pair.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_tournaments.ratings.model import Floats

SCORES: Final = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""Points a game of the five outcomes of a pair."""

UNSEEN: Final = 1e-3
"""Pairs that an outcome counts as long as it was not seen."""

_MOST_STEPS: Final = 200
_MOST_NEWTON_STEPS: Final = 30
_CLOSE: Final = 1e-11
_EVEN: Final = 0.5


def log_ratio_of_means(counts: Floats, mean0: float, mean1: float) -> Floats:
    """Return ln(likelihood of `mean1` / likelihood of `mean0`), ``(R,)``.

    Args:
      counts: ``(R, 5)`` numbers of pairs by outcome.
      mean0, mean1: points a game that the hypotheses expect, between 0 and 1.
    """
    seen = np.where(counts > 0, counts, UNSEEN)
    return _cost_of_mean(seen, mean0) - _cost_of_mean(seen, mean1)


def log_ratio_of_normalised(counts: Floats, t0: float, t1: float) -> Floats:
    """Return ln(likelihood of `t1` / likelihood of `t0`), ``(R,)``.

    Args:
      counts: ``(R, 5)`` numbers of pairs by outcome.
      t0, t1: (mean - 1/2) / standard deviation that the hypotheses expect of a pair's points a
        game.
    """
    seen = np.where(counts > 0, counts, UNSEEN)
    return _cost_of_normalised(seen, t0) - _cost_of_normalised(seen, t1)


def _cost_of_mean(counts: Floats, mean: float) -> Floats:
    """Return by how much the hypothesis lowers the greatest log-likelihood, ``(R,)``."""
    slopes = np.broadcast_to(SCORES - mean, counts.shape)
    x = _multiplier(counts, slopes)
    return np.asarray((counts * np.log1p(x[:, None] * slopes)).sum(axis=1))


def _cost_of_normalised(counts: Floats, t: float) -> Floats:
    """Return by how much the hypothesis lowers the greatest log-likelihood, ``(R,)``.

    The hypothesis mean - 1/2 = t sd is not linear in the probabilities. But t sd is the least of
    t (c + E(score - m)^2 / c) / 2 over all m and c > 0, taken at the mean and the sd. So with m and
    c of the last step in their places the hypothesis is linear, its solution lies on the far side
    of the true one, and the steps go on until nothing moves. Newton's method on the two unknowns
    of the end gets there sooner from nearly everywhere; it is tried after steps 1, 2, 3, 5, 9, ...
    """
    if t == 0:
        return _cost_of_mean(counts, _EVEN)
    if t < 0:  # the same seen by the other player
        return _cost_of_normalised(counts[:, ::-1], -t)
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean, deviation = _start(shares, t)
    scale = np.ones_like(counts)
    active = np.arange(len(counts))
    for step in range(_MOST_STEPS):
        slopes = _tangent(mean, deviation, t)
        x = _multiplier(shares[active], slopes)
        scale[active] = 1 + x[:, None] * slopes
        before = mean, deviation
        mean, deviation = _moments(shares[active] / scale[active])
        moved = np.abs(mean - before[0]) + np.abs(deviation - before[1]) > _CLOSE * deviation
        if step & (step - 1) == 0:
            solved, end = _solve(shares[active], x, deviation, t)
            scale[active[solved]] = end[solved]
            moved &= ~solved
        if not moved.any():
            break
        active, mean, deviation = active[moved], mean[moved], deviation[moved]
    return np.asarray((counts * np.log(scale)).sum(axis=1))


def _solve(
    shares: Floats, x: Floats, deviation: Floats, t: float
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which rows Newton's method solves from here, and the divisors ``(R, 5)`` there.

    The unknowns are the multiplier x and the standard deviation c, with 1/2 + t c for the mean:
    the tangent at these is to hold, and the mean is to come out as it went in.
    """
    solved = np.zeros(len(x), dtype=np.bool_)
    end = np.ones_like(shares)
    active, c, sign = np.arange(len(x)), deviation, np.sign(x)
    for _ in range(_MOST_NEWTON_STEPS):
        step_x, step_c, scale = _newton_step(shares[active], x, c, t)
        close = (np.abs(step_x) <= _CLOSE * (1 + np.abs(x))) & (np.abs(step_c) <= _CLOSE * c)
        good = close & (np.sign(x) == sign[active])
        solved[active[good]], end[active[good]] = True, scale[good]
        x, c = x + step_x, c + step_c
        kept = ~close & (c > 0) & np.isfinite(x)
        active, x, c = active[kept], x[kept], c[kept]
        positive = (1 + x[:, None] * _tangent(_EVEN + t * c, c, t) > 0).all(axis=1)
        active, x, c = active[positive], x[positive], c[positive]
        if not active.size:
            break
    return solved, end


def _newton_step(shares: Floats, x: Floats, c: Floats, t: float) -> tuple[Floats, Floats, Floats]:
    """Return the steps of x and c, ``(R,)`` each, and the divisors ``(R, 5)`` before them."""
    away = (SCORES - _EVEN - t * c[:, None]) / c[:, None]
    slopes = SCORES - _EVEN - t * c[:, None] * (1 + away**2) / 2
    turn = -t / 2 * (1 - away**2 - 2 * t * away)  # of the slopes, by c
    scale = 1 + x[:, None] * slopes
    chances = shares / scale
    tangent, mean = (chances * slopes).sum(axis=1), _mean(chances) - _EVEN - t * c
    chances /= scale
    tangent_x, mean_x = -(chances * slopes**2).sum(axis=1), -_mean(chances * slopes)
    tangent_c, mean_c = (chances * turn).sum(axis=1), -x * _mean(chances * turn) - t
    determinant = tangent_x * mean_c - tangent_c * mean_x
    determinant = np.where(determinant == 0, np.nan, determinant)
    return (
        np.asarray((tangent_c * mean - tangent * mean_c) / determinant),
        np.asarray((tangent * mean_x - tangent_x * mean) / determinant),
        scale,
    )


def _tangent(mean: Floats, deviation: Floats, t: float) -> Floats:
    """Return the hypothesis made linear: coefficients ``(R, 5)`` whose mean is to be zero."""
    away = (SCORES - mean[:, None]) / deviation[:, None]
    return np.asarray(SCORES - _EVEN - t * deviation[:, None] * (1 + away**2) / 2)


def _start(shares: Floats, t: float) -> tuple[Floats, Floats]:
    """Return mean and sd of the shares, mixed with wins where they fall short of `t` > 0.

    As much of a sure win is added as makes (mean - 1/2) / sd = t, so that the first tangent has
    values of both signs.
    """
    mean, deviation = _moments(shares)
    square = deviation**2 + mean**2
    short, rest = mean - _EVEN, 1 - mean
    a = (1 + t * t) * rest**2
    b = 2 * short * rest - t * t * (1 - square - 2 * mean * rest)
    c = short**2 - (t * deviation) ** 2
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
    wins = np.where(short < t * deviation, (root - b) / (2 * a), 0.0)
    wins = np.clip(wins, 0.0, 1 - UNSEEN**2)[:, None]
    return _moments(shares * (1 - wins) + wins * (SCORES == 1))


def _moments(shares: Floats) -> tuple[Floats, Floats]:
    mean = _mean(shares)
    variance = (shares * (SCORES - mean[:, None]) ** 2).sum(axis=1)
    return np.asarray(mean), np.asarray(np.sqrt(variance))


def _mean(weights: Floats) -> Floats:
    """Return the sums of weights * SCORES; unlike a product of matrices, the same in any batch."""
    return np.asarray((weights * SCORES).sum(axis=1))


def _multiplier(counts: Floats, slopes: Floats) -> Floats:
    """Return the x ``(R,)`` at which the sum of counts * slopes / (1 + x slopes) is zero.

    Every row of slopes has both signs. The sum falls from one pole to the other. Multiplied by the
    distances from both it has no poles any more and is nearly straight, so that Newton's steps,
    halved into the bracket where they leave it, find its only zero at once, also close to a pole.
    """
    poles = -1 / slopes.max(axis=1), -1 / slopes.min(axis=1)
    found = np.zeros(len(counts))
    active = np.arange(len(counts))
    x = np.zeros(len(counts))
    low, high = poles
    for _ in range(_MOST_STEPS):
        part = slopes / (1 + x[:, None] * slopes)
        weighed = counts * part
        value, fall = weighed.sum(axis=1), (weighed * part).sum(axis=1)
        low, high = np.where(value > 0, x, low), np.where(value < 0, x, high)
        below, above = x - poles[0], poles[1] - x
        slope = value * (above - below) - fall * below * above
        step = np.divide(value * below * above, -slope, out=np.zeros_like(x), where=slope < 0)
        reached = x + step
        outside = (reached <= low) | (reached >= high) | (slope >= 0)
        reached = np.where(outside, (low + high) / 2, reached)
        found[active] = reached
        moving = np.abs(reached - x) > _CLOSE * np.minimum(np.minimum(below, above), 1.0)
        if not moving.any():
            break
        x, active, low, high = reached[moving], active[moving], low[moving], high[moving]
        poles = poles[0][moving], poles[1][moving]
        counts, slopes = counts[moving], slopes[moving]
    return found
