"""Performance by opening, and a test whether openings differ.

It works on rows ``(opening, first player, second player, first player's score)``. Openings are
arbitrary texts; games without an opening share one, such as the empty text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from miai_tournaments.ratings.model import Floats, Integers, check_range
from miai_tournaments.ratings.ratings import Z95

Row = tuple[str, str, str, float]
"""Opening, first player, second player, and the first player's score: 0, 0.5 or 1."""

REPLICATES: Final = 999

_MOST_REPLICATES: Final = 100_000
_LEAST_REPLICATES: Final = 99
_MOST_WORK: Final = 10**7
_CHUNK_NUMBERS: Final = 1 << 20
_SCORES: Final = (1.0, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class PerformanceRow:
    """Results of the games with one opening, from the first player's point of view.

    Attributes:
      opening: the opening.
      wins, draws, losses: games.
      low, high: 95 % interval of the score (Wilson 1927); conservative with draws, which reduce the
        variance.
    """

    opening: str
    wins: int
    draws: int
    losses: int
    low: float
    high: float

    @property
    def games(self) -> int:
        """Number of games, at least 1."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Points per game, from 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningTest:
    """Whether results depend on the opening.

    Attributes:
      statistic: chi-square of openings by outcome (win, draw, loss of the first player), with
        expectations from the results of each ordered pairing.
      p_value: probability of a statistic as large if openings make no difference; 1 without
        anything to compare.
      replicates: number of shuffles.
      openings, games: their numbers.
    """

    statistic: float
    p_value: float
    replicates: int
    openings: int
    games: int


def wilson_interval(points: float, games: float) -> tuple[float, float]:
    """Return the 95 % interval of a score (E. Wilson, JASA 1927); 0 to 1 without games."""
    if games <= 0:
        return 0.0, 1.0
    share, weight = points / games, Z95**2 / games
    middle = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    low = 0.0 if points == 0 else max(0.0, middle - half)
    return low, 1.0 if points == games else min(1.0, middle + half)


def measure_performance(rows: Iterable[Row]) -> list[PerformanceRow]:
    """Return the first player's results by opening, in order of appearance.

    Raises `ValueError` for an invalid score.
    """
    openings: dict[str, list[int]] = {}
    for opening, _, _, score in rows:
        openings.setdefault(opening, [0, 0, 0])[_outcome(score)] += 1
    lines = []
    for opening, (wins, draws, losses) in openings.items():
        low, high = wilson_interval(wins + draws / 2, wins + draws + losses)
        lines.append(PerformanceRow(opening, wins, draws, losses, low, high))
    return lines


def compare_openings(
    rows: Iterable[Row], *, replicates: int = REPLICATES, seed: int = 0
) -> OpeningTest:
    """Return a permutation test of whether results depend on the opening.

    Results are shuffled among the openings of each ordered pairing, so neither strength nor colour
    is mistaken for an effect of the opening. With very many games fewer replicates are used, at
    least 99.

    Args:
      replicates: number of shuffles, at least 99.
      seed: seed of the shuffles; the order of the rows does not matter.

    Raises:
      ConfigError: `replicates` is out of range.
      ValueError: a score is invalid.
    """
    check_range("replicates", replicates, _LEAST_REPLICATES, _MOST_REPLICATES)
    table = _Strata(rows)
    statistic = float(table.statistic(table.observed()[None])[0])
    work = max(table.opening.size, 1)
    replicates = min(replicates, max(_LEAST_REPLICATES, _MOST_WORK // work))
    chunk = max(1, _CHUNK_NUMBERS // max(work, 3 * table.openings))
    rng = np.random.default_rng(seed)
    larger = sum(
        int((table.statistic(table.shuffle(rng, size)) >= statistic * (1 - 1e-9) - 1e-9).sum())
        for size in (min(chunk, replicates - done) for done in range(0, replicates, chunk))
    )
    return OpeningTest(
        statistic=statistic,
        p_value=(1 + larger) / (1 + replicates),
        replicates=replicates,
        openings=table.openings,
        games=int(table.size.sum()),
    )


class _Strata:
    """Games counted by ordered pairing (stratum), opening and outcome.

    Attributes:
      openings: number of openings, O.
      stratum, opening, size: ``(C,)`` arrays over cells, a stratum's games with one opening.
      outcomes: ``(S, 3)`` wins, draws and losses of each stratum.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        counts: dict[tuple[tuple[str, str], str], list[int]] = {}
        for opening, first, second, score in rows:
            counts.setdefault(((first, second), opening), [0, 0, 0])[_outcome(score)] += 1
        cells = sorted(counts)
        pairings = {pairing: i for i, pairing in enumerate(dict.fromkeys(c[0] for c in cells))}
        names = {name: i for i, name in enumerate(sorted({c[1] for c in cells}))}
        self.openings = len(names)
        self.stratum: Integers = np.array([pairings[c[0]] for c in cells], dtype=np.int64)
        self.opening: Integers = np.array([names[c[1]] for c in cells], dtype=np.int64)
        self._cells = np.array([counts[c] for c in cells], dtype=np.int64).reshape(-1, 3)
        self.size: Integers = self._cells.sum(axis=1)
        self.outcomes: Integers = np.zeros((len(pairings), 3), dtype=np.int64)
        np.add.at(self.outcomes, self.stratum, self._cells)
        shares = self.outcomes / np.maximum(self.outcomes.sum(axis=1, keepdims=True), 1)
        self._expected = np.zeros((self.openings, 3))
        np.add.at(self._expected, self.opening, self.size[:, None] * shares[self.stratum])
        self._place = np.arange(len(cells)) - np.searchsorted(self.stratum, self.stratum)

    def observed(self) -> Floats:
        """Return the games by opening and outcome, ``(O, 3)``."""
        table = np.zeros((self.openings, 3))
        np.add.at(table, self.opening, self._cells)
        return table

    def shuffle(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Return tables ``(R, O, 3)`` with each stratum's outcomes shuffled."""
        table = np.zeros((self.openings, replicates, 3), dtype=np.int64)
        pools = np.repeat(self.outcomes[:, None], replicates, axis=1)  # (S, R, 3)
        for place in range(int(self._place.max(initial=-1)) + 1):
            cells = np.flatnonzero(self._place == place)
            pool, size = pools[self.stratum[cells]], self.size[cells, None]
            wins = rng.hypergeometric(pool[..., 0], pool[..., 1] + pool[..., 2], size)
            draws = rng.hypergeometric(pool[..., 1], pool[..., 2], size - wins)
            dealt = np.stack([wins, draws, size - wins - draws], axis=-1)
            pools[self.stratum[cells]] = pool - dealt
            np.add.at(table, self.opening[cells], dealt)
        return np.asarray(table.transpose(1, 0, 2), dtype=np.float64)

    def statistic(self, tables: Floats) -> Floats:
        """Return chi-square ``(R,)`` of tables ``(R, O, 3)``."""
        expected = np.where(self._expected > 0, self._expected, 1.0)
        cells = np.where(self._expected > 0, (tables - self._expected) ** 2 / expected, 0.0)
        return np.asarray(cells.sum(axis=(1, 2)))


def _outcome(score: float) -> int:
    """Return 0 for a win, 1 for a draw, 2 for a loss."""
    if score not in _SCORES:
        raise ValueError(
            f"a score is 0, 0.5 or 1, not {score}: the first player's points in a game"
        )
    return _SCORES.index(score)
