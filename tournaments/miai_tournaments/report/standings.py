"""Standings: the results of a tournament's games, added up player by player.

`count_games` counts rows one by one. `count_store` counts a store column by column, which takes
seconds for a million games; if a column holds something unexpected it falls back to
`count_games`, which names the faulty row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Annotated, Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from miai.errors import StoreError
from miai.record import Termination
from miai_tournaments.ratings.payoffs import Payoffs
from miai_tournaments.ratings.rankings import Ranking, ranks_of, share_ahead
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.store import Store

T = TypeVar("T")

FORFEITS = frozenset(Termination) - {
    Termination.TERMINAL,
    Termination.MOVE_LIMIT,
    Termination.ADJUDICATION,
    Termination.AGREEMENT,
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

    In a game of more than two players, to win is to be first alone, a draw is to share the first
    place, and everything else is a loss.

    Attributes:
      seats: results by seat.
      endings: results by termination.
      seconds, cpu_seconds: means per move; CPU over the games in which it was measured.
      returns: mean utility per game.
      ahead: mean share of the opponents that it finished ahead of, ties counting half; by seat.
    """

    seats: list[Tally] = field(default_factory=lambda: [Tally(), Tally()])
    endings: dict[str, Tally] = field(default_factory=dict)
    seconds: Mean = field(default_factory=Mean)
    cpu_seconds: Mean = field(default_factory=Mean)
    returns: Mean = field(default_factory=Mean)
    ahead: list[Mean] = field(default_factory=lambda: [Mean(), Mean()])

    @property
    def as_first(self) -> Tally:
        """Results when moving first."""
        return self.seats[0]

    @property
    def as_second(self) -> Tally:
        """Results when moving second."""
        return self.seats[1]

    @property
    def total(self) -> Tally:
        """All results."""
        return sum(self.seats, Tally())

    @property
    def score(self) -> float | None:
        """Mean share of the opponents that it finished ahead of; in games of two points a game."""
        games = sum(mean.count for mean in self.ahead)
        return sum(mean.total for mean in self.ahead) / games if games else None

    def count(self, ranks: Sequence[int], termination: str, seat: int, games: int = 1) -> None:
        """Count games with one ranking of all players that ended alike."""
        while len(self.seats) < len(ranks):
            self.seats.append(Tally())
            self.ahead.append(Mean())
        result = -1 if ranks[seat] else int(ranks.count(0) == 1)
        self.seats[seat].add(result, games)
        self.ahead[seat].add(games * share_ahead(ranks, seat), games)
        self.endings.setdefault(termination, Tally()).add(result, games)

    def measure(self, row: GameRow, seat: int) -> None:
        """Count return and times of a finished game that the player played in `seat`."""
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
      pairings: results by ``(first, second)``, from the first player's point of view; of more
        players, by each two of a game in seat order: who finished ahead of whom.
      statuses: number of games by status.
      gaps: see `Store.gaps`.
      voids: games with a void attempt.
      forfeits: games that were lost by an agent's fault.
      payoffs: the payoffs, where results are payoffs; None where games are won, drawn or lost.
      pairs: if there are only two players, results by identity of the pair of games, from the point
        of view of the first of `players`; otherwise of no use.
      rankings: number of games by players in seat order and their ranks, from 0.
      lengths: mean number of moves of a game.
      versions: all versions of each package that the games used.
      started: when the first and the last game began; empty without games.
    """

    players: dict[str, PlayerStanding]
    pairings: dict[tuple[str, str], Tally] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    voids: tuple[GameRow, ...] = ()
    forfeits: tuple[GameRow, ...] = ()
    lengths: Mean = field(default_factory=Mean)
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    started: tuple[str, ...] = ()
    payoffs: Payoffs | None = None
    pairs: dict[str, Tally] = field(default_factory=dict)
    rankings: dict[Ranking, int] = field(default_factory=dict)

    @property
    def seats(self) -> int:
        """Number of players of a game, 2 before the first one."""
        return max((len(players) for players, _ in self.rankings), default=2)

    @property
    def void_attempts(self) -> int:
        """Total number of void attempts."""
        return sum(row.void_count for row in self.voids)

    def note(self, row: GameRow) -> None:
        """Count one more finished game in the players' standings, pairings and lengths.

        Raises:
          StoreError: the game has no result.
        """
        _check(row)
        for seat, name in enumerate(row.players):
            self.players.setdefault(name, PlayerStanding()).measure(row, seat)
        self.count(row.players, ranks_of(row.returns), row.termination)
        if len(self.players) == 2:
            sign = 1 if row.players[0] == next(iter(self.players)) else -1
            self.pairs.setdefault(row.pair_id, Tally()).add(sign * outcome(row))
        self.lengths.add(row.moves)
        if self.payoffs is not None:
            self.payoffs.add(row.pair_id, row.players, row.returns)

    def count(
        self, players: tuple[str, ...], ranks: tuple[int, ...], termination: str, games: int = 1
    ) -> None:
        """Count games with one ranking of the same players that ended alike.

        Args:
          players: in seat order.
          ranks: from 0.
        """
        key = players, ranks
        self.rankings[key] = self.rankings.get(key, 0) + games
        for i, j in combinations(range(len(players)), 2):
            tally = self.pairings.setdefault((players[i], players[j]), Tally())
            tally.add((ranks[i] < ranks[j]) - (ranks[i] > ranks[j]), games)
        for seat, name in enumerate(players):
            self.players[name].count(ranks, termination, seat, games)

    @property
    def first_player(self) -> Tally:
        """Results of the players who moved first."""
        return sum((player.as_first for player in self.players.values()), Tally())

    def terminations(self) -> dict[str, int]:
        """Return the number of games by termination, the most frequent first."""
        games: Counter[str] = Counter()
        for standing in self.players.values():
            games.update({reason: tally.games for reason, tally in standing.endings.items()})
        reasons = sorted(games, key=lambda reason: (-games[reason], reason))
        return {reason: games[reason] // self.seats for reason in reasons}  # counted for each

    def against(self, player: str, opponent: str) -> Tally:
        """Return the results of a player against an opponent, in either seat."""
        first = self.pairings.get((player, opponent), Tally())
        return first + self.pairings.get((opponent, player), Tally()).reversed()


def count_games(
    rows: Iterable[GameRow], *, players: Sequence[str] = (), payoffs: bool = False
) -> Standings:
    """Return the standings of games of any status.

    Args:
      players: names that come first, with or without games.
      payoffs: whether results are payoffs.

    Raises:
      StoreError: a finished game has no result.
    """
    standings = Standings(
        players={name: PlayerStanding() for name in players}, payoffs=Payoffs() if payoffs else None
    )
    done: list[GameRow] = []
    statuses: Counter[str] = Counter()
    voids: list[GameRow] = []
    for row in rows:
        _check(row)
        statuses[row.status] += 1
        if row.void_count:
            voids.append(row)
        for name in row.players:
            standings.players.setdefault(name, PlayerStanding())
        if row.status == "done":
            done.append(row)
    # Whether it is a match of two is known only now, so games are counted in a second round.
    for row in done:
        standings.note(row)
    started = sorted(row.started for row in done if row.started)
    return replace(
        standings,
        statuses=statuses,
        voids=tuple(voids),
        forfeits=tuple(row for row in done if row.termination in FORFEITS),
        versions=_versions(row.versions for row in done),
        started=(started[0], started[-1]) if started else (),
    )


def outcome(row: GameRow) -> int:
    """Return 1 if the first player of two won, 0 for a draw, -1 if the second won."""
    first, second = row.returns
    return (first > second) - (first < second)


def _check(row: GameRow) -> None:
    if len(row.players) < 2 or (row.status == "done" and len(row.returns) != len(row.players)):
        raise StoreError(
            f"game '{row.game_id}' has {len(row.players)} players and {len(row.returns)} returns; "
            "a report is of games of two players or more, and a finished one has a return of each"
        )


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


_LARGEST: Final = 1e300
_STRICT: Final = ConfigDict(strict=True)
_Utility = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
_Moves = Annotated[int, Field(ge=0, lt=1 << 53)]
_UTILITIES: Final = TypeAdapter(tuple[_Utility, ...], config=_STRICT)
_COUNTS: Final = TypeAdapter(tuple[_Moves, ...], config=_STRICT)
_VERSIONS: Final = TypeAdapter(dict[str, str], config=_STRICT)


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
        # Columns repeat few different texts, so each is parsed once and then looked up.
        for text in set(texts) - self.numbers.keys():
            if not isinstance(text, str):
                raise _OddError
            try:
                self.values.append(self.read(text))
            except ValidationError:
                raise _OddError from None
            self.numbers[text] = len(self.numbers)
        numbers = self.numbers
        return np.fromiter((numbers[text] for text in texts), np.int64, len(texts))


class _Count:
    """Sums over games of equally many players."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.places = {name: number for number, name in enumerate(names)}
        self.seats = 0
        self.players = _Texts(self._seated)
        self.returns = _Texts(_UTILITIES.validate_json)
        self.moves = _Texts(_COUNTS.validate_json)
        self.endings = _Texts(str)
        self.versions = _Texts(_VERSIONS.validate_json)
        self.rankings: dict[tuple[int, ...], int] = {}
        """Numbers of the rankings."""
        self.ranking_of: list[int] = []
        """The ranking of each text of returns."""
        self.results = Counter[tuple[int, int, int]]()
        """Games by players, termination and ranking."""
        self.sums = np.zeros((5, len(names)))
        """By player: seconds, their moves, CPU seconds, their moves, returns."""
        self.pairs: dict[str, Tally] = {}
        """Of a match, results by pair of games, as in `Standings`."""
        self.length = Mean()
        self.started: list[str] = []

    def add(self, columns: dict[str, Sequence[Any]]) -> None:
        """Count the rows of a chunk."""
        groups = self.players.of(columns["players"])
        endings = self.endings.of(columns["termination"])
        texts, returns = self._looked_up(self.returns, columns["returns"])
        for values in self.returns.values[len(self.ranking_of) :]:
            ranking = self.rankings.setdefault(ranks_of(values), len(self.rankings))
            self.ranking_of.append(ranking)
        # Players, ending and ranking become one number, so that a chunk is counted by one sort.
        many, kinds = len(self.rankings), len(self.endings.values)
        keys = (groups * kinds + endings) * many + np.array(self.ranking_of)[texts]
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            rest, ranking = divmod(int(key), many)
            group, ending = divmod(rest, kinds)
            self.results[group, ending, ranking] += int(count)
        self._add_times(groups, returns, columns)
        if len(self.names) == 2:
            first = [places[0] for places in self.players.values]
            outcomes = np.sign(returns[:, 0] - returns[:, 1]).astype(np.int64)
            for pair_id, pair, result in zip(columns["pair_id"], groups, outcomes, strict=True):
                tally = self.pairs.setdefault(pair_id, Tally())
                tally.add(-int(result) if first[pair] else int(result))
        if set(map(type, columns["moves"])) != {int}:
            raise _OddError
        self.length.add(sum(columns["moves"]), len(groups))
        self.versions.of(columns["versions"])
        if set(map(type, columns["started"])) != {str}:
            raise _OddError
        if times := list(filter(None, columns["started"])):
            self.started = [min([*self.started[:1], *times]), max([*self.started[1:], *times])]

    def _add_times(
        self, groups: Integers, returns: Floats, columns: dict[str, Sequence[Any]]
    ) -> None:
        _, moves = self._looked_up(self.moves, columns["player_moves"])
        seconds, cpu = (
            _durations(columns[name], self.seats) for name in ("seconds", "cpu_seconds")
        )
        if bool(np.isnan(seconds).any()):
            raise _OddError
        seats = np.array(self.players.values)[groups]
        for seat in range(self.seats):
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
        standings = Standings(
            players=found,
            statuses={status: n for status, n in store.counts().items() if n},
            voids=tuple(store.voided()),
            forfeits=tuple(store.ended(sorted(FORFEITS & set(self.endings.values)))),
            lengths=self.length,
            versions=_versions(self.versions.values),
            started=tuple(self.started),
            pairs=self.pairs,
        )
        rankings = list(self.rankings)
        for (group, ending, ranking), count in self.results.items():
            names = tuple(self.names[place] for place in self.players.values[group])
            standings.count(names, rankings[ranking], self.endings.values[ending], count)
        for number, standing in enumerate(found.values()):
            seconds, moves, cpu, clocked, returns = self.sums[:, number].tolist()
            standing.seconds = Mean(seconds, int(moves))
            standing.cpu_seconds = Mean(cpu, int(clocked))
            standing.returns = Mean(returns, standing.total.games)
        return standings

    def _seated(self, text: str) -> tuple[int, ...]:
        try:
            places = tuple(self.places[name] for name in json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _OddError from None
        self.seats = self.seats or len(places)
        if self.seats < 2 or len(places) != self.seats:
            raise _OddError
        return places

    def _looked_up(
        self, column: _Texts[tuple[float, ...]] | _Texts[tuple[int, ...]], texts: Sequence[str]
    ) -> tuple[Integers, Floats]:
        """Return the numbers ``(n,)`` and the values ``(n, seats)`` of texts."""
        numbers = column.of(texts)
        if any(len(values) != self.seats for values in column.values):
            raise _OddError
        return numbers, np.array(column.values, np.float64)[numbers]


def _durations(texts: Sequence[str], seats: int) -> Floats:
    """Return the durations ``(n, seats)`` of texts, nan for null.

    They are parsed as one JSON text for speed.
    """
    try:
        values = np.array(from_json(f"[{','.join(texts)}]", allow_inf_nan=False), np.float64)
    except (ValueError, TypeError, OverflowError):
        raise _OddError from None
    if values.shape != (len(texts), seats) or not bool(np.all(np.isnan(values) | (values >= 0))):
        raise _OddError
    if bool(np.any(values > _LARGEST)):
        raise _OddError
    return values
