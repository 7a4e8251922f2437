"""A sequential test of two players: which of two Elo differences fits their pairs of games better?

The generalised sequential probability ratio test over pentanomial results, as in fishtest and
cutechess::

    sprt = Sprt(0, 10)
    state = sprt.decide([1.0, 1.5, 2.0, 1.0])
    state.verdict, state.llr

The two games of a colour-swapped pair share their opening, so a pair is one observation with five
outcomes: 0, 1/2, 1, 3/2 or 2 points for the first player. A hypothesis fixes the mean score per
game, or the normalised one: mean minus one half, in standard deviations. The five probabilities
are otherwise chosen to maximise the likelihood; Lagrange's method reduces either hypothesis to one
equation in one unknown (Van den Bergh, Comments on normalized Elo, 2021; the same author's notes
on the maximum-likelihood estimate of a multinomial distribution). docs/ratings.md explains the
verdicts and their error rates.

In a game of n players the unit is a block of n games, in each of which the first player scores the
share of the n - 1 others that it finished ahead of, ties counting half: 2 n (n - 1) + 1 outcomes.

Everything works on a batch: R rows of counts, one for each number of pairs played. Results are
exact up to rounding and always finite: an outcome that never occurred counts as a thousandth of a
pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai.errors import ConfigError
from miai_tournaments.ratings.model import Floats, check_range
from miai_tournaments.ratings.sequential import (
    Hypothesis,
    SequentialTest,
    check_errors,
    curve_points,
    finite_or_none,
    versus,
)

UNSEEN: Final = 1e-3
"""Count of an outcome that never occurred, in pairs."""

_MOST_STEPS: Final = 200
_MOST_NEWTON_STEPS: Final = 30
_CLOSE: Final = 1e-11
_EVEN: Final = 0.5


def _cost_of_mean(counts: Floats, mean: float) -> Floats:
    """Return by how much a mean, points per game, lowers the greatest log-likelihood, ``(R,)``.

    `counts` are ``(R, K)``: of K outcomes, whose points per game are evenly spaced from 0 to 1.
    """
    slopes = np.broadcast_to(_scores(counts) - mean, counts.shape)
    x = _multiplier(counts, slopes)
    return np.asarray((counts * np.log1p(x[:, None] * slopes)).sum(axis=1))


def _cost_of_normalised(counts: Floats, t: float) -> Floats:
    """Return by how much mean - 1/2 = t sd lowers the greatest log-likelihood, ``(R,)``.

    The hypothesis, about a pair's points per game, is not linear in the probabilities. But t sd is
    the minimum of t (c + E(score - m)^2 / c) / 2 over all m and c > 0, attained at the mean and the
    sd. With m and c from the previous step the hypothesis becomes linear, and the steps converge.
    Newton's method on the two unknowns usually gets there sooner; it is tried after steps 1, 2, 3,
    5, 9, ...
    """
    if t == 0:
        return _cost_of_mean(counts, _EVEN)
    if t < 0:  # the same seen by the other player
        return _cost_of_normalised(counts[:, ::-1], -t)
    # Shares rather than counts: the tolerances below then mean the same after ten pairs and after
    # ten thousand.
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean, deviation = _start(shares, t)
    scale = np.ones_like(counts)
    active = np.arange(len(counts))
    for step in range(_MOST_STEPS):
        slopes = _tangent(_scores(counts), mean, deviation, t)
        x = _multiplier(shares[active], slopes)
        scale[active] = 1 + x[:, None] * slopes
        before = mean, deviation
        mean, deviation = _moments(shares[active] / scale[active])
        moved = np.abs(mean - before[0]) + np.abs(deviation - before[1]) > _CLOSE * deviation
        # Powers of two: trying Newton at each step would cost more than it saves where it fails.
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
    """Return which rows Newton's method solves from here, and the divisors ``(R, K)`` there.

    The unknowns are the multiplier x and the standard deviation c, with mean 1/2 + t c: the tangent
    must hold at these, and the mean must reproduce itself.
    """
    solved = np.zeros(len(x), dtype=np.bool_)
    end = np.ones_like(shares)
    active, c, sign = np.arange(len(x)), deviation, np.sign(x)
    for _ in range(_MOST_NEWTON_STEPS):
        step_x, step_c, scale = _newton_step(shares[active], x, c, t)
        close = (np.abs(step_x) <= _CLOSE * (1 + np.abs(x))) & (np.abs(step_c) <= _CLOSE * c)
        # Newton may run to another root. The one wanted has the sign that the slow steps gave x.
        good = close & (np.sign(x) == sign[active])
        solved[active[good]], end[active[good]] = True, scale[good]
        x, c = x + step_x, c + step_c
        open_rows = ~close & (c > 0) & np.isfinite(x)
        active, x, c = active[open_rows], x[open_rows], c[open_rows]
        tangent = _tangent(_scores(shares), _EVEN + t * c, c, t)
        # Outside this region a probability would be negative; such rows go back to the slow steps.
        positive = (1 + x[:, None] * tangent > 0).all(axis=1)
        active, x, c = active[positive], x[positive], c[positive]
        if not active.size:
            break
    return solved, end


def _newton_step(shares: Floats, x: Floats, c: Floats, t: float) -> tuple[Floats, Floats, Floats]:
    """Return the steps of x and c, ``(R,)`` each, and the divisors ``(R, K)`` before them."""
    scores = _scores(shares)
    away = (scores - _EVEN - t * c[:, None]) / c[:, None]
    slopes = scores - _EVEN - t * c[:, None] * (1 + away**2) / 2
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


def _scores(counts: Floats) -> Floats:
    """Return the points per game ``(K,)`` of the outcomes whose counts or shares these are."""
    return np.linspace(0.0, 1.0, counts.shape[-1])


def _tangent(scores: Floats, mean: Floats, deviation: Floats, t: float) -> Floats:
    """Return the linearised hypothesis: coefficients ``(R, K)`` whose mean must be zero."""
    away = (scores - mean[:, None]) / deviation[:, None]
    return np.asarray(scores - _EVEN - t * deviation[:, None] * (1 + away**2) / 2)


def _start(shares: Floats, t: float) -> tuple[Floats, Floats]:
    """Return mean and sd of the shares, mixed with wins where they fall short of `t` > 0.

    Wins are added until (mean - 1/2) / sd = t, so that the first tangent has values of both signs.
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
    return _moments(shares * (1 - wins) + wins * (_scores(shares) == 1))


def _moments(shares: Floats) -> tuple[Floats, Floats]:
    mean = _mean(shares)
    variance = (shares * (_scores(shares) - mean[:, None]) ** 2).sum(axis=1)
    return np.asarray(mean), np.asarray(np.sqrt(variance))


def _mean(weights: Floats) -> Floats:
    """Return the sums of weights * scores; unlike a product of matrices, the same in any batch."""
    return np.asarray((weights * _scores(weights)).sum(axis=1))


def _multiplier(counts: Floats, slopes: Floats) -> Floats:
    """Return the x ``(R,)`` at which the sum of counts * slopes / (1 + x slopes) is zero.

    Every row of slopes has both signs, and the sum falls from one pole to the other. Multiplied by
    the distances from both poles it is nearly straight, so Newton's method, with bisection outside
    the bracket, finds the only zero quickly, even close to a pole.
    """
    poles = -1 / slopes.max(axis=1), -1 / slopes.min(axis=1)
    roots = np.zeros(len(counts))
    active = np.arange(len(counts))
    x = np.zeros(len(counts))
    low, high = poles
    for _ in range(_MOST_STEPS):
        part = slopes / (1 + x[:, None] * slopes)
        weighted = counts * part
        value, fall = weighted.sum(axis=1), (weighted * part).sum(axis=1)
        low, high = np.where(value > 0, x, low), np.where(value < 0, x, high)
        below, above = x - poles[0], poles[1] - x
        slope = value * (above - below) - fall * below * above
        step = np.divide(value * below * above, -slope, out=np.zeros_like(x), where=slope < 0)
        reached = x + step
        outside = (reached <= low) | (reached >= high) | (slope >= 0)
        reached = np.where(outside, (low + high) / 2, reached)
        roots[active] = reached
        moving = np.abs(reached - x) > _CLOSE * np.minimum(np.minimum(below, above), 1.0)
        if not moving.any():
            break
        x, active, low, high = reached[moving], active[moving], low[moving], high[moving]
        poles = poles[0][moving], poles[1][moving]
        counts, slopes = counts[moving], slopes[moving]
    return roots


Model = Literal["logistic", "normalised"]

NORMALISED_ELO: Final = 800 / math.log(10)
"""Normalised Elo in one standard deviation of a game's score (Van den Bergh 2021)."""

_LARGEST: Final[dict[str, float]] = {"logistic": 1000.0, "normalised": 300.0}
_FIRST_CHUNK: Final = 128
_LARGEST_CHUNK: Final = 8192
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtState:
    """The state of a test.

    Attributes:
      llr: logarithm of the generalised likelihood ratio of H1 to H0 after `pairs` pairs, or blocks.
      lower, upper: bounds; H0 is accepted when `llr` is at most `lower`, H1 at least `upper`.
      verdict: the accepted hypothesis; None if undecided.
      pairs: number of pairs up to the verdict; without a verdict, of all pairs.
      counts: numbers of these pairs with 0, 1/2, 1, 3/2 and 2 points for the first player, with
        more players by `Sprt.outcomes`.
    """

    llr: float
    lower: float
    upper: float
    verdict: Hypothesis | None
    pairs: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sprt(SequentialTest):
    """A test of H0, the first player is better by `elo0`, against H1, it is better by `elo1`.

    Attributes:
      elo0, elo1: the hypotheses, from the first player's point of view; `elo0` is the lower.
      alpha: probability of accepting H1 if H0 is true.
      beta: probability of accepting H0 if H1 is true.
      model: definition of Elo. ``logistic``: a mean score of 1 / (1 + 10^(-Elo / 400)), a draw is
        half a point. ``normalised``: mean minus one half, in standard deviations of a single
        game's score, times 347.4; the length of a test then hardly depends on the share of draws.
      seats: number of players of a game. With more than two the second player stands for all
        others, and the score of a game is the share of them that the first finished ahead of.

    Raises:
      ConfigError: a number is out of range, or `elo0` is not below `elo1`.
    """

    elo0: float
    elo1: float
    _: KW_ONLY
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "normalised"
    seats: int = 2

    def __post_init__(self) -> None:
        if self.model not in _LARGEST:
            raise ConfigError(f"model: is '{self.model}'; give one of {', '.join(_LARGEST)}")
        largest = _LARGEST[self.model]
        for name, elo in (("elo0", self.elo0), ("elo1", self.elo1)):
            check_range(name, elo, -largest, largest, f"{self.model} Elo")
        if not self.elo0 < self.elo1:
            raise ConfigError(
                f"elo0: is {self.elo0}, not below elo1, {self.elo1}; swap them, or move them apart"
            )
        check_errors(self.alpha, self.beta)

    @property
    def outcomes(self) -> int:
        """Number of results of a block, from 0 to `seats` points in even steps; 5 of a pair."""
        return 2 * self.seats * (self.seats - 1) + 1

    @property
    def lower(self) -> float:
        """The bound at which H0 is accepted (Wald 1945)."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The bound at which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def decide(self, pairs: Sequence[float]) -> SprtState:
        """Return the verdict at the first pair that reaches a bound.

        Later pairs change nothing: the verdict depends on the order of the schedule, not on the
        order in which pairs finish.

        Args:
          pairs: points of the first player in each pair or block, in the order of the schedule.

        Raises:
          ValueError: a pair has other points than 0, 1/2, 1, 3/2 or 2, a block others than those of
            `outcomes`.
        """
        state = self._state(0.0, np.zeros(self.outcomes, dtype=np.int64))
        # Most tests end early and some run for very long, so chunks grow.
        size = _FIRST_CHUNK
        while state.verdict is None and state.pairs < len(pairs):
            state = self._advance(state, pairs[state.pairs : state.pairs + size])
            size = min(2 * size, _LARGEST_CHUNK)
        return state

    def title(self) -> str:
        """Return a short description."""
        return f"SPRT [{self.elo0:g}, {self.elo1:g}] {self.model} Elo"

    def facts(
        self, state: SprtState, pairs: Sequence[float], players: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return a state as plain data for reports."""
        elo, unit = {"H0": self.elo0, "H1": self.elo1, None: None}[state.verdict], self.unit
        words = (
            "undecided" if elo is None else f"{state.verdict} accepted, {elo:g} {self.model} Elo"
        )
        return {
            "kind": "sprt",
            "verdict": state.verdict,
            "pairs": state.pairs,
            "curve": curve_points(self.path(pairs).tolist()) if pairs else [],
            **finite_or_none({"llr": state.llr, "lower": state.lower, "upper": state.upper}),
            "unit": unit,
            "text": f"SPRT of {versus(players)}: {words} after {state.pairs} {unit}s, "
            f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}]",
        }

    def path(self, pairs: Sequence[float]) -> NDArray[np.float64]:
        """Return the log-likelihood ratio after each pair, bounds or not, in the order of `pairs`.

        Raises:
          ValueError: a pair or block has other points than `decide` allows.
        """
        return self._ratios(self._running(pairs).astype(np.float64))

    def log_likelihood_ratio(self, counts: Sequence[float] | NDArray[np.int64]) -> float:
        """Return ln(likelihood of H1 / likelihood of H0) of pairs, given as counts by outcome."""
        return float(self._ratios(np.asarray(counts, dtype=np.float64)[None])[0])

    def _advance(self, state: SprtState, pairs: Sequence[float]) -> SprtState:
        counts = self._running(pairs) + np.array(state.counts)
        ratios = self._ratios(counts.astype(np.float64))
        near = (ratios <= self.lower + _ROUNDING) | (ratios >= self.upper - _ROUNDING)
        # The last digit of a ratio may depend on its place in a batch, so ratios that are returned
        # or decide are computed alone.
        for place in (*np.flatnonzero(near).tolist(), len(ratios) - 1):
            advanced = self._state(self.log_likelihood_ratio(counts[place]), counts[place])
            if advanced.verdict is not None:
                break
        return advanced

    def _ratios(self, counts: Floats) -> Floats:
        """Return ln(likelihood of H1 / likelihood of H0), ``(R,)``, of counts ``(R, K)``."""
        # Without this a hypothesis that needs an outcome which never occurred could have likelihood
        # zero, and its ratio would be infinite after the first pairs.
        counts = np.where(counts > 0, counts, UNSEEN)

        def cost(elo: float) -> Floats:
            if self.model == "logistic":
                return _cost_of_mean(counts, 1 / (1 + 10 ** (-elo / 400)))
            # The mean of n games spreads less than one game by the square root of n.
            return _cost_of_normalised(counts, elo / NORMALISED_ELO * math.sqrt(self.seats))

        return cost(self.elo0) - cost(self.elo1)

    def _state(self, llr: float, counts: NDArray[np.int64]) -> SprtState:
        return SprtState(
            llr=llr,
            lower=self.lower,
            upper=self.upper,
            verdict="H1" if llr >= self.upper else "H0" if llr <= self.lower else None,
            pairs=int(counts.sum()),
            counts=tuple(counts.tolist()),
        )

    def _running(self, pairs: Sequence[float]) -> NDArray[np.int64]:
        """Return the counts after each pair, [pairs, K]."""
        # Each game gives one of 2 (n - 1) + 1 scores, so half an opponent is one step.
        steps = 2 * (self.seats - 1)
        scaled = steps * np.asarray(pairs, dtype=np.float64)
        places = np.rint(scaled)  # sums of thirds, say, are not exact
        inside = (places >= 0) & (places < self.outcomes)
        if not (inside & (np.abs(scaled - places) < _ROUNDING)).all():
            raise ValueError(
                f"a {self.unit} has from 0 to {self.seats} points in steps of 1/{steps}: those of "
                f"the first player in {self.seats} games"
            )
        return np.cumsum(places[:, None] == np.arange(self.outcomes), axis=0, dtype=np.int64)
