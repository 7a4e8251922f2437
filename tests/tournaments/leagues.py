"""Simulated leagues with known strengths, for the tests of ratings and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.rankings import RankedGame

NATURAL = math.log(10) / 400
"""Natural logarithms of odds in an Elo point."""


def davidson(gap: float, nu: float) -> tuple[float, float, float]:
    """Return P(win), P(draw), P(loss) for a gap in Elo, in Davidson's own form of the model."""
    stronger = math.exp(gap * NATURAL)
    tie = nu * math.sqrt(stronger)
    total = stronger + 1 + tie
    return stronger / total, tie / total, 1 / total


@dataclass(frozen=True, kw_only=True)
class League:
    """True strengths of a league in Elo, the first player's advantage, and the draw weight."""

    elo: tuple[float, ...]
    advantage: float = 0.0
    nu: float = 0.0

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(f"p{i}" for i in range(len(self.elo)))

    def play(self, rng: np.random.Generator, games: int) -> PairResults:
        """Return the results of `games` games of every ordered pairing."""
        k = len(self.elo)
        first, second = np.nonzero(~np.eye(k, dtype=np.bool_))
        chances = [
            davidson(self.elo[a] - self.elo[b] + self.advantage, self.nu)
            for a, b in zip(first, second, strict=True)
        ]
        counts = rng.multinomial(games, np.array(chances))
        return PairResults.from_arrays(
            np.tile(first, 3),
            np.tile(second, 3),
            np.repeat([1.0, 0.5, 0.0], first.size),
            counts.T.ravel(),
            players=self.players,
        )


def naive_loss(
    parameters: NDArray[np.float64],
    games: list[tuple[int, int, float, float]],
    players: int,
    prior: float,
) -> float:
    """Return minus the log-posterior of strengths, advantage and log nu, game by game.

    Written in the field's first form (Davidson 1970 with the order effect of Davidson and Beaver
    1977): products of worths, no shortcuts. `games` are ``(first, second, score, count)``.
    """
    worth = np.exp(parameters[:players])
    order, nu = math.exp(parameters[players]), math.exp(parameters[players + 1])
    loss = 0.0
    for first, second, score, count in games:
        a, b = order * worth[first], worth[second]
        tie = nu * math.sqrt(a * b)
        share = {1.0: a, 0.5: tie, 0.0: b}[score]
        loss -= count * math.log(share / (a + b + tie))
    for w in worth:  # half a win and half a loss a prior game, against an opponent of worth 1
        loss -= prior / 2 * (math.log(w / (w + 1)) + math.log(1 / (w + 1)))
    tie = nu * math.sqrt(order)
    total = order + 1 + tie
    for share, weight in ((order, 0.25), (tie, 0.5), (1.0, 0.25)):
        loss -= prior * weight * math.log(share / total)
    return float(loss)


def race(
    rng: np.random.Generator, elo: Mapping[str, float], seats: Sequence[float], games: int
) -> list[RankedGame]:
    """Play all seatings of all groups as a race of exponential clocks.

    The order in which clocks of rates a, b, c ring is distributed as Plackett-Luce says (Yellott
    1977, "The relationship between Luce's choice axiom, Thurstone's theory of comparative judgment,
    and the double exponential distribution"), without its formula.
    """
    output: list[RankedGame] = []
    for group in permutations(elo, len(seats)):
        rates = [
            math.exp(NATURAL * (elo[name] + seat)) for name, seat in zip(group, seats, strict=True)
        ]
        times = rng.exponential(1 / np.array(rates), size=(games, len(seats)))
        output += [(group, tuple((-row).tolist())) for row in times]
    return output
