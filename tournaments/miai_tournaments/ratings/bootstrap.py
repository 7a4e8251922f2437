"""The pair bootstrap: a check of the ratings' intervals.

The fit treats games as independent. The two games of a colour-swapped pair share their opening and
seeds, so they may not be; nor may those of a block of more players. The bootstrap resamples whole
pairs and blocks with replacement, within those of the same players, and refits every replicate; its
spread includes the dependence within them (Efron and Tibshirani, An Introduction to the Bootstrap,
1993). With few pairs per pairing it is too narrow, since it cannot draw what never happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from miai_tournaments.ratings import model as newton
from miai_tournaments.ratings.model import (
    Floats,
    Integers,
    LogPosterior,
    LogPosteriorPoint,
    PairingCounts,
    Posterior,
    check_range,
)
from miai_tournaments.ratings.plackett_luce import RankingModel
from miai_tournaments.ratings.rankings import Ranking, Rankings, ranks_of
from miai_tournaments.ratings.ratings import ELO, PRIOR_GAMES, check_options, gauge

BlockGame = tuple[str, Sequence[str], Sequence[float]]
"""Identity of the pair or block, players in seat order, and their returns."""

_MOST_REPLICATES: Final = 100_000
_CHUNK_NUMBERS: Final = 1 << 17
"""Maximum size of an array while a chunk of replicates is fitted, so that it fits a cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bootstrap:
    """Ratings of resampled leagues.

    Attributes:
      players: names, K of them.
      elo: ``(R, K)`` ratings of R replicates, relative to the anchor or the mean.
      seed: seed of the replicates.
    """

    players: tuple[str, ...]
    elo: Floats
    seed: int

    @property
    def standard_errors(self) -> Floats:
        """``(K,)`` standard deviations over the replicates, Elo."""
        return np.asarray(self.elo.std(axis=0, ddof=1))

    def intervals(self) -> Floats:
        """Return ``(K, 2)`` 95 % percentile intervals, Elo."""
        return np.asarray(np.quantile(self.elo, (0.025, 0.975), axis=0).T)


def bootstrap_ratings(
    games: Iterable[BlockGame],
    *,
    replicates: int = 1000,
    seed: int = 0,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
    players: Sequence[str] = (),
) -> Bootstrap:
    """Return the ratings of leagues resampled from the pairs or blocks of a league.

    The result depends on the games and the seed, not on the order of the games.

    Args:
      replicates: number of replicates, at least 2.

    The other arguments are those of `fit_ratings`.

    Raises:
      ConfigError: as `fit_ratings`, or `replicates` is out of range.
    """
    check_range("bootstrap", replicates, 2, _MOST_REPLICATES, "a number of replicates")
    sample = _Sample(games, players)
    names, k = sample.players, len(sample.players)
    check_options(names, anchor, anchor_elo, prior_games)
    prepare = _pair_posteriors if sample.of_two else _ranking_posteriors
    posterior, numbers = prepare(sample, prior_games)
    rng = np.random.default_rng(seed)
    # All replicates start from the league's own fit: they are close to it, so Newton needs fewer
    # steps than from equal players.
    start = newton.maximise(posterior(sample.original())).parameters
    chunk = max(1, _CHUNK_NUMBERS // max(1, numbers, (k + 2) ** 2))
    sizes = (min(chunk, replicates - done) for done in range(0, replicates, chunk))
    fits = [newton.maximise(posterior(sample.draw(rng, size)), start=start) for size in sizes]
    parameters = np.concatenate([fit.parameters for fit in fits])
    elo = ELO * parameters[:, :k] @ gauge(names, anchor).T + anchor_elo
    return Bootstrap(players=names, elo=elo, seed=seed)


Posteriors = tuple[Callable[[Floats], LogPosterior[LogPosteriorPoint]], int]
"""Makes the posterior of leagues from their counts of outcomes; and the numbers a league takes."""


def _pair_posteriors(sample: _Sample, prior_games: float) -> Posteriors:
    """Return the model of `fit_ratings`, over ordered pairings."""
    k = max(len(sample.players), 1)
    index = {name: i for i, name in enumerate(sample.players)}
    cells = np.array([index[a] * k + index[b] for (a, b), _ in sample.outcomes], dtype=np.int64)
    scores = np.array([(1 + second - first) / 2 for _, (first, second) in sample.outcomes])
    # Outcomes of one pairing stand side by side, so that one `reduceat` adds them up.
    order = np.argsort(cells, kind="stable")
    pairings, starts = np.unique(cells[order], return_index=True)
    drawn = scores == 0.5

    def posterior(counts: Floats) -> Posterior:
        games, points, draws = (
            _segment_sums(part[:, order], starts)
            for part in (counts, counts * scores, counts * drawn)
        )
        return Posterior(
            PairingCounts(
                first=pairings // k, second=pairings % k, games=games, points=points, draws=draws
            ),
            len(sample.players),
            prior_games=prior_games,
            advantage=True,
            draws=bool(drawn.any()),
        )

    return posterior, sample.entries


def _ranking_posteriors(sample: _Sample, prior_games: float) -> Posteriors:
    """Return the model of `fit_rankings`."""
    games = ((seats, [-rank for rank in ranks]) for seats, ranks in sample.outcomes)
    model = RankingModel(Rankings.from_games(games, players=sample.players))
    return lambda counts: model.posterior(counts, prior_games=prior_games), model.cells


class _Sample:
    """The pairs or blocks of a league, prepared for resampling.

    Those of the same players with the same results are one *pattern*. Counts of patterns are
    multinomial, so a million games cost no more than their few patterns.

    Attributes:
      players: names.
      outcomes: the different rankings, games of equally many players together as in `Rankings`.
      entries: number of rankings in all patterns.
    """

    def __init__(self, games: Iterable[BlockGame], players: Sequence[str]) -> None:
        names = dict.fromkeys(players)
        blocks: dict[str, list[Ranking]] = {}
        for block, seats, returns in games:
            names.update(dict.fromkeys(seats))
            blocks.setdefault(block, []).append((tuple(seats), ranks_of(returns)))
        self.players = tuple(names)
        # Which pairs are alike is all that matters, so a league of a million games shrinks to a few
        # patterns and a replicate to a few multinomial draws.
        patterns = Counter(tuple(sorted(block, key=_order)) for block in blocks.values())
        ordered = sorted(patterns, key=lambda pattern: tuple(map(_order, pattern)))
        self._patterns = len(ordered)
        # Resampling stays within the blocks of the same players: how often they met is the
        # schedule's choice, not chance.
        strata: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for number, pattern in enumerate(ordered):
            who = tuple(sorted({name for seats, _ in pattern for name in seats}))
            strata.setdefault(who, []).append((number, patterns[pattern]))
        self._strata = [np.array(stratum, dtype=np.int64).T for stratum in strata.values()]
        rankings = {game for pattern in ordered for game in pattern}
        self.outcomes = sorted(rankings, key=lambda game: (len(game[0]), *_order(game)))
        index = {game: number for number, game in enumerate(self.outcomes)}
        pairs = sorted((index[game], n) for n, pattern in enumerate(ordered) for game in pattern)
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._starts = np.unique(table[:, 0], return_index=True)[1]
        self._pattern, self.entries = table[:, 1], len(table)

    @property
    def of_two(self) -> bool:
        """Whether all games are of two players."""
        return all(len(seats) == 2 for seats, _ in self.outcomes)

    def original(self) -> Floats:
        """Return the counts of the league's own outcomes, ``(1, outcomes)``."""
        times = np.zeros((1, self._patterns))
        for number, count in self._strata:
            times[0, number] = count
        return self._counts(times)

    def draw(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Return the counts of resampled leagues, each with every stratum's number of blocks."""
        times = np.zeros((replicates, self._patterns))
        for number, count in self._strata:
            total = count.sum()
            times[:, number] = rng.multinomial(total, count / total, size=replicates)
        return self._counts(times)

    def _counts(self, times: Floats) -> Floats:
        return _segment_sums(times[:, self._pattern], self._starts)


def _order(game: Ranking) -> tuple[object, ...]:
    """Return the place of a ranking among others: by players, the worst for the first one first."""
    seats, ranks = game
    return seats, -ranks[0], ranks[1:]


def _segment_sums(values: Floats, starts: Integers) -> Floats:
    """Return the sums of the segments that begin at `starts`, along the second axis."""
    if not len(starts):  # no games at all, which `reduceat` refuses
        return np.zeros((len(values), 0))
    return np.asarray(np.add.reduceat(values, starts, axis=1))
