"""Whether one rating per player explains the results: cycles of three, and the table of payoffs.

If A beats B, B beats C and C beats A, no ratings explain it. Close players make some such cycles
by chance, so the cycles of a league are compared with those of simulated transitive leagues with
the same games.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai.errors import ConfigError
from miai_tournaments.ratings.model import Floats, check_range, outcomes
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import ELO, Ratings, fit_ratings
from miai_tournaments.ratings.spread import Contrasts

REPLICATES: Final = 999

_MOST_REPLICATES: Final = 100_000
_CHUNK_NUMBERS: Final = 1 << 20
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Three players of whom each beat the next, and the last the first.

    Attributes:
      players: names in that order, starting with the first in alphabetical order.
      weakest: minimum of the three mean scores, above one half.
    """

    players: tuple[str, str, str]
    weakest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitivity:
    """The cycles of a league and those that chance explains.

    Attributes:
      triples: number of triples of players who all met and did not share their points equally.
      cycles: number of cycles among them.
      share: share of cycles, from 0 to 1; 0 without triples, a quarter for random results.
      expected, low, high: mean and 95 % range of the share in simulated transitive leagues.
      p_value: probability of a share as large in a transitive league; 1 without triples.
      strongest: up to ten cycles, by decreasing `Cycle.weakest`.
    """

    triples: int
    cycles: int
    share: float
    expected: float
    low: float
    high: float
    p_value: float
    strongest: tuple[Cycle, ...]


def payoff_table(results: PairResults, *, ratings: Ratings | None = None) -> Floats:
    """Return the mean points ``(K, K)`` of the player of the row against that of the column.

    Both colours have equal weight. The diagonal is one half. For players who never met, the score
    that `ratings` predict is used.

    Raises:
      ConfigError: two players never met, and no ratings are given.
    """
    table, met = _mean_points(results.games[None], results.points[None], results)
    payoffs, missing = table[0], ~met
    np.fill_diagonal(payoffs, 0.5)
    np.fill_diagonal(missing, val=False)
    for i, j in np.argwhere(missing).tolist():
        one, other = results.players[i], results.players[j]
        if ratings is None:
            raise ConfigError(
                f"payoffs: '{one}' and '{other}' never met; let everybody play everybody, or fill "
                "the gaps with ratings"
            )
        as_first, as_second = ratings.expected_score(one, other), ratings.expected_score(other, one)
        payoffs[i, j] = (as_first + 1 - as_second) / 2
    return np.asarray(payoffs)


def measure_transitivity(
    results: PairResults, *, replicates: int = REPLICATES, seed: int = 0
) -> Transitivity:
    """Return the cycles of a league, compared with simulated transitive leagues.

    Simulated strengths are drawn from their posterior, with a spread estimated beyond noise: the
    fitted strengths themselves are further apart than the true ones and would give too few cycles.

    Args:
      replicates: number of simulated leagues, at least 19.
      seed: seed of the simulation.

    Raises:
      ConfigError: `replicates` is out of range.
    """
    check_range("replicates", replicates, 19, _MOST_REPLICATES)
    table, met = _mean_points(results.games[None], results.points[None], results)
    beats = _beats(table, met)
    cycles, triples = (float(count[0]) for count in _count(beats))
    if not triples:
        return Transitivity(
            triples=0, cycles=0, share=0.0, expected=0.0, low=0.0, high=0.0, p_value=1.0,
            strongest=(),
        )  # fmt: skip
    share = cycles / triples
    simulated = np.concatenate(list(_simulate(results, met, replicates, seed)))
    low, high = np.quantile(simulated, (0.025, 0.975)).tolist()
    return Transitivity(
        triples=round(triples),
        cycles=round(cycles),
        share=share,
        expected=float(simulated.mean()),
        low=low,
        high=high,
        p_value=float((1 + (simulated >= share - 1e-12).sum()) / (1 + replicates)),
        strongest=_strongest(results.players, table[0], beats[0]),
    )


def _mean_points(
    games: Floats, points: Floats, results: PairResults
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return mean points ``(B, K, K)`` over colours, and whether players met ``(K, K)``.

    `games` is ``(1, M)`` and `points` ``(B, M)``; players who did not meet have zero.
    """
    k = len(results.players)
    apart = results.first != results.second
    first, second = results.first[apart], results.second[apart]
    share = points[:, apart] / games[:, apart]
    total, colours = np.zeros((len(points), k, k)), np.zeros((k, k))
    total[:, first, second] += share
    total[:, second, first] += 1 - share
    colours[first, second] += 1
    colours[second, first] += 1
    return np.asarray(total / np.maximum(colours, 1)), colours > 0


def _beats(table: Floats, met: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return 1 where the player of the row has more than half of the points, ``(B, K, K)``."""
    return ((table > 0.5 + 1e-12) & met).astype(np.float32)


def _count(beats: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """Return the numbers of cycles and of decided triples, ``(B,)`` each."""
    decided = beats + beats.transpose(0, 2, 1)
    cycles = (beats @ beats * beats.transpose(0, 2, 1)).sum(axis=(1, 2), dtype=np.float64)
    triples = (decided @ decided * decided).sum(axis=(1, 2), dtype=np.float64)
    return np.asarray(cycles / 3), np.asarray(triples / 6)


def _simulate(
    results: PairResults, met: NDArray[np.bool_], replicates: int, seed: int
) -> Iterator[Floats]:
    """Yield shares of cycles in simulated transitive leagues with the same games."""
    ratings = fit_ratings(results)
    contrasts = Contrasts.of(ratings.elo / ELO, ratings.covariance / ELO**2)
    between = contrasts.between()
    shrinkage = between / (between + contrasts.variances)
    advantage = ratings.first_player_advantage
    worth = advantage.value / ELO if advantage else 0.0
    rng = np.random.default_rng(seed)
    games = np.rint(results.games).astype(np.int64)
    chunk = max(1, _CHUNK_NUMBERS // max(games.size, len(results.players) ** 2))
    for start in range(0, replicates, chunk):
        shape = (min(chunk, replicates - start), len(shrinkage))
        noise = rng.standard_normal(shape) * np.sqrt(shrinkage * contrasts.variances)
        strengths = (shrinkage * contrasts.differences + noise) @ contrasts.basis.T
        x = strengths[:, results.first] - strengths[:, results.second] + worth
        chances = np.stack(outcomes(x, np.array(ratings.log_nu)), axis=-1)
        sample = rng.multinomial(games, chances / chances.sum(axis=-1, keepdims=True))
        points = sample[..., 0] + sample[..., 1] / 2
        table, _ = _mean_points(np.maximum(games, 1)[None].astype(np.float64), points, results)
        cycles, triples = _count(_beats(table, met))
        yield np.asarray(cycles / np.maximum(triples, 1))


def _strongest(
    players: tuple[str, ...], table: Floats, beats: NDArray[np.float32]
) -> tuple[Cycle, ...]:
    """Return the cycles whose weakest link is the strongest."""
    cycles: list[Cycle] = []
    wins = np.where(beats > 0, table, 0.0)
    for i in range(len(players)):  # the first of the cycle by index, the others behind it
        weakest = np.minimum(wins[i + 1 :, i + 1 :], wins[i, i + 1 :, None])
        weakest = np.minimum(weakest, wins[i + 1 :, i][None])
        flat = weakest.ravel()
        best = np.argsort(-flat, kind="stable")[:_SHOWN]
        for place in best[flat[best] > 0].tolist():
            j, k = divmod(place, len(weakest))
            names = (players[i], players[i + 1 + j], players[i + 1 + k])
            cycles.append(Cycle(players=_turned(names), weakest=float(flat[place])))
    return tuple(sorted(cycles, key=lambda cycle: (-cycle.weakest, cycle.players))[:_SHOWN])


def _turned(names: tuple[str, str, str]) -> tuple[str, str, str]:
    a, b, c = names
    return min((a, b, c), (b, c, a), (c, a, b))
