"""Mean payoffs with their uncertainty, and a sequential test of a mean payoff.

Where results are payoffs, such as chips, the size of a win counts and not its sign: a player may
win most games and lose most chips. Both estimates and test are about pairs of games with the same
deal and swapped seats, whose mean has less variance than that of two games with deals of their own;
in games of n players about blocks of n games, in which each has every seat once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Final

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

_LARGEST: Final = 1e9
_ROUNDING: Final = 1e-9


def student_quantile(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t, with a relative error below 1e-3.

    By the expansion about the normal quantile (Abramowitz and Stegun 1964, 26.7.5); exact for up
    to three degrees of freedom.
    """
    if degrees <= 3:
        return (12.706204736432095, 4.302652729911275, 3.182446305284263)[max(degrees, 1) - 1]
    x = NormalDist().inv_cdf(0.975)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return math.fsum((x, *(term / degrees**n for n, term in enumerate(terms, start=1))))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanPayoff:
    """A mean payoff per game with its 95 % interval, from one player's point of view.

    Attributes:
      value: the mean over pairs, or blocks.
      margin: half the width of the interval; None with fewer than two pairs.
      pairs, games: number of pairs, or blocks, and of games.
    """

    value: float
    margin: float | None
    pairs: int
    games: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        low, high = (
            (None, None)
            if self.margin is None
            else (self.value - self.margin, self.value + self.margin)
        )
        return {"mean_return": self.value, "low": low, "high": high, "pairs": self.pairs}


@dataclass(slots=True)
class _Pair:
    """The finished games of a pair or block: players in order of name, and their payoffs in all."""

    players: tuple[str, ...]
    totals: list[float]
    games: int = 0


@dataclass(slots=True)
class Payoffs:
    """The payoffs of the finished games of a tournament, by pair.

    Attributes:
      pairs: by identity; in games of more than two players these are blocks. A pair of which games
        are missing counts with the others.
    """

    pairs: dict[str, _Pair] = field(default_factory=dict)

    def add(self, pair_id: str, players: Sequence[str], returns: Sequence[float]) -> None:
        """Add a finished game."""
        names = tuple(sorted(players))
        pair = self.pairs.setdefault(pair_id, _Pair(names, [0.0] * len(names)))
        for name, payoff in zip(players, returns, strict=True):
            pair.totals[pair.players.index(name)] += payoff
        pair.games += 1

    def of(self, player: str) -> MeanPayoff | None:
        """Return a player's mean payoff against all opponents; None without a game.

        The variance is that of pairs against the same opponent, so that opponents of different
        strength do not widen the interval; of all pairs if an opponent was met in one pair only.
        """
        return self.of_team((player,))

    def of_team(self, members: Collection[str]) -> MeanPayoff | None:
        """Return the mean payoff of a team's members against all other players; see `of`.

        Games in which two members meet do not count.
        """
        return _mean(
            ((member, opponents), mean, games)
            for member in members
            for opponents, mean, games in self._seen_by(member)
            if not set(opponents) & set(members)
        )

    def against(self, player: str, opponent: str) -> MeanPayoff | None:
        """Return a player's mean payoff in games with an opponent; None without a game.

        The variance is that of pairs with the same other players, as in `of`.
        """
        return _mean(seen for seen in self._seen_by(player) if opponent in seen[0])

    def ranking(self, players: Iterable[str]) -> list[str]:
        """Return players by mean payoff, best first, those without a game last."""

        def key(player: str) -> tuple[bool, float]:
            mean = self.of(player)
            return mean is None, 0.0 if mean is None else -mean.value

        return sorted(players, key=key)

    def _seen_by(self, player: str) -> Iterator[tuple[tuple[str, ...], float, int]]:
        """Yield opponents, mean payoff per game and games of each pair of a player."""
        for pair in self.pairs.values():
            if player in pair.players:
                place = pair.players.index(player)
                opponents = (*pair.players[:place], *pair.players[place + 1 :])
                yield opponents, pair.totals[place] / pair.games, pair.games


def _mean(pairs: Iterable[tuple[object, float, int]]) -> MeanPayoff | None:
    """Return the mean of pairs, each with who met there, its mean and its games; None of none."""
    means: dict[object, list[float]] = {}
    games = 0
    for group, mean, count in pairs:
        means.setdefault(group, []).append(mean)
        games += count
    if not means:
        return None
    groups = [np.array(group) for group in means.values()]
    values = np.concatenate(groups)
    # A group of one has no variance of its own. All pairs are pooled then, which counts differences
    # between opponents as noise: a wider interval, but an honest one.
    if min(map(len, groups)) < 2:
        groups = [values]
    count = len(values)
    degrees = count - len(groups)
    margin = None
    if degrees > 0:
        # The groups' means, weighted by their sizes, are added up, and so are their variances.
        variance = sum(len(group) * float(group.var(ddof=1)) for group in groups) / count**2
        margin = student_quantile(degrees) * math.sqrt(variance)
    return MeanPayoff(value=float(values.mean()), margin=margin, pairs=count, games=games)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoffTestState:
    """The state of a test.

    Attributes:
      against_h0, against_h1: logarithms of the evidence against each hypothesis after `pairs`
        pairs; a hypothesis is rejected when it reaches `limit_h0` or `limit_h1`.
      limit_h0, limit_h1: ln(1 / alpha) and ln(1 / beta).
      verdict: the hypothesis that is left when the other is rejected; None if undecided.
      pairs: number of pairs up to the verdict; without a verdict, of all pairs.
      mean: mean payoff per game of these pairs.
    """

    against_h0: float
    against_h1: float
    limit_h0: float
    limit_h1: float
    verdict: Hypothesis | None
    pairs: int
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoffTest(SequentialTest):
    """A test of H0, a mean payoff of at most `mean0`, against H1, one of at least `mean1`.

    Each hypothesis is tested by betting against it: one unit of capital is staked, pair after pair,
    on payoffs above `mean0` (below `mean1`). Under the hypothesis no strategy gains on average, so
    the capital reaches 1 / alpha with probability alpha at most (Ville 1939), whatever the
    distribution of payoffs within their bounds and however often one looks. The stakes follow the
    mean and the variance of the pairs so far (Waudby-Smith and Ramdas 2023, "aGRAPA").

    Attributes:
      mean0, mean1: the hypotheses, mean payoffs per game; `mean0` is the lower.
      bound: largest payoff of a game.
      seats: number of players of a game. With more than two a payoff is the excess over the mean of
        all players, and a block of `seats` games takes the place of the pair.
      alpha: maximum probability of rejecting H0 if it is true.
      beta: maximum probability of rejecting H1 if it is true.

    Raises:
      ConfigError: a number is out of range, or `mean0` is not below `mean1`.
    """

    mean0: float
    mean1: float
    bound: float
    alpha: float = 0.05
    beta: float = 0.05
    seats: int = 2

    def __post_init__(self) -> None:
        check_range("bound", self.bound, 0.0, _LARGEST, "a payoff")
        for name, mean in (("mean0", self.mean0), ("mean1", self.mean1)):
            if not -self.bound < mean < self.bound:
                raise ConfigError(
                    f"{name}: is {mean:g}; give a mean payoff between {-self.bound:g} and "
                    f"{self.bound:g}, the payoffs of a game"
                )
        if not self.mean0 < self.mean1:
            raise ConfigError(
                f"mean0: is {self.mean0:g}, not below mean1, {self.mean1:g}; swap them, or move "
                "them apart"
            )
        check_errors(self.alpha, self.beta)

    def title(self) -> str:
        """Return a short description."""
        return f"test of mean payoffs [{self.mean0:g}, {self.mean1:g}]"

    def facts(
        self, state: PayoffTestState, pairs: Sequence[float], players: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return a state as plain data for reports; ``curve`` has a curve for each hypothesis."""
        words = {
            "H0": f"H0 accepted, a mean payoff below {self.mean1:g}",
            "H1": f"H1 accepted, a mean payoff above {self.mean0:g}",
            None: "undecided",
        }[state.verdict]
        numbers = ("against_h0", "against_h1", "limit_h0", "limit_h1", "mean")
        return {
            "kind": "payoff-test",
            "verdict": state.verdict,
            "pairs": state.pairs,
            "curve": [curve_points(evidence) for evidence in self.path(pairs).T.tolist()],
            **finite_or_none({name: getattr(state, name) for name in numbers}),
            "unit": self.unit,
            "text": f"test of {versus(players)}: {words} after {state.pairs} {self.unit}s, "
            f"mean {state.mean:+.3f}",
        }

    def decide(self, pairs: Sequence[float]) -> PayoffTestState:
        """Return the verdict at the first pair that rejects a hypothesis.

        Args:
          pairs: payoffs of the first player in all games of each pair, added up, in the order of
            the schedule. Later pairs than the deciding one change nothing.

        Raises:
          ValueError: a payoff is out of bounds.
        """
        evidence = self.path(pairs)
        limits = np.array([math.log(1 / self.alpha), math.log(1 / self.beta)])
        # Looking at every prefix costs no validity here: by Ville's inequality the probability of
        # ever reaching 1 / alpha is at most alpha.
        reached = np.flatnonzero((evidence >= limits).any(axis=1))
        count = int(reached[0]) + 1 if reached.size else len(pairs)
        last = evidence[count - 1] if count else np.zeros(2)
        verdict: Hypothesis | None = None
        if reached.size:
            # Both may be reached at one pair; the one that is further beyond its limit counts.
            verdict = "H1" if last[0] - limits[0] >= last[1] - limits[1] else "H0"
        return PayoffTestState(
            against_h0=float(last[0]),
            against_h1=float(last[1]),
            limit_h0=float(limits[0]),
            limit_h1=float(limits[1]),
            verdict=verdict,
            pairs=count,
            mean=float(np.mean(pairs[:count])) / self.seats if count else 0.0,
        )

    def path(self, pairs: Sequence[float]) -> NDArray[np.float64]:
        """Return the evidence against H0 and against H1 after each pair, ``(N, 2)``."""
        payoffs = np.asarray(pairs, dtype=np.float64) / self.seats
        if not (np.abs(payoffs) <= self.bound * (1 + _ROUNDING)).all():
            raise ValueError(f"a payoff is beyond its bound, {self.bound:g}")
        # Betting is defined on [0, 1]; a payoff of zero is one half there. The test against H1 is
        # the one against H0 seen by the opponent, hence 1 - x.
        x = np.clip((payoffs / self.bound + 1) / 2, 0.0, 1.0)
        low, high = ((mean / self.bound + 1) / 2 for mean in (self.mean0, self.mean1))
        return np.stack([_capital(x, low), _capital(1 - x, 1 - high)], axis=1)


_MOST_STAKED: Final = 0.75
"""Largest share of the capital that a bet can lose."""


def _capital(x: Floats, mean: float) -> Floats:
    """Return the logarithm of the capital after bets that x, from 0 to 1, is above `mean` > 0.

    Before each x its mean and variance are estimated from the earlier ones and a prior observation
    of mean 1/2 and variance 1/4; the stake that they make best is bounded.
    """
    seen = np.arange(1, len(x) + 1)
    # Estimates are shifted by one: a stake that knew the payoff it is bet on would make the capital
    # no martingale, and the test invalid.
    before = np.concatenate([[0.5], (0.5 + np.cumsum(x)) / (seen + 1)])
    squares = np.cumsum((x - before[1:]) ** 2)
    variance = np.concatenate([[0.25], (0.25 + squares) / (seen + 1)])[:-1]
    gain = before[:-1] - mean
    # The stake that maximises the expected logarithm of the capital to second order (Kelly). It is
    # never negative, as a bet below the mean would be one for the hypothesis.
    stake = np.clip(gain / (variance + gain**2), 0.0, _MOST_STAKED / mean)
    return np.asarray(np.cumsum(np.log1p(stake * (x - mean))))
