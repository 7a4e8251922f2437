"""Standings: the results of a tournament's games, added up player by player.

`count_games` counts rows one by one. `count_store` counts a store column by column, which takes
seconds for a million games; if a column holds something unexpected it falls back to
`count_games`, which names the faulty row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from miai.errors import StoreError
from miai.record import Termination
from miai_tournaments.ratings.payoffs import Payoffs
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.store import Store

T = TypeVar("T")

FORFEITS = frozenset(Termination) - {
    Termination.TERMINAL,
    Termination.MOVE_LIMIT,
    Termination.ADJUDICATION,
    Termination.RESIGNATION,
}
"""Terminations by an agent's fault."""


@dataclass(slots=True)
class Tally:
    """Wins, draws and losses from one side's point of view."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A point for a win, half a point for a draw."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> float | None:
        """Points per game, from 0 to 1; None without a game."""
        return self.points / self.games if self.games else None

    def add(self, result: int, games: int = 1) -> None:
        """Count games of one result: 1 for a win, 0 for a draw, -1 for a loss."""
        self.wins += games * (result > 0)
        self.draws += games * (result == 0)
        self.losses += games * (result < 0)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    def reversed(self) -> Tally:
        """Return the other side's view."""
        return Tally(self.losses, self.draws, self.wins)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        counts = {"wins": self.wins, "draws": self.draws, "losses": self.losses}
        return {"games": self.games, **counts, "score": self.score}


@dataclass(slots=True)
class Mean:
    """A mean as its sum and count; its value is None for a count of 0."""

    total: float = 0.0
    count: int = 0

    def add(self, total: float, count: int = 1) -> None:
        """Add to both."""
        self.total += total
        self.count += count

    @property
    def value(self) -> float | None:
        """The mean."""
        return self.total / self.count if self.count else None


@dataclass(slots=True)
class PlayerStanding:
    """One player's games.

    Attributes:
      as_first, as_second: results when moving first and second.
      endings: results by termination.
      seconds, cpu_seconds: means per move; CPU over the games in which it was measured.
      returns: mean utility per game.
    """

    as_first: Tally = field(default_factory=Tally)
    as_second: Tally = field(default_factory=Tally)
    endings: dict[str, Tally] = field(default_factory=dict)
    seconds: Mean = field(default_factory=Mean)
    cpu_seconds: Mean = field(default_factory=Mean)
    returns: Mean = field(default_factory=Mean)

    @property
    def total(self) -> Tally:
        """All results."""
        return self.as_first + self.as_second

    def count(self, result: int, termination: str, seat: int, games: int = 1) -> None:
        """Count games of one result, as of `Tally.add`, that ended alike."""
        (self.as_second if seat else self.as_first).add(result, games)
        self.endings.setdefault(termination, Tally()).add(result, games)

    def add(self, row: GameRow, seat: int) -> None:
        """Count a finished game that the player played in `seat`."""
        self.count(outcome(row) if seat == 0 else -outcome(row), row.termination, seat)
        self.returns.add(row.returns[seat])
        moves = _at(row.player_moves, seat)
        seconds, cpu = _at(row.seconds, seat), _at(row.cpu_seconds, seat)
        if moves and seconds is not None:
            self.seconds.add(seconds, moves)
        if moves and cpu is not None:
            self.cpu_seconds.add(cpu, moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """The games of a tournament, counted.

    Attributes:
      players: by name, in the order in which they were entered.
      pairings: results by ``(first, second)``, from the first player's point of view.
      statuses: number of games by status.
      void_attempts: total number of void attempts.
      voids: games with a void attempt.
      forfeits: games that were lost by an agent's fault.
      payoffs: the payoffs, where results are payoffs; None where games are won, drawn or lost.
      pairs: if there are only two players, results by identity of the pair of games, from the point
        of view of the first of `players`; otherwise of no use.
      lengths: mean number of moves of a game.
      versions: all versions of each package that the games used.
      started: when the first and the last game began; empty without games.
    """

    players: dict[str, PlayerStanding]
    pairings: dict[tuple[str, str], Tally]
    statuses: Mapping[str, int]
    void_attempts: int
    voids: tuple[GameRow, ...]
    forfeits: tuple[GameRow, ...]
    lengths: Mean
    versions: Mapping[str, tuple[str, ...]]
    started: tuple[str, ...]
    payoffs: Payoffs | None = None
    pairs: dict[str, Tally] = field(default_factory=dict)

    def note(self, row: GameRow) -> None:
        """Count one more finished game in the players' standings, pairings and lengths.

        Raises:
          StoreError: the game is not of two players, or has no result.
        """
        first, second = _check(row)
        self.pairings.setdefault((first, second), Tally()).add(outcome(row))
        for seat, name in enumerate((first, second)):
            self.players.setdefault(name, PlayerStanding()).add(row, seat)
        _add_to_pairs(self.pairs, self.players, row)
        self.lengths.add(row.moves)
        if self.payoffs is not None:
            self.payoffs.add(row.pair_id, row.players, row.returns)

    @property
    def first_player(self) -> Tally:
        """Results of the players who moved first."""
        return sum(self.pairings.values(), Tally())

    def terminations(self) -> dict[str, int]:
        """Return the number of games by termination, the most frequent first."""
        games: Counter[str] = Counter()
        for standing in self.players.values():
            games.update({reason: tally.games for reason, tally in standing.endings.items()})
        reasons = sorted(games, key=lambda reason: (-games[reason], reason))
        return {reason: games[reason] // 2 for reason in reasons}  # counted for both players

    def against(self, player: str, opponent: str) -> Tally:
        """Return the results of a player against an opponent, in either seat."""
        first = self.pairings.get((player, opponent), Tally())
        return first + self.pairings.get((opponent, player), Tally()).reversed()

    def results(self) -> Iterator[tuple[str, str, float, float]]:
        """Yield ``(first, second, score, count)``, as `ratings.fit_ratings` takes them."""
        for (first, second), tally in self.pairings.items():
            for score, count in ((1.0, tally.wins), (0.5, tally.draws), (0.0, tally.losses)):
                if count:
                    yield first, second, score, count


def count_games(
    rows: Iterable[GameRow], *, players: Sequence[str] = (), payoffs: bool = False
) -> Standings:
    """Return the standings of games of any status.

    Args:
      players: names that come first, with or without games.
      payoffs: whether results are payoffs.

    Raises:
      StoreError: a game is not of two players, or a finished one has no result.
    """
    standing = {name: PlayerStanding() for name in players}
    pairings: dict[tuple[str, str], Tally] = {}
    pairs: dict[str, Tally] = {}
    done: list[GameRow] = []
    statuses: Counter[str] = Counter()
    voids: list[GameRow] = []
    for row in rows:
        first, second = _check(row)
        statuses[row.status] += 1
        if row.void_count:
            voids.append(row)
        for name in (first, second):
            standing.setdefault(name, PlayerStanding())
        if row.status == "done":
            done.append(row)
            pairings.setdefault((first, second), Tally()).add(outcome(row))
            standing[first].add(row, 0)
            standing[second].add(row, 1)
            _add_to_pairs(pairs, standing, row)
    started = sorted(row.started for row in done if row.started)
    return Standings(
        players=standing,
        pairings=pairings,
        statuses=statuses,
        void_attempts=sum(row.void_count for row in voids),
        voids=tuple(voids),
        forfeits=tuple(row for row in done if row.termination in FORFEITS),
        lengths=Mean(sum(row.moves for row in done), len(done)),
        versions=_versions(row.versions for row in done),
        started=(started[0], started[-1]) if started else (),
        payoffs=_payoffs((r.pair_id, r.players, r.returns) for r in done) if payoffs else None,
        pairs=pairs if len(standing) == 2 else {},
    )


def _add_to_pairs(
    pairs: dict[str, Tally], players: Mapping[str, PlayerStanding], row: GameRow
) -> None:
    """Count a game of a match in its pair."""
    if len(players) == 2:
        sign = 1 if row.players[0] == next(iter(players)) else -1
        pairs.setdefault(row.pair_id, Tally()).add(sign * outcome(row))


def _payoffs(games: Iterable[tuple[str, Sequence[str], Sequence[float]]]) -> Payoffs:
    payoffs = Payoffs()
    for pair_id, players, returns in games:
        payoffs.add(pair_id, players, returns)
    return payoffs


def outcome(row: GameRow) -> int:
    """Return 1 if the first player won, 0 for a draw, -1 if the second won."""
    return winner(row.returns)


def winner(returns: Sequence[float]) -> int:
    """Return 1 if the first player has the higher utility, 0 if both are equal, otherwise -1."""
    first, second = returns
    return (first > second) - (first < second)


def _check(row: GameRow) -> tuple[str, str]:
    if len(row.players) != 2 or (row.status == "done" and len(row.returns) != 2):
        raise StoreError(
            f"game '{row.game_id}' has {len(row.players)} players and {len(row.returns)} returns; "
            "a report is of games of two players, of which the finished ones have two returns"
        )
    return row.players[0], row.players[1]


def _at(values: Sequence[T], seat: int) -> T | None:
    return values[seat] if seat < len(values) else None


def _versions(games: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the versions of each package, both in order."""
    packages: dict[str, set[str]] = {}
    for versions in games:
        for name, version in versions.items():
            packages.setdefault(name, set()).add(version)
    return {name: tuple(sorted(versions)) for name, versions in sorted(packages.items())}


CHUNK: Final = 100_000
"""Rows that are counted in one go."""

COLUMNS: Final = (
    *("players", "returns", "termination", "moves", "player_moves"),
    *("seconds", "cpu_seconds", "started", "versions"),
    "pair_id",
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
K = TypeVar("K")


class _OddError(Exception):
    """A column holds something unexpected."""


def count_store(store: Store) -> Standings:
    """Return the standings of a store's games.

    Raises:
      StoreError: the store cannot be read, or a row is not as it should be.
    """
    names = [player.name for player in store.players()]
    if store.info().payoff_bound() is not None:
        return count_games(store.games(), players=names, payoffs=True)
    try:
        count = _Count(names)
        store.expect_all()
        rows = iter(store.cells(COLUMNS))
        while chunk := list(islice(rows, CHUNK)):
            count.add(dict(zip(COLUMNS, zip(*chunk, strict=True), strict=True)))
    except _OddError:
        return count_games(store.games(), players=names)
    return count.standings(store)


@dataclass(slots=True)
class _Texts(Generic[K]):
    """Numbers the different texts of a column and parses each once."""

    read: Callable[[str], K]
    numbers: dict[str, int] = field(default_factory=dict)
    values: list[K] = field(default_factory=list)

    def of(self, texts: Sequence[str]) -> Integers:
        """Return the numbers ``(n,)`` of texts."""
        for text in set(texts) - self.numbers.keys():
            if not isinstance(text, str):
                raise _OddError
            self.values.append(self.read(text))
            self.numbers[text] = len(self.numbers)
        numbers = self.numbers
        return np.fromiter((numbers[text] for text in texts), np.int64, len(texts))


class _Count:
    """Sums over games; a game has two seats, the first moves first."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.places = {name: number for number, name in enumerate(names)}
        self.players = _Texts(self._pair)
        self.returns = _Texts(_utilities)
        self.moves = _Texts(_counts)
        self.endings = _Texts(str)
        self.versions = _Texts(_texts)
        self.results = Counter[tuple[int, int, int]]()
        """Games by pair, termination and outcome: 0 lost by the first, 1 drawn, 2 won."""
        self.sums = np.zeros((5, len(names)))
        """By player: seconds, their moves, CPU seconds, their moves, returns."""
        self.pairs: dict[str, Tally] = {}
        """Of a match, results by pair of games, as in `Standings`."""
        self.length = Mean()
        self.started: list[str] = []

    def add(self, columns: dict[str, Sequence[Any]]) -> None:
        """Count the rows of a chunk."""
        pairs = self.players.of(columns["players"])
        endings = self.endings.of(columns["termination"])
        returns = _looked_up(self.returns, columns["returns"])
        outcomes = np.sign(returns[:, 0] - returns[:, 1]).astype(np.int64) + 1
        keys = (pairs * len(self.endings.values) + endings) * 3 + outcomes
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            rest, outcome = divmod(int(key), 3)
            pair, ending = divmod(rest, len(self.endings.values))
            self.results[pair, ending, outcome] += int(count)
        self._add_times(pairs, returns, columns)
        if len(self.names) == 2:
            seats = [first for first, _ in self.players.values]
            for pair_id, pair, result in zip(columns["pair_id"], pairs, outcomes, strict=True):
                tally = self.pairs.setdefault(pair_id, Tally())
                tally.add(1 - int(result) if seats[pair] else int(result) - 1)
        if set(map(type, columns["moves"])) != {int}:
            raise _OddError
        self.length.add(sum(columns["moves"]), len(pairs))
        self.versions.of(columns["versions"])
        if set(map(type, columns["started"])) != {str}:
            raise _OddError
        if times := list(filter(None, columns["started"])):
            self.started = [min([*self.started[:1], *times]), max([*self.started[1:], *times])]

    def _add_times(
        self, pairs: Integers, returns: Floats, columns: dict[str, Sequence[Any]]
    ) -> None:
        moves = _looked_up(self.moves, columns["player_moves"])
        seconds, cpu = _durations(columns["seconds"]), _durations(columns["cpu_seconds"])
        if bool(np.isnan(seconds).any()):
            raise _OddError
        seats = np.array(self.players.values)[pairs]
        for seat in (0, 1):
            who, made = seats[:, seat], moves[:, seat]
            timed = made > 0
            clocked = timed & ~np.isnan(cpu[:, seat])
            for number, values in enumerate(
                (
                    np.where(timed, seconds[:, seat], 0.0),
                    np.where(timed, made, 0.0),
                    np.where(clocked, np.nan_to_num(cpu[:, seat]), 0.0),
                    np.where(clocked, made, 0.0),
                    returns[:, seat],
                )
            ):
                self.sums[number] += np.bincount(who, values, len(self.names))

    def standings(self, store: Store) -> Standings:
        """Return the standings, with the forfeits and voids of a store as rows."""
        found = {name: PlayerStanding() for name in self.names}
        pairings: dict[tuple[str, str], Tally] = {}
        for (pair, ending, outcome), count in self.results.items():
            first, second = (self.names[place] for place in self.players.values[pair])
            own, termination = outcome - 1, self.endings.values[ending]
            pairings.setdefault((first, second), Tally()).add(own, count)
            found[first].count(own, termination, 0, count)
            found[second].count(-own, termination, 1, count)
        for number, standing in enumerate(found.values()):
            seconds, moves, cpu, clocked, returns = self.sums[:, number].tolist()
            standing.seconds = Mean(seconds, int(moves))
            standing.cpu_seconds = Mean(cpu, int(clocked))
            standing.returns = Mean(returns, standing.total.games)
        voids = tuple(store.voided())
        return Standings(
            players=found,
            pairings=pairings,
            statuses={status: n for status, n in store.counts().items() if n},
            void_attempts=sum(row.void_count for row in voids),
            voids=voids,
            forfeits=tuple(store.ended(sorted(FORFEITS & set(self.endings.values)))),
            lengths=self.length,
            versions=_versions(self.versions.values),
            started=tuple(self.started),
            pairs=self.pairs,
        )

    def _pair(self, text: str) -> tuple[int, int]:
        try:
            first, second = (self.places[name] for name in json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _OddError from None
        return first, second


def _texts(text: str) -> dict[str, str]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise _OddError from None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise _OddError
    return values


def _utilities(text: str) -> tuple[float, ...]:
    return _two(text, lambda value: type(value) in (int, float) and abs(value) <= 1e300)


def _counts(text: str) -> tuple[float, ...]:
    return _two(text, lambda value: type(value) is int and 0 <= value < 1 << 53)


def _two(text: str, check: Callable[[Any], bool]) -> tuple[float, ...]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise _OddError from None
    if not (isinstance(values, list) and len(values) == 2 and all(map(check, values))):
        raise _OddError
    return tuple(values)


def _looked_up(column: _Texts[tuple[float, ...]], texts: Sequence[str]) -> Floats:
    """Return the values ``(n, 2)`` of texts."""
    numbers = column.of(texts)
    return np.array(column.values, np.float64)[numbers]


def _durations(texts: Sequence[str]) -> Floats:
    """Return the durations ``(n, 2)`` of texts, nan for null; parsed as one JSON text for speed."""
    try:
        values = np.array(from_json(f"[{','.join(texts)}]", allow_inf_nan=False), np.float64)
    except (ValueError, TypeError, OverflowError):
        raise _OddError from None
    if values.shape != (len(texts), 2) or not bool(np.all(np.isnan(values) | (values >= 0))):
        raise _OddError
    if bool(np.any(values > 1e300)):
        raise _OddError
    return values
