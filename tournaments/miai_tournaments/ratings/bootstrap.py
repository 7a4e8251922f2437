"""The pair bootstrap: a check of the ratings' intervals.

The fit treats games as independent. The two games of a colour-swapped pair share their opening and
seeds, so they may not be. The bootstrap resamples whole pairs with replacement, within each two
players' pairs, and refits every replicate; its spread includes the dependence within pairs (Efron
and Tibshirani, An Introduction to the Bootstrap, 1993). With few pairs per pairing it is too
narrow, since it cannot draw what never happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_tournaments.ratings import model as newton
from miai_tournaments.ratings.model import Floats, Integers, PairingCounts, Posterior, check_range
from miai_tournaments.ratings.plackett_luce import RankingModel
from miai_tournaments.ratings.rankings import Ranking, Rankings, ranks_of
from miai_tournaments.ratings.ratings import ELO, PRIOR_GAMES, check_options, gauge

PairedGame = tuple[str, str, str, float]
"""Pair's identity, first player, second player, and the first player's score."""

BlockGame = tuple[str, Sequence[str], Sequence[float]]
"""Block's identity, players in seat order, and their returns."""

_MOST_REPLICATES: Final = 100_000
_CHUNK_NUMBERS: Final = 1 << 17
"""Maximum size of an array while a chunk of replicates is fitted, so that it fits a cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bootstrap:
    """Ratings of resampled leagues.

    Attributes:
      players: names, K of them.
      elo: ``(R, K)`` ratings of R replicates, relative to the anchor or the mean.
      first_player_advantage: ``(R,)`` Elo; None if not fitted.
      seed: seed of the replicates.
    """

    players: tuple[str, ...]
    elo: Floats
    first_player_advantage: Floats | None
    seed: int

    @property
    def standard_errors(self) -> Floats:
        """``(K,)`` standard deviations over the replicates, Elo."""
        return np.asarray(self.elo.std(axis=0, ddof=1))

    def intervals(self) -> Floats:
        """Return ``(K, 2)`` 95 % percentile intervals, Elo."""
        return np.asarray(np.quantile(self.elo, (0.025, 0.975), axis=0).T)


def bootstrap_ratings(
    games: Iterable[PairedGame],
    *,
    replicates: int = 1000,
    seed: int = 0,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
    first_player_advantage: bool = True,
    players: Sequence[str] = (),
) -> Bootstrap:
    """Return the ratings of leagues resampled from the pairs of a league.

    The result depends on the games and the seed, not on the order of the games.

    Args:
      replicates: number of replicates, at least 2.

    The other arguments are those of `fit_ratings`.

    Raises:
      ConfigError: as `fit_ratings`, or `replicates` is out of range.
    """
    check_range("bootstrap", replicates, 2, _MOST_REPLICATES, "a number of replicates")
    sample = _Sample(games, players)
    check_options(sample.players, anchor, anchor_elo, prior_games)
    k = len(sample.players)

    def posterior(counts: PairingCounts) -> Posterior:
        return Posterior(
            counts,
            k,
            prior_games=prior_games,
            advantage=first_player_advantage,
            draws=sample.drawn,
        )

    rng = np.random.default_rng(seed)
    start = newton.maximise(posterior(sample.original())).parameters
    chunk = max(1, _CHUNK_NUMBERS // max(1, sample.pattern.size, (k + 2) ** 2))
    fits = [
        newton.maximise(posterior(sample.draw(rng, size)), start=start).parameters
        for size in (min(chunk, replicates - done) for done in range(0, replicates, chunk))
    ]
    parameters = np.concatenate(fits)
    shift = gauge(sample.players, anchor)
    return Bootstrap(
        players=sample.players,
        elo=ELO * parameters[:, :k] @ shift.T + anchor_elo,
        first_player_advantage=ELO * parameters[:, k] if first_player_advantage else None,
        seed=seed,
    )


def bootstrap_rankings(
    games: Iterable[BlockGame],
    *,
    replicates: int = 1000,
    seed: int = 0,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
    players: Sequence[str] = (),
) -> Bootstrap:
    """Return the ratings of leagues of games of any number of players, resampled block by block.

    As `bootstrap_ratings`; the blocks of the same players take the place of the pairs.

    Raises:
      ConfigError: as `bootstrap_ratings`.
    """
    check_range("bootstrap", replicates, 2, _MOST_REPLICATES, "a number of replicates")
    sample = _Blocks(games, players)
    check_options(sample.rankings.players, anchor, anchor_elo, prior_games)
    model, k = RankingModel(sample.rankings), len(sample.rankings.players)

    def fit(counts: Floats, start: Floats | None = None) -> Floats:
        posterior = model.posterior(counts, prior_games=prior_games)
        return newton.maximise(posterior, start=start).parameters

    rng = np.random.default_rng(seed)
    start = fit(sample.original())
    chunk = max(1, _CHUNK_NUMBERS // max(1, model.cells, (k + 2) ** 2))
    sizes = (min(chunk, replicates - done) for done in range(0, replicates, chunk))
    parameters = np.concatenate([fit(sample.draw(rng, size), start) for size in sizes])
    shift = gauge(sample.rankings.players, anchor)
    return Bootstrap(
        players=sample.rankings.players,
        elo=ELO * parameters[:, :k] @ shift.T + anchor_elo,
        first_player_advantage=None,
        seed=seed,
    )


class _Blocks:
    """The blocks of a league, prepared for resampling.

    Blocks with the same rankings are one *pattern*, as the pairs of `_Sample`.

    Attributes:
      rankings: those that occurred.
    """

    def __init__(self, games: Iterable[BlockGame], players: Sequence[str]) -> None:
        blocks: dict[str, list[Ranking]] = {}
        for block, seats, returns in games:
            blocks.setdefault(block, []).append((tuple(seats), ranks_of(returns)))
        patterns = Counter(tuple(sorted(block)) for block in blocks.values())
        outcomes = sorted({game for pattern in patterns for game in pattern})
        outcomes.sort(key=lambda game: len(game[0]))  # kind after kind, as in `Rankings`
        self.rankings = Rankings.from_games(
            ((seats, [-rank for rank in ranks]) for seats, ranks in outcomes), players=players
        )
        index = {game: number for number, game in enumerate(outcomes)}
        self._times = np.zeros((len(patterns), len(outcomes)))
        strata: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for number, (pattern, count) in enumerate(sorted(patterns.items())):
            strata.setdefault(tuple(sorted(pattern[0][0])), []).append((number, count))
            for game in pattern:
                self._times[number, index[game]] += 1
        self._strata = [np.array(stratum, dtype=np.int64).T for stratum in strata.values()]

    def original(self) -> Floats:
        """Return the counts of the league's own rankings, ``(1, outcomes)``."""
        blocks = np.zeros((1, len(self._times)))
        for number, count in self._strata:
            blocks[0, number] = count
        return np.asarray(blocks @ self._times)

    def draw(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Return the counts of resampled leagues, each with every stratum's number of blocks."""
        blocks = np.zeros((replicates, len(self._times)))
        for number, count in self._strata:
            total = count.sum()
            blocks[:, number] = rng.multinomial(total, count / total, size=replicates)
        return np.asarray(blocks @ self._times)


class _Sample:
    """The pairs of a league, prepared for resampling.

    Pairs of the same players with the same results are one *pattern*. Counts of patterns are
    multinomial, so a million games cost no more than their few patterns.

    Attributes:
      players: names.
      drawn: whether any game was drawn.
      pattern: ``(E,)`` patterns; an entry is the contribution of a pattern to an ordered pairing.
    """

    def __init__(self, games: Iterable[PairedGame], players: Sequence[str]) -> None:
        names = dict.fromkeys(players)
        pairs: dict[str, list[tuple[str, str, float]]] = {}
        for pair, first, second, score in games:
            names[first] = names[second] = None
            pairs.setdefault(pair, []).append((first, second, score))
        self.players = tuple(names)
        patterns = Counter(tuple(sorted(pair)) for pair in pairs.values())
        strata: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        entries: list[tuple[int, int, float, bool]] = []
        index = {name: i for i, name in enumerate(self.players)}
        for number, (pattern, count) in enumerate(sorted(patterns.items())):
            pair_players = tuple(sorted({name for game in pattern for name in game[:2]}))
            strata.setdefault(pair_players, []).append((number, count))
            for first, second, score in pattern:
                cell = index[first] * len(index) + index[second]
                entries.append((cell, number, score, score == 0.5))
        self._strata = [np.array(stratum, dtype=np.int64) for stratum in strata.values()]
        self._patterns = len(patterns)
        table = np.array(sorted(entries), dtype=np.float64).reshape(-1, 4)
        self._cell, self._start = np.unique(table[:, 0].astype(np.int64), return_index=True)
        self.pattern: Integers = table[:, 1].astype(np.int64)
        self._score, self._draw = table[:, 2], table[:, 3]
        self.drawn = bool(self._draw.any())

    def original(self) -> PairingCounts:
        """Return the counts of the league itself."""
        times = np.zeros((1, self._patterns))
        for number, count in (stratum.T for stratum in self._strata):
            times[0, number] = count
        return self._counts(times)

    def draw(self, rng: np.random.Generator, replicates: int) -> PairingCounts:
        """Return the counts of resampled leagues, each with every stratum's number of pairs."""
        times = np.zeros((replicates, self._patterns))
        for number, count in (stratum.T for stratum in self._strata):
            total = count.sum()
            times[:, number] = rng.multinomial(total, count / total, size=replicates)
        return self._counts(times)

    def _counts(self, times: Floats) -> PairingCounts:
        entries = times[:, self.pattern]
        k = max(len(self.players), 1)
        return PairingCounts(
            first=self._cell // k,
            second=self._cell % k,
            games=self._by_pairing(entries),
            points=self._by_pairing(entries * self._score),
            draws=self._by_pairing(entries * self._draw),
        )

    def _by_pairing(self, entries: NDArray[np.float64]) -> Floats:
        if not self._start.size:  # no games at all
            return np.zeros((len(entries), 0))
        return np.asarray(np.add.reduceat(entries, self._start, axis=1))
