"""Rankings of games of any number of players: the input of the Plackett-Luce fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from miai_tournaments.ratings.model import Floats, Integers
from miai_tournaments.ratings.pair_results import PairResults

RankedGame = tuple[Sequence[str], Sequence[float]] | tuple[Sequence[str], Sequence[float], float]
"""Players in seat order, their returns (more is better, equal ones tie), and how many such games
(1)."""

Ranking = tuple[tuple[str, ...], tuple[int, ...]]
"""Players in seat order, and their ranks, from 0."""


def ranks_of(returns: Sequence[float]) -> tuple[int, ...]:
    """Return the players' ranks by their returns: 0 for the best; those who tie share a rank."""
    order = sorted(set(returns), reverse=True)
    return tuple(order.index(value) for value in returns)


def share_ahead(ranks: Sequence[float], seat: int) -> float:
    """Return the share of the opponents behind the player in a seat, ties counting half.

    In a game of two it is the score: 1 for a win, 0.5 for a draw, 0 for a loss.
    """
    own = ranks[seat]
    level = sum(0.5 for rank in ranks if rank == own) - 0.5  # without the player itself
    return (sum(own < rank for rank in ranks) + level) / (len(ranks) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GameKind:
    """The rankings of one kind of game, whose seats have values and whose ties a frequency.

    Attributes:
      seats: ``(G, n)`` indices of players by seat.
      ranks: ``(G, n)`` their ranks, from 0; those who tie share one, and none is left out.
      count: ``(G,)`` number of such games.
    """

    seats: Integers
    ranks: Integers
    count: Floats

    @property
    def size(self) -> int:
        """Number of players of a game."""
        return int(self.seats.shape[1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rankings:
    """Rankings of the games of a league.

    Attributes:
      players: names, in the order of all arrays about players.
      kinds: the games by kind; players' strengths are the same in all.
    """

    players: tuple[str, ...]
    kinds: tuple[GameKind, ...]

    @classmethod
    def from_games(cls, games: Iterable[RankedGame], *, players: Sequence[str] = ()) -> Rankings:
        """Return the rankings of games, a kind for each number of players.

        Args:
          games: players in seat order with their returns, and the number of such games (1).
          players: names that come first, with or without games; others follow in order of
            appearance.

        Raises:
          ValueError: a game has a player twice or fewer than two players, or the number of returns
            is another; or a count is negative or not finite.
        """
        counted: dict[tuple[tuple[str, ...], tuple[int, ...]], float] = {}
        for seats, returns, *count in games:
            if len(set(seats)) != len(returns) or len(seats) != len(returns) or len(seats) < 2:
                raise ValueError(
                    f"a game of {', '.join(map(str, seats))} with {len(returns)} returns: give two "
                    "players or more, each once, and a return of each"
                )
            key = (tuple(seats), ranks_of(returns))
            counted[key] = counted.get(key, 0.0) + (float(count[0]) if count else 1.0)
        if not all(0 <= count < np.inf for count in counted.values()):
            raise ValueError("a count of games is finite and not negative")
        names = dict.fromkeys(players)
        names.update((name, None) for seats, _ in counted for name in seats)
        index = {name: i for i, name in enumerate(names)}
        kinds = []
        for size in sorted({len(seats) for seats, _ in counted}):
            rows = [item for item in counted.items() if len(item[0][0]) == size]
            kinds.append(
                GameKind(
                    seats=np.array([[index[name] for name in key[0]] for key, _ in rows]),
                    ranks=np.array([key[1] for key, _ in rows]),
                    count=np.array([count for _, count in rows]),
                )
            )
        return cls(players=tuple(names), kinds=tuple(kinds))

    @classmethod
    def from_pairs(cls, results: PairResults) -> Rankings:
        """Return the results of games of two as rankings."""
        wins = results.points - results.draws / 2
        counts = np.concatenate([wins, results.draws, results.games - results.draws - wins])
        two = np.tile(np.stack([results.first, results.second], axis=1), (3, 1))
        ranks = np.repeat(np.array([[0, 1], [0, 0], [1, 0]]), len(wins), axis=0)
        played = counts > 0
        kind = GameKind(seats=two[played], ranks=ranks[played], count=counts[played])
        return cls(players=results.players, kinds=(kind,) if played.any() else ())

    def games(self) -> float:
        """Return the number of games."""
        return float(sum(kind.count.sum() for kind in self.kinds))

    def totals(self) -> tuple[Floats, Floats]:
        """Return the players' games and points, ``(K,)`` each; see `share_ahead`."""
        games, points = np.zeros((2, len(self.players)))
        for kind in self.kinds:
            for seat in range(kind.size):
                own = kind.ranks[:, seat : seat + 1]
                ahead = (own < kind.ranks) + (own == kind.ranks) / 2
                share = (ahead.sum(axis=1) - 0.5) / (kind.size - 1)
                np.add.at(games, kind.seats[:, seat], kind.count)
                np.add.at(points, kind.seats[:, seat], kind.count * share)
        return games, points

    def pairs(self) -> PairResults:
        """Return who finished ahead of whom, each two players of a game as a game of their own.

        They are not independent, so this is for counting, not for fitting.
        """
        columns: list[tuple[ArrayLike, ...]] = []
        for kind in self.kinds:
            for i, j in combinations(range(kind.size), 2):
                one, other = kind.ranks[:, i], kind.ranks[:, j]
                score = (one < other) + (one == other) / 2
                columns.append((kind.seats[:, i], kind.seats[:, j], score, kind.count))
        if not columns:
            return PairResults.from_arrays([], [], [], players=self.players)
        joined = (np.concatenate(column) for column in zip(*columns, strict=True))
        return PairResults.from_arrays(*joined, players=self.players)

    def hides_seats(self) -> bool:
        """Return whether differences in strength alone could explain any value of some seat.

        That is so if numbers can be assigned to the players such that the same numbers of a game's
        players, up to a constant, belong to the seats of every game of a kind.
        """
        k, start = len(self.players), len(self.players)
        width = k + sum(kind.size for kind in self.kinds)
        normal = np.zeros((width, width))
        # A direction in which strengths and seats move together without changing any game is a null
        # vector of this matrix beyond those that shift each game as a whole.
        for kind in self.kinds:
            for seats in np.unique(kind.seats, axis=0):
                rows = np.zeros((kind.size, width))
                rows[np.arange(kind.size), seats] = 1.0
                rows[:, start : start + kind.size] = np.eye(kind.size)
                rows -= rows.mean(axis=0)
                normal += rows.T @ rows
            start += kind.size
        strengths = normal[:k, :k]
        free = sum(kind.size - 1 for kind in self.kinds)
        rank = np.linalg.matrix_rank
        return bool(self.kinds) and rank(normal) < rank(strengths) + free


def results_of(
    counts: Mapping[Ranking, float], *, players: Sequence[str] = ()
) -> PairResults | Rankings:
    """Return counted games: as pairs, which fit faster, if all are of two players, else rankings.

    Args:
      counts: number of games with each ranking.
      players: names that come first, with or without games.
    """
    if all(len(seats) == 2 for seats, _ in counts):
        pairs = ((a, b, (1 + rank - first) / 2, n) for ((a, b), (first, rank)), n in counts.items())
        return PairResults.from_games(pairs, players=players)
    rankings = sorted(counts.items())  # not in the order in which games ended
    games = ((seats, [-rank for rank in ranks], n) for (seats, ranks), n in rankings)
    return Rankings.from_games(games, players=players)
