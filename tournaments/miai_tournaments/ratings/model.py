"""The rating model: Bradley-Terry with draws after Davidson and a first-player advantage.

A game between strengths a (moving first) and b, with x = a - b + advantage and draw weight nu::

    P(first wins) : P(draw) : P(second wins)  =  exp(x / 2) : nu : exp(-x / 2)

The log-likelihood is that of an exponential family: it is concave, so Newton's method finds the
unique maximum, and the observed information is the expected one. docs/ratings.md has the formulas.

Everything works on a batch of leagues that share their pairings, so a bootstrap of a thousand
leagues costs a few calls of numpy. Axes: B leagues, M ordered pairings, K players, P parameters (K
strengths, then the advantage, then log nu, each of the last two only if it is fitted). All
parameters are natural logarithms of odds; `ratings` converts them to Elo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from miai.errors import ConfigError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingCounts:
    """Results by ordered pairing; each pairing occurs once.

    Attributes:
      first, second: ``(M,)`` indices of who moves first and second.
      games: ``(B, M)`` numbers of games.
      points: ``(B, M)`` points of the first player; a draw is half a point.
      draws: ``(B, M)`` numbers of draws.
    """

    first: Integers
    second: Integers
    games: Floats
    points: Floats
    draws: Floats


class LogPosteriorPoint(Protocol):
    """A log-posterior at one vector of parameters ``(P,)`` per league, with its derivatives."""

    parameters: Floats

    def value(self) -> Floats:
        """Return the log-posterior ``(B,)``."""

    def gradient(self) -> Floats:
        """Return the gradient ``(B, P)``."""

    def information(self) -> Floats:
        """Return the information, minus the Hessian, ``(B, P, P)``; positive definite."""


PointT = TypeVar("PointT", bound=LogPosteriorPoint)
Point_co = TypeVar("Point_co", bound=LogPosteriorPoint, covariant=True)


class LogPosterior(Protocol[Point_co]):
    """A concave log-posterior of a batch of leagues, for `maximise`."""

    leagues: int
    players: int

    def start(self) -> Floats:
        """Return initial parameters ``(B, P)``."""

    def at(self, parameters: Floats) -> Point_co:
        """Return the log-posterior at parameters ``(B, P)``."""


def check_range(name: str, value: float, low: float, high: float, what: str) -> None:
    """Raise `ConfigError` unless an option lies between `low` and `high`."""
    if not low <= value <= high:
        raise ConfigError(f"{name}: is {value}; give {what} from {low:g} to {high:g}")


def outcomes(x: Floats, log_nu: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities of win, draw and loss for the first player, each shaped as ``x``.

    `log_nu` broadcasts against `x`; it is -inf without draws.
    """
    return _exp(log_outcomes(x, log_nu))


def log_outcomes(x: Floats, log_nu: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of `outcomes`, exact even for almost certain results."""
    half = np.abs(x) / 2
    top = np.maximum(half, log_nu)
    favourite, draw, outsider = np.exp(half - top), np.exp(log_nu - top), np.exp(-half - top)
    # Either the favourite's weight or the draw's is exp(0) = 1: log1p of the rest loses nothing.
    rest = np.log1p(np.minimum(favourite, draw) + outsider)
    return x / 2 - top - rest, log_nu - top - rest, -x / 2 - top - rest


class Posterior:
    """The log-posterior of a batch of leagues, up to a constant.

    The prior is in games: each player has won half of `prior_games` games against an average
    opponent; two equal players have played `prior_games` games, of which each side won half or, if
    draws are fitted, each side won a quarter and half were drawn.

    Attributes:
      counts: the results.
      leagues, players, size: B, K and P.
      prior_games: weight of the prior.
      advantage, log_nu: indices of these parameters; None if not fitted.
    """

    def __init__(
        self,
        counts: PairingCounts,
        players: int,
        *,
        prior_games: float,
        advantage: bool,
        draws: bool,
    ) -> None:
        self.counts = counts
        self.leagues = counts.games.shape[0]
        self.players = players
        self.size = players + advantage + draws
        self.prior_games = prior_games
        self.advantage = players if advantage else None
        self.log_nu = players + advantage if draws else None

    def start(self) -> Floats:
        """Return initial parameters ``(B, P)``: equal players, draws as frequent as observed."""
        parameters = np.zeros((self.leagues, self.size))
        if self.log_nu is not None:
            games, draws = self.counts.games.sum(axis=1), self.counts.draws.sum(axis=1)
            odds = (draws + self.prior_games / 2) / (games - draws + self.prior_games / 2)
            parameters[:, self.log_nu] = np.log(2 * odds)
        return parameters

    def at(self, parameters: Floats) -> PosteriorPoint:
        """Return the log-posterior at parameters ``(B, P)``."""
        return PosteriorPoint(self, parameters)


class PosteriorPoint:
    """The log-posterior at one vector of parameters per league, with its derivatives.

    Attributes:
      parameters: ``(B, P)``.
    """

    def __init__(self, posterior: Posterior, parameters: Floats) -> None:
        self.parameters = parameters
        self._posterior = posterior
        a, d = posterior.advantage, posterior.log_nu
        absent = np.zeros((posterior.leagues, 1))
        advantage = absent if a is None else parameters[:, a : a + 1]
        log_nu = absent - np.inf if d is None else parameters[:, d : d + 1]
        self._strengths = parameters[:, : posterior.players]
        first, second = posterior.counts.first, posterior.counts.second
        x = self._strengths[:, first] - self._strengths[:, second] + advantage
        self._logs = log_outcomes(x, log_nu)
        # Both forms are kept: sums of logarithms for the value, where tiny probabilities must not
        # vanish, and probabilities for the derivatives.
        self._chances = _exp(self._logs)
        self._equal_logs = tuple(part[:, 0] for part in log_outcomes(advantage, log_nu))
        self._equal = _exp(self._equal_logs)

    def value(self) -> Floats:
        """Return the log-posterior ``(B,)``; a sum of negative terms."""
        counts, prior = self._posterior.counts, self._posterior.prior_games
        win, draw, loss = self._logs
        wins = counts.points - counts.draws / 2
        losses = counts.games - counts.draws - wins
        value = (wins * win + losses * loss).sum(axis=1)
        half = np.abs(self._strengths) / 2
        # ln cosh of half a strength, written so that it cannot overflow.
        value -= prior * (half + np.log1p(np.exp(-2 * half))).sum(axis=1)
        equal_win, equal_draw, equal_loss = self._equal_logs
        if self._posterior.log_nu is None:
            return np.asarray(value + prior * (equal_win + equal_loss) / 2)
        value += (counts.draws * draw).sum(axis=1)
        return np.asarray(value + prior * (equal_win + 2 * equal_draw + equal_loss) / 4)

    def gradient(self) -> Floats:
        """Return the gradient ``(B, P)``."""
        model, counts = self._posterior, self._posterior.counts
        k, prior = model.players, model.prior_games
        win, draw, loss = self._chances
        # Points minus expected points, without cancellation for one-sided pairings.
        surplus = counts.points * (loss + draw / 2)
        surplus -= (counts.games - counts.points) * (win + draw / 2)
        gradient = np.zeros((model.leagues, model.size))
        # A point won by the first player is one lost by the second.
        for league, residual in zip(gradient, surplus, strict=True):
            league[:k] = between(counts.first, counts.second, residual, k)
        gradient[:, :k] -= prior * np.tanh(self._strengths / 2) / 2
        equal_win, equal_draw, equal_loss = self._equal
        if model.advantage is not None:
            pull = prior * (equal_loss - equal_win) / 2
            gradient[:, model.advantage] = surplus.sum(axis=1) + pull
        if model.log_nu is not None:
            excess = counts.draws * (win + loss) - (counts.games - counts.draws) * draw
            gradient[:, model.log_nu] = excess.sum(axis=1) + prior * (0.5 - equal_draw)
        return gradient

    def information(self) -> Floats:
        """Return the information, minus the Hessian, ``(B, P, P)``; positive definite."""
        model = self._posterior
        k, prior, diagonal = model.players, model.prior_games, np.arange(model.players)
        xx, xd, dd = (model.counts.games * part for part in curvature(*self._chances))
        equal_xx, equal_xd, equal_dd = (prior * part for part in curvature(*self._equal))
        information = np.zeros((model.leagues, model.size, model.size))
        # The players' block is the Laplacian of the weighted graph of pairings; it is singular
        # along equal strengths, and the prior's diagonal is what makes it invertible.
        weight = self._matrix(xx)
        information[:, :k, :k] -= weight + weight.transpose(0, 2, 1)
        # sech^2 of half a strength; 1 - tanh^2 would cancel where the strength is large.
        small = np.exp(-np.abs(self._strengths))
        pull = prior * small / (1 + small) ** 2
        information[:, diagonal, diagonal] += weight.sum(axis=2) + weight.sum(axis=1) + pull
        a, d = model.advantage, model.log_nu
        if a is not None:
            information[:, a, a] = xx.sum(axis=1) + equal_xx
            _couple(information, a, weight.sum(axis=2) - weight.sum(axis=1))
        if d is not None:
            cross = self._matrix(xd)
            information[:, d, d] = dd.sum(axis=1) + equal_dd
            _couple(information, d, cross.sum(axis=2) - cross.sum(axis=1))
        if a is not None and d is not None:
            information[:, a, d] = information[:, d, a] = xd.sum(axis=1) + equal_xd
        return information

    def sparse_information(self) -> SparseInformation:
        """Return the information of the first league without its matrix."""
        model = self._posterior
        games = zip(curvature(*self._chances), curvature(*self._equal), strict=True)
        # The game between equals of the prior is one of a player against itself: its strength
        # cancels.
        weights = [np.append(model.counts.games[0] * a[0], model.prior_games * b) for a, b in games]
        small = np.exp(-np.abs(self._strengths[0]))
        return SparseInformation(
            first=np.append(model.counts.first, 0),
            second=np.append(model.counts.second, 0),
            weights=(weights[0], weights[1], weights[2]),
            pull=model.prior_games * small / (1 + small) ** 2,
            columns=(model.advantage, model.log_nu),
            size=model.size,
        )

    def _matrix(self, values: Floats) -> Floats:
        """Return values of pairings ``(B, M)`` as a matrix of first by second ``(B, K, K)``."""
        model = self._posterior
        matrix = np.zeros((model.leagues, model.players, model.players))
        matrix[:, model.counts.first, model.counts.second] = values
        return matrix


def between(first: Integers, second: Integers, values: Floats, players: int) -> Floats:
    """Return the sum of values ``(M,)`` by first player minus that by second, ``(K,)``."""
    sums = np.bincount(first, values, players) - np.bincount(second, values, players)
    return np.asarray(sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseInformation:
    """The information of one league as a sum over its pairings, without a matrix.

    Attributes:
      first, second: ``(M + 1,)`` players; the last pairing is that of the prior.
      weights: `curvature` times the games of each pairing, ``(M + 1,)`` each.
      pull: ``(K,)`` the prior's share of the diagonal.
      columns: indices of the advantage and of log nu; None if not fitted.
      size: P.
    """

    first: Integers
    second: Integers
    weights: tuple[Floats, Floats, Floats]
    pull: Floats
    columns: tuple[int | None, int | None]
    size: int

    def product(self, vector: Floats) -> Floats:
        """Return the product with a vector ``(P,)``."""
        xx, xd, dd = self.weights
        strengths = vector[: self.pull.size]
        advantage, log_nu = (0.0 if c is None else vector[c] for c in self.columns)
        x = strengths[self.first] - strengths[self.second] + advantage
        return self._spread(xx * x + xd * log_nu, xd * x + dd * log_nu, self.pull * strengths)

    def diagonal(self) -> Floats:
        """Return the diagonal ``(P,)``."""
        k, (xx, _, dd) = self.pull.size, self.weights
        diagonal = self._spread(xx, dd, self.pull)
        games = (np.bincount(side[:-1], xx[:-1], k) for side in (self.first, self.second))
        diagonal[:k] = self.pull + sum(games)
        return diagonal

    def noise(self, rng: np.random.Generator) -> Floats:
        """Return a normal vector ``(P,)`` of mean zero whose covariance is the information."""
        xx, xd, dd = self.weights
        one, two = rng.standard_normal((2, xx.size))
        root = np.sqrt(xx)
        cross = np.divide(xd, root, out=np.zeros_like(xd), where=root > 0)
        rest = np.sqrt(np.maximum(dd - cross**2, 0.0))
        pull = np.sqrt(self.pull) * rng.standard_normal(self.pull.size)
        return self._spread(root * one, cross * one + rest * two, pull)

    def _spread(self, x: Floats, log_nu: Floats, strengths: Floats) -> Floats:
        """Return derivatives by parameter ``(P,)`` from those by pairing and strength."""
        out, k = np.zeros(self.size), strengths.size
        out[:k] = between(self.first, self.second, x, k) + strengths
        for column, values in zip(self.columns, (x, log_nu), strict=True):
            if column is not None:
                out[column] = values.sum()
        return out


def _exp(logs: Iterable[Floats]) -> tuple[Floats, Floats, Floats]:
    win, draw, loss = (np.exp(part) for part in logs)
    return win, draw, loss


def _couple(information: Floats, index: int, values: Floats) -> None:
    """Set the row and column `index` of the information, for the players, ``(B, K)``."""
    information[:, index, : values.shape[1]] = values
    information[:, : values.shape[1], index] = values


def curvature(win: Floats, draw: Floats, loss: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the normaliser's second derivatives: by x twice, by x and log nu, by log nu twice.

    They are the variances and the covariance of the outcome, written as sums of positive terms:
    the textbook's differences would cancel for one-sided pairings.
    """
    decisive = win + loss
    return win * loss + draw * decisive / 4, draw * (loss - win) / 2, draw * decisive


MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-14
"""Newton's method stops after a step whose squared length in standard errors is below this."""

ROUNDING: Final = 1e-6
"""Below this it also stops when the squared length no longer shrinks, because of rounding."""

_LONGEST_STEP: Final = 8.0
_MOST_HALVINGS: Final = 60
_OVERSTEP: Final = 0.25


def maximise(
    posterior: LogPosterior[PointT],
    *,
    start: Floats | None = None,
    step_at: Callable[[PointT, Floats], Floats] | None = None,
) -> PointT:
    """Return the maximum of a posterior, by Newton's method with backtracking.

    Steps are limited to 8 natural units and halved until they no longer overstep the maximum along
    their line by much, so the method converges from anywhere (Boyd and Vandenberghe, Convex
    Optimization, 2004, 9.5). The slope decides, not the value: with a million games, rounding hides
    the contribution of the prior to the value.

    Args:
      start: initial parameters ``(P,)`` or ``(B, P)``; default: ``posterior.start()``.
      step_at: solves information times step = gradient, ``(B, P)``; default: with its matrix.

    Raises:
      ArithmeticError: the method did not converge, which is a defect of miai.
    """
    parameters = posterior.start()
    if start is not None:
        parameters[:] = start
    point = posterior.at(parameters)
    settled = np.zeros(posterior.leagues, dtype=np.bool_)
    previous = np.full(posterior.leagues, np.inf)
    for _ in range(MAX_ITERATIONS):
        gradient = point.gradient()
        # The information is exact minus the Hessian, and the squared length of a step in its metric
        # is twice the expected gain: a measure of distance that needs no units.
        step = step_at(point, gradient) if step_at else solve(point.information(), gradient)
        decrement = (gradient * step).sum(axis=1)
        # Newton squares the error: a step that does not even halve it is made of rounding.
        settled |= (decrement <= ROUNDING) & (decrement > previous / 2)
        if np.all(settled | (decrement <= TOLERANCE)):
            # The last step costs nothing more: its errors are squared once again.
            return posterior.at(point.parameters + step)
        previous = decrement
        point = _line_search(posterior, point, step, decrement)
    raise ArithmeticError(
        f"the fit of {posterior.players} ratings did not converge in {MAX_ITERATIONS} steps; the "
        "posterior is concave, so this is a defect: please report the results that caused it"
    )


def _line_search(
    posterior: LogPosterior[PointT], point: PointT, step: Floats, decrement: Floats
) -> PointT:
    """Return the point after the longest of the halved steps that does not overstep."""
    # Far from the maximum a Newton step may jump by thousands of Elo, where the exponentials
    # saturate and the next step is useless.
    scale = np.minimum(1.0, _LONGEST_STEP / np.abs(step).max(axis=1, initial=_LONGEST_STEP))
    # The value is a sum over all games, so its last digits say nothing about a step.
    value = point.value()
    noise = 1e-12 * (1 + np.abs(value))
    for _ in range(_MOST_HALVINGS):
        reached = posterior.at(point.parameters + scale[:, None] * step)
        slope = (reached.gradient() * step).sum(axis=1)
        overstepped = (slope < -_OVERSTEP * decrement) | (reached.value() < value - noise)
        if not overstepped.any():
            break
        # Leagues of a batch are independent: only those that overstepped try again.
        scale = np.where(overstepped, scale / 2, scale)
    return reached


def solve(information: Floats, vectors: Floats) -> Floats:
    """Return information^-1 vectors, ``(B, P)``; its products with the vectors are positive."""
    scaled, scale = _scaled(information)
    try:
        np.linalg.cholesky(scaled)  # fails if rounding has made the matrix indefinite
        solution = np.linalg.solve(scaled, (vectors * scale)[:, :, None])[:, :, 0] * scale
    except np.linalg.LinAlgError:
        pass
    else:
        if ((solution * vectors).sum(axis=1) >= 0).all():
            return np.asarray(solution)
    root = _root(information)
    return np.asarray((root @ (root.transpose(0, 2, 1) @ vectors[:, :, None]))[:, :, 0])


def covariance(information: Floats) -> Floats:
    """Return the inverse of information ``(B, P, P)``: symmetric, its variances positive."""
    root = _root(information)
    return np.asarray(root @ root.transpose(0, 2, 1))


def _root(information: Floats) -> Floats:
    """Return R with R R^T = information^-1.

    Tiny or negative eigenvalues are raised to the rounding error, so that steps are always upwards
    and variances positive and finite, even with a billion games and a prior of a thousandth.
    """
    scaled, scale = _scaled(information)
    values, vectors = np.linalg.eigh(scaled)
    # Eigenvalues of a matrix with a unit diagonal are at most its size, so this is its rounding
    # error.
    least = information.shape[1] * np.finfo(np.float64).eps
    return np.asarray(scale[:, :, None] * vectors / np.sqrt(np.maximum(values, least))[:, None, :])


def _scaled(information: Floats) -> tuple[Floats, Floats]:
    """Return information with a unit diagonal, which is better conditioned, and the scale."""
    scale = 1 / np.sqrt(np.diagonal(information, axis1=1, axis2=2))
    return information * scale[:, :, None] * scale[:, None, :], scale
