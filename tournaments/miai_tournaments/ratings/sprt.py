"""A sequential test of two players: which of two Elo differences fits their pairs of games better?

The generalised sequential probability ratio test over pentanomial results, as fishtest and
cutechess have it::

    sprt = Sprt(0, 10)
    state = sprt.decide([1.0, 1.5, 2.0, 1.0])
    state.verdict, state.llr

A pair of games with colours swapped is one observation. docs/ratings.md tells what the verdicts
mean, and how often they are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai.errors import ConfigError
from miai_tournaments.ratings import pentanomial
from miai_tournaments.ratings.model import Floats

Model = Literal["logistic", "normalised"]
Verdict = Literal["H0", "H1"]

NORMALISED_ELO: Final = 800 / math.log(10)
"""Normalised Elo in one standard deviation of a game's score (Van den Bergh 2021)."""

_LARGEST: Final[dict[str, float]] = {"logistic": 1000.0, "normalised": 300.0}
_ERRORS: Final = (1e-6, 0.5)
_OUTCOMES: Final = 5
_FIRST_CHUNK: Final = 128
_LARGEST_CHUNK: Final = 8192
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtState:
    """Where a test stands.

    Attributes:
      llr: logarithm of the generalised likelihood ratio of H1 to H0 after `pairs` pairs.
      lower, upper: bounds; H0 is accepted when `llr` is at most `lower`, H1 at least `upper`.
      verdict: what was accepted; None while nothing is.
      pairs: how many pairs the verdict rests on; without a verdict, how many there are.
      counts: of these, how many brought the first player 0, 1/2, 1, 3/2 and 2 points.
    """

    llr: float
    lower: float
    upper: float
    verdict: Verdict | None
    pairs: int
    counts: tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of H0, the first player is better by `elo0`, against H1, it is by `elo1`.

    Attributes:
      elo0, elo1: the hypotheses, from the first player's point of view; `elo0` is the lower.
      alpha: the chance to accept H1 where H0 is true.
      beta: the chance to accept H0 where H1 is true.
      model: what an Elo is. ``logistic``: a mean score of 1 / (1 + 10^(-Elo / 400)), draws half a
        point. ``normalised``: mean less one half, in standard deviations of a single game's score,
        times 347.4; the pairs that a test takes then depend little on how common draws are.

    Raises:
      ConfigError: a number is out of range, or `elo0` is not below `elo1`.
    """

    elo0: float
    elo1: float
    _: KW_ONLY
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "normalised"

    def __post_init__(self) -> None:
        if self.model not in _LARGEST:
            raise ConfigError(f"model: is '{self.model}'; give one of {', '.join(_LARGEST)}")
        largest = _LARGEST[self.model]
        for name, elo in (("elo0", self.elo0), ("elo1", self.elo1)):
            if not abs(elo) <= largest:
                raise ConfigError(
                    f"{name}: is {elo}; give {self.model} Elo from {-largest:g} to {largest:g}"
                )
        if not self.elo0 < self.elo1:
            raise ConfigError(
                f"elo0: is {self.elo0}, which is not below elo1, {self.elo1}; swap them, or move "
                "them apart"
            )
        for name, chance in (("alpha", self.alpha), ("beta", self.beta)):
            if not _ERRORS[0] <= chance < _ERRORS[1]:
                raise ConfigError(
                    f"{name}: is {chance}; give a chance of error from {_ERRORS[0]:g} to below "
                    f"{_ERRORS[1]:g}"
                )

    @property
    def lower(self) -> float:
        """The bound at which H0 is accepted (Wald 1945)."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The bound at which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def decide(self, pairs: Sequence[float], *, after: SprtState | None = None) -> SprtState:
        """Return the verdict at the first pair at which a bound is reached.

        Pairs behind it change nothing: the verdict depends on the order of the schedule, not on
        which pair was finished first.

        Args:
          pairs: points of the first player in each pair, in the order of the schedule.
          after: what this test said of a beginning of `pairs`: that many are taken as read.

        Raises:
          ValueError: a pair has other points than 0, 1/2, 1, 3/2 or 2, or `after` is of more pairs.
        """
        if after is not None and after.pairs > len(pairs):
            raise ValueError(f"the test stood at {after.pairs} pairs, but {len(pairs)} are given")
        state = after or self._state(0.0, np.zeros(_OUTCOMES, dtype=np.int64))
        size = _FIRST_CHUNK
        while state.verdict is None and state.pairs < len(pairs):
            state = self._advance(state, pairs[state.pairs : state.pairs + size])
            size = min(2 * size, _LARGEST_CHUNK)
        return state

    def path(self, pairs: Sequence[float]) -> NDArray[np.float64]:
        """Return the log-likelihood ratio after each pair, bounds or not, in the order of `pairs`.

        Raises:
          ValueError: a pair has other points than 0, 1/2, 1, 3/2 or 2.
        """
        return self._ratios(_running(pairs).astype(np.float64))

    def log_likelihood_ratio(self, counts: Sequence[float] | NDArray[np.int64]) -> float:
        """Return ln(likelihood of H1 / likelihood of H0) of pairs, given as the five counts."""
        return float(self._ratios(np.asarray(counts, dtype=np.float64)[None])[0])

    def _advance(self, state: SprtState, pairs: Sequence[float]) -> SprtState:
        met = _running(pairs) + np.array(state.counts)
        ratios = self._ratios(met.astype(np.float64))
        near = (ratios <= self.lower + _ROUNDING) | (ratios >= self.upper - _ROUNDING)
        # The last digit of a ratio may depend on where in a batch it is computed. So whatever is
        # told, and what decides, is computed alone.
        for place in (*np.flatnonzero(near).tolist(), len(ratios) - 1):
            found = self._state(self.log_likelihood_ratio(met[place]), met[place])
            if found.verdict is not None:
                break
        return found

    def _ratios(self, counts: Floats) -> Floats:
        if self.model == "logistic":
            means = [1 / (1 + 10 ** (-elo / 400)) for elo in (self.elo0, self.elo1)]
            return pentanomial.log_ratio_of_means(counts, *means)
        # The mean of two games spreads less than one game by the square root of two.
        away = [elo / NORMALISED_ELO * math.sqrt(2) for elo in (self.elo0, self.elo1)]
        return pentanomial.log_ratio_of_normalised(counts, *away)

    def _state(self, llr: float, counts: NDArray[np.int64]) -> SprtState:
        low, half, one, more, high = (int(count) for count in counts)
        verdict: Verdict | None = "H1" if llr >= self.upper else "H0" if llr <= self.lower else None
        return SprtState(
            llr=llr,
            lower=self.lower,
            upper=self.upper,
            verdict=verdict,
            pairs=int(counts.sum()),
            counts=(low, half, one, more, high),
        )


def _running(pairs: Sequence[float]) -> NDArray[np.int64]:
    """Return the five counts after each pair, [pairs, 5]."""
    points = 2 * np.asarray(pairs, dtype=np.float64)
    if not np.isin(points, np.arange(_OUTCOMES)).all():
        raise ValueError("a pair has 0, 0.5, 1, 1.5 or 2 points: the first player's in 2 games")
    return np.cumsum(points[:, None] == np.arange(_OUTCOMES), axis=0, dtype=np.int64)
