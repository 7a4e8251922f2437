"""Results of a league by ordered pairing: the input of the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from miai_tournaments.ratings.model import Floats, Integers, PairingCounts

ScoredGame = tuple[str, str, float] | tuple[str, str, float, float]

_MOST_GAMES: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResults:
    """Results of a league by ordered pairing.

    Attributes:
      players: names, in the order of all arrays about players.
      first, second: ``(M,)`` indices of the first and second player; a pairing occurs once.
      games, points, draws: ``(M,)``: games, the first player's points (a draw is half a
        point), and draws.
    """

    players: tuple[str, ...]
    first: Integers
    second: Integers
    games: Floats
    points: Floats
    draws: Floats

    @classmethod
    def from_games(cls, games: Iterable[ScoredGame], *, players: Sequence[str] = ()) -> PairResults:
        """Return the results of games ``(first, second, score)`` or with a count as fourth.

        Args:
          games: the score is the first player's: 0, 0.5 or 1.
          players: names that come first, with or without games; others follow in order of
            appearance.

        Raises:
          ValueError: a score has another value, or a count is negative or not finite.
        """
        counted: dict[tuple[str, str, float], float] = {}
        for first, second, score, *count in games:
            key = (first, second, score)
            counted[key] = counted.get(key, 0.0) + (count[0] if count else 1.0)
        names = dict.fromkeys(players)
        names.update((name, None) for key in counted for name in key[:2])
        index = {name: i for i, name in enumerate(names)}
        rows = [(index[a], index[b], score, count) for (a, b, score), count in counted.items()]
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        return cls.from_arrays(*table.T, players=tuple(names))

    @classmethod
    def from_arrays(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        score: ArrayLike,
        count: ArrayLike = 1.0,
        *,
        players: Sequence[str],
    ) -> PairResults:
        """Return the results of games given as arrays ``(G,)``; see `from_games`.

        Args:
          first, second: indices into `players`.
          score: the first player's score: 0, 0.5 or 1.
          count: number of such games, a number or ``(G,)``.

        Raises:
          ValueError: as `from_games`, an index is out of range, or a name occurs twice.
        """
        k = len(players)
        if len(set(players)) != k:
            raise ValueError("two players have the same name; names must be unique")
        a, b = (_indices(values, k) for values in (first, second))
        points = np.asarray(score, dtype=np.float64)
        if not np.isin(points, (0.0, 0.5, 1.0)).all():
            raise ValueError("a score is 0, 0.5 or 1: the first player's points in one game")
        weight = np.broadcast_to(np.asarray(count, dtype=np.float64), points.shape)
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() <= _MOST_GAMES):
            raise ValueError(f"counts of games are finite, not negative, {_MOST_GAMES:.0e} in all")
        # One number for each ordered pairing, so that a million games collapse into a table in one
        # sort.
        cell, inverse = np.unique(a * k + b, return_inverse=True)
        games, won, drawn = (
            np.bincount(inverse, weights=w, minlength=cell.size).astype(np.float64)
            for w in (weight, weight * points, weight * (points == 0.5))
        )
        played = games > 0
        cell = cell[played]
        return cls(
            players=tuple(players),
            first=cell // max(k, 1),
            second=cell % max(k, 1),
            games=games[played],
            points=won[played],
            draws=drawn[played],
        )

    @classmethod
    def from_counts(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        wins: ArrayLike,
        draws: ArrayLike,
        losses: ArrayLike,
        *,
        players: Sequence[str],
    ) -> PairResults:
        """Return the results of ordered pairings, given as arrays ``(M,)``.

        Args:
          first, second: indices into `players`; repeated pairings are added up.
          wins, draws, losses: games, from the first player's point of view.

        Raises:
          ValueError: as `from_arrays`.
        """
        counts = [np.asarray(count, dtype=np.float64).ravel() for count in (wins, draws, losses)]
        return cls.from_arrays(
            np.tile(np.asarray(first).ravel(), 3),
            np.tile(np.asarray(second).ravel(), 3),
            np.repeat((1.0, 0.5, 0.0), counts[0].size),
            np.concatenate(counts),
            players=players,
        )

    def totals(self) -> tuple[Floats, Floats]:
        """Return the players' games and points, ``(K,)`` each."""
        k = len(self.players)
        games = np.bincount(self.first, self.games, k) + np.bincount(self.second, self.games, k)
        points = np.bincount(self.first, self.points, k)
        points = points + np.bincount(self.second, self.games - self.points, k)
        return games.astype(np.float64), points.astype(np.float64)

    def batch(self) -> PairingCounts:
        """Return the results as a batch of one league."""
        return PairingCounts(
            first=self.first,
            second=self.second,
            games=self.games[None],
            points=self.points[None],
            draws=self.draws[None],
        )

    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups of players linked by games, directly or indirectly, largest first.

        Ratings compare only within a group.
        """
        linked = _components(len(self.players), *self._edges(self.games, self.games))
        return self._classes(linked, key=lambda group: -len(group))

    def one_sided(self, strengths: Floats) -> tuple[tuple[str, ...], ...]:
        """Return groups between which all points went one way; empty without such groups.

        The likelihood alone would put two such groups infinitely far apart, so their distance
        rests on the prior (Ford 1957). Groups are sorted by `strengths` ``(K,)``, best first.
        """
        # An edge leads from a player to everyone from whom it took points. The likelihood has a
        # finite maximum if and only if each group is strongly connected (Zermelo 1929, Ford 1957).
        k, lost = len(self.players), self.games - self.points
        mutual = _components(k, *self._edges(self.points, lost))
        if mutual == _components(k, *self._edges(self.games, self.games)):
            return ()
        return self._classes(mutual, key=lambda group: -float(strengths[group].mean()))

    def hides_first_move(self) -> bool:
        """Return whether differences in strength alone could explain any value of moving first.

        That is so if numbers can be assigned to the players such that the first player of every
        game has one more than the second, for example if one player moves first in all games.
        """
        if not self.first.size:
            return False
        # Each first player has one more than the second, along all paths or not at all.
        up, down = self.first.tolist(), self.second.tolist()
        steps: dict[int, list[tuple[int, int]]] = {}
        for one, other in zip(up, down, strict=True):
            steps.setdefault(one, []).append((other, -1))
            steps.setdefault(other, []).append((one, 1))
        numbers: dict[int, int] = {}
        for begin in steps:
            pending = [] if begin in numbers else [begin]
            numbers.setdefault(begin, 0)
            while pending:
                player = pending.pop()
                for other, step in steps[player]:
                    if other not in numbers:
                        numbers[other] = numbers[player] + step
                        pending.append(other)
        return all(numbers[a] == numbers[b] + 1 for a, b in zip(up, down, strict=True))

    def _edges(self, there: Floats, back: Floats) -> tuple[list[int], list[int]]:
        """Return edges from first to second players where `there` is positive, and back."""
        ahead, behind = there > 0, back > 0
        begins = np.concatenate([self.first[ahead], self.second[behind]])
        ends = np.concatenate([self.second[ahead], self.first[behind]])
        return begins.tolist(), ends.tolist()

    def _classes(
        self, components: Sequence[int], key: Callable[[list[int]], float]
    ) -> tuple[tuple[str, ...], ...]:
        members: dict[int, list[int]] = {}
        for player, component in enumerate(components):
            members.setdefault(component, []).append(player)
        ordered = sorted(members.values(), key=key)
        return tuple(tuple(self.players[i] for i in group) for group in ordered)


def _components(nodes: int, begins: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return for each node the least node of its strongly connected component.

    By two depth-first searches (M. Sharir, Computers and Mathematics with Applications 7, 1981).
    """
    forward: list[list[int]] = [[] for _ in range(nodes)]
    backward: list[list[int]] = [[] for _ in range(nodes)]
    for begin, end in zip(begins, ends, strict=True):
        forward[begin].append(end)
        backward[end].append(begin)
    component = [-1] * nodes
    for root in reversed(_finished(forward)):
        if component[root] >= 0:
            continue
        component[root], members = root, [root]
        for node in members:  # which grow
            for begin in backward[node]:
                if component[begin] < 0:
                    component[begin] = root
                    members.append(begin)
        least = min(members)
        for node in members:
            component[node] = least
    return component


def _finished(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes in the order in which a depth-first search has seen all beyond them."""
    seen = [False] * len(successors)
    order: list[int] = []
    for root in range(len(successors)):
        stack = [] if seen[root] else [(root, iter(successors[root]))]
        seen[root] = True
        while stack:
            node, rest = stack[-1]
            child = next((end for end in rest if not seen[end]), None)
            if child is None:
                order.append(node)
                stack.pop()
            else:
                seen[child] = True
                stack.append((child, iter(successors[child])))
    return order


def _indices(values: ArrayLike, players: int) -> Integers:
    """Return indices of players, from integers or integral floats."""
    numbers = np.asarray(values)
    indices = numbers.astype(np.int64)
    if not ((indices == numbers) & (indices >= 0) & (indices < players)).all():
        raise ValueError(f"an index of a player is not an integer from 0 to {players - 1}")
    return np.asarray(indices)
