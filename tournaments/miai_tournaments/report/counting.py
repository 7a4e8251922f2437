"""What the games of a whole store add up to, counted by column: a million games take seconds.

The same as `standings.count_games` of its rows, which is asked where a column holds something odd:
it looks at each row, and names the one that is wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from miai_tournaments.report.standings import (
    FORFEITS,
    Mean,
    PlayerStanding,
    Standings,
    Tally,
    count_games,
    met_versions,
)
from miai_tournaments.store.store import Store

CHUNK: Final = 100_000
"""Rows that are counted at once."""

COLUMNS: Final = (
    *("players", "returns", "termination", "moves", "player_moves"),
    *("seconds", "cpu_seconds", "started", "versions"),
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
K = TypeVar("K")


class _OddError(Exception):
    """A column holds what it should not."""


def count_store(store: Store) -> Standings:
    """Return the standings of a store's games.

    Raises:
      StoreError: the store cannot be read, or a row is not as it should be.
    """
    names = [player.name for player in store.players()]
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
class _Known(Generic[K]):
    """Numbers the texts of a column of few different ones, and reads each of them once."""

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
        self.players = _Known(self._pair)
        self.returns = _Known(_utilities)
        self.moves = _Known(_counts)
        self.endings = _Known(str)
        self.versions = _Known(_texts)
        self.results = Counter[tuple[int, int, int]]()
        """Games by pair, termination and outcome: 0 lost by the first, 1 drawn, 2 won."""
        self.sums = np.zeros((5, len(names)))
        """By player: seconds, their moves, CPU seconds, their moves, returns."""
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
        if set(map(type, columns["moves"])) != {int}:
            raise _OddError
        self.length.add(sum(columns["moves"]), len(pairs))
        self.versions.of(columns["versions"])
        if set(map(type, columns["started"])) != {str}:
            raise _OddError
        if told := list(filter(None, columns["started"])):
            self.started = [min([*self.started[:1], *told]), max([*self.started[1:], *told])]

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
        """Return what was counted, with the rows of a store that are told one by one."""
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
            stakes=len({max(pair) for pair in self.returns.values if pair[0] != pair[1]}) > 1,
            lengths=self.length,
            versions=met_versions(self.versions.values),
            started=tuple(self.started),
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
    if not isinstance(values, dict) or not all(isinstance(told, str) for told in values.values()):
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


def _looked_up(known: _Known[tuple[float, ...]], texts: Sequence[str]) -> Floats:
    """Return the values ``(n, 2)`` of texts."""
    numbers = known.of(texts)
    return np.array(known.values, np.float64)[numbers]


def _durations(texts: Sequence[str]) -> Floats:
    """Return the durations ``(n, 2)`` of texts, nan for null; all are read as one JSON text."""
    try:
        values = np.array(from_json(f"[{','.join(texts)}]", allow_inf_nan=False), np.float64)
    except (ValueError, TypeError, OverflowError):
        raise _OddError from None
    if values.shape != (len(texts), 2) or not bool(np.all(np.isnan(values) | (values >= 0))):
        raise _OddError
    if bool(np.any(values > 1e300)):
        raise _OddError
    return values
