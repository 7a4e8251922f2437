"""Regret matching, for decisions that several players take at once.

Such a decision may need a mixed strategy, to which the searches of single moves do not lead:
decoupled UCT cycles, or cooperates where defection dominates (Shafiei, Sturtevant & Schaeffer,
"Comparing UCT versus CFR in simultaneous games", 2009). In simulations, each player instead draws
its action in proportion to regrets (Hart & Mas-Colell 2000; negative ones count as zero, as in
regret matching+, Tammelin 2014). With two players and a constant sum the mean of these strategies
tends to an equilibrium (Lisy, Kovarik, Lanctot & Bosansky, "Convergence of Monte Carlo tree search
in simultaneous move games", 2013); in other games it tends to be without regrets, no more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt
from operator import mul


class RegretMatching:
    """One player's strategy at one decision, learnt from simulations.

    The legal actions may differ from one simulation to the next, as in worlds of a hidden game.

    Attributes:
      visits: number of simulations.
      counts: simulations that played each action.
      totals: sum of the player's utilities in them.
    """

    __slots__ = ("_regrets", "_strategy", "counts", "totals", "visits")

    def __init__(self) -> None:
        self.visits = 0
        self.counts: dict[int, int] = {}
        self.totals: dict[int, float] = {}
        self._regrets: dict[int, float] = {}
        self._strategy: dict[int, float] = {}

    def mean(self, action: int) -> float:
        """Return the mean utility of an action; 0 before its first simulation."""
        return self.totals.get(action, 0.0) / self.counts.get(action, 1)

    def value(self) -> float:
        """Return the mean utility of all simulations."""
        return sum(self.totals.values()) / max(1, self.visits)

    def strategy(self, legal: Sequence[int]) -> list[float]:
        """Return the mean strategy so far, without exploration: a probability for each action."""
        return _in_proportion([self._strategy.get(action, 0.0) for action in legal])

    def draw(self, legal: Sequence[int], rng: random.Random) -> int:
        """Return an action for the next simulation."""
        return rng.choices(legal, self._explored(self._matched(legal)))[0]

    def learn(self, legal: Sequence[int], action: int, utility: float) -> None:
        """Note that the action, one of the legal ones, gave the player a utility.

        The utilities of the other actions are estimated by their means so far. That of the one
        played is estimated without bias, by its mean and the deviation from it divided by its
        probability; the mean is a control variate (Schmid et al. 2019).
        """
        matched = self._matched(legal)
        played = self._explored(matched)
        estimates = [self.mean(other) for other in legal]
        index = legal.index(action)
        estimates[index] += (utility - estimates[index]) / played[index]
        expected = sum(map(mul, matched, estimates))
        for other, probability, estimate in zip(legal, matched, estimates, strict=True):
            # Summed up: the mean of the strategies tends to an equilibrium, the latest one may
            # circle it.
            self._strategy[other] = self._strategy.get(other, 0.0) + probability
            regret = self._regrets.get(other, 0.0) + estimate - expected
            # Regret matching+ (Tammelin 2014): regrets below 0 are forgotten, so that an action
            # that was bad for long recovers at once.
            self._regrets[other] = max(0.0, regret)
        self.visits += 1
        self.counts[action] = self.counts.get(action, 0) + 1
        self.totals[action] = self.totals.get(action, 0.0) + utility

    def _matched(self, legal: Sequence[int]) -> list[float]:
        return _in_proportion([self._regrets.get(action, 0.0) for action in legal])

    def _explored(self, matched: Sequence[float]) -> list[float]:
        """Mix probabilities with uniform ones: a share of k / (k + sqrt(n)) after n simulations."""
        share = len(matched) / (len(matched) + sqrt(self.visits))
        return [(1.0 - share) * p + share / len(matched) for p in matched]


def _in_proportion(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    if total <= 0.0:
        return [1.0 / len(weights)] * len(weights)
    return [weight / total for weight in weights]
