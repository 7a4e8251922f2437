"""The store of a tournament: a database with one row for each scheduled game.

It is the source of truth. A row is written when the game is scheduled, with its identity, seed
and opening; its result and its record are committed in one transaction. Resuming means playing the
rows that are not done. Only the runner writes; any process may read at the same time (WAL).

Commits are not flushed to the disk one by one (``synchronous=NORMAL``): the death of a process
loses nothing, a power failure at most the last games, which are then played again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from miai.errors import MiaiError, PluginError, StoreError
from miai.pages.document import counted
from miai.plain import listed
from miai.record import Termination
from miai_tournaments.store import row_checks
from miai_tournaments.store.address import (
    build_database,
    choice,
    database,
    keep_draft,
    write_draft,
)
from miai_tournaments.store.database import Connection, StoreBase, Writer, damaged
from miai_tournaments.store.folder import DRAFT_FILE, has_store
from miai_tournaments.store.rows import (
    GameResult,
    GameRow,
    GameStatus,
    PlayerRow,
    RunInfo,
    ScheduledGame,
)

TABLES: Final = Path(__file__).with_name("tables.sql").read_text("utf-8")

REPLACE: Final = (
    "INSERT INTO run (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = "
    "excluded.value"
)
"""Replaces one fact of the run."""

_SCHEDULED: Final = ("game_id", "pair_id", "round", "players", "seed", "opening", "settings")
_RESULT: Final = tuple(GameResult.__dataclass_fields__)
_SEALED: Final = row_checks.GAME_COLUMNS
"""The columns of a finished game that its checksum covers. Only the status ever changes: a game
becomes surplus."""
_FINISHED: Final = "returns != '[]'"
_ORDER: Final = "ORDER BY round, pair_id, game_id"
_ROWS_AT_ONCE: Final = 4096


def extend_run(
    writer: Writer, info: RunInfo, players: Iterable[PlayerRow], games: Iterable[ScheduledGame]
) -> None:
    """Add players and games, and replace the facts of the run; existing rows stay unchanged."""
    facts = [(key, as_json(getattr(info, key))) for key in RunInfo.__dataclass_fields__]
    writer.executemany(REPLACE, facts)
    writer.executemany(
        "INSERT INTO players (name, agent, given, parameters, team) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [(p.name, p.agent, as_json(p.given), as_json(p.parameters), p.team) for p in players],
    )
    insert_games(writer, games)


def insert_games(writer: Writer, games: Iterable[ScheduledGame]) -> None:
    """Add pending games; existing rows stay unchanged."""
    marks = ", ".join("?" * len(_SCHEDULED))
    writer.executemany(
        f"INSERT INTO games ({', '.join(_SCHEDULED)}, status) "  # noqa: S608 - own names
        f"VALUES ({marks}, 'pending') ON CONFLICT DO NOTHING",
        ([cell(getattr(game, name)) for name in _SCHEDULED] for game in games),
    )


_encode: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def as_json(value: Any) -> str:
    """Return plain data as compact JSON."""
    return _encode(value)


def cell(value: Any) -> Any:
    """Return the cell for a value: collections as JSON, others unchanged."""
    return as_json(value) if isinstance(value, (tuple, Mapping)) else value


class Store(StoreBase):
    """A tournament's store, from `create`, `open` or `read`.

    Attributes:
      expected: number of games that `counts` misses, if the store does not say it.
    """

    expected = 0
    _names: Collection[str] = ()  # of the players

    @classmethod
    def create(
        cls,
        folder: Path,
        info: RunInfo,
        players: Iterable[PlayerRow],
        games: Iterable[ScheduledGame],
        *,
        store: str | None = None,
        parameters: Mapping[str, Any] = MappingProxyType({}),
    ) -> Store:
        """Create the store of a new run, and its folder if necessary.

        The store appears when it is complete: a process that dies leaves nothing that looks like
        one.

        Args:
          store: name of the store, or a URL whose scheme is the name; None for a file in the
            folder.
          parameters: its parameters besides the URL.

        Raises:
          ConfigError: there is no such store, or its parameters are wrong.
          StoreError: the folder or database cannot be written, or has a store already.
        """
        if has_store(folder):
            raise StoreError(f"{folder}: already contains a tournament; choose another folder")
        name, values = choice(store, parameters)
        new, games = build_database(folder, name, values), list(games)
        info = replace(info, scheduled=len(games))
        # The draft comes first: if the process dies between the two databases, of which neither
        # can commit for the other, the next one finds the tables by it (`settle_draft`).
        if new.address is not None:
            write_draft(folder, name, new.address)
        try:
            new.create(TABLES, lambda writer: extend_run(writer, info, players, games))
        except PluginError:  # a plugin's own failure: without the plugin, a draft leads nowhere
            with suppress(MiaiError, OSError):
                if not new.exists():
                    (folder / DRAFT_FILE).unlink(missing_ok=True)
            raise
        if new.address is not None:
            keep_draft(folder)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open the store of a folder for writing.

        Raises:
          StoreError: there is none, or it is corrupt, foreign or of another schema.
        """
        return cls(database(folder).connect(alone=True))

    @staticmethod
    def look(folder: Path) -> None:
        """Raise `StoreError` unless a folder has a store, judging without connecting to it."""
        database(folder).look()

    @classmethod
    def read(cls, folder: Path) -> Store:
        """Open the store of a folder for reading only. Raises as `open`."""
        return cls(database(folder).connect(alone=False))

    # -- reading ------------------------------------------------------------------------------

    def info(self) -> RunInfo:
        """Return the facts of the run."""
        with self._explained():
            return row_checks.run_info(self._connection.query("SELECT key, value FROM run"))

    def players(self) -> list[PlayerRow]:
        """Return the players in the order of entry."""
        columns = ", ".join(row_checks.PLAYER_COLUMNS)
        query = f"SELECT {columns} FROM players ORDER BY {self._connection.entered}"  # noqa: S608 - constants
        with self._explained():
            players = [row_checks.player_row(row) for row in self._connection.query(query)]
            if not players:
                raise ValueError("table players: is empty")
            return players

    def games(self) -> list[GameRow]:
        """Return all scheduled games except surplus ones, by round and pair."""
        return self._rows("surplus = 0")

    def results(self) -> list[GameRow]:
        """Return the finished games that count, by round and pair."""
        self._check_uncounted()
        return self._rows("surplus = 0 AND status = 'done'")

    def unfinished(self) -> list[str]:
        """Return the identities of the needed games that are not done, by round and pair."""
        query = f"SELECT game_id FROM games WHERE surplus = 0 AND status != 'done' {_ORDER}"  # noqa: S608 - constants
        with self._explained():
            return [str(name) for (name,) in self._connection.query(query)]

    def rows(self, game_ids: Sequence[str]) -> list[GameRow]:
        """Return some games, at most 999, in the order of their identities."""
        # Not with `surplus = 0`, for which SQLite may read the whole index that begins with it.
        marks = ", ".join("?" * len(game_ids))
        rows = {row.game_id: row for row in self._rows(f"game_id IN ({marks})", game_ids)}
        if len(rows) < len(game_ids):
            raise damaged(self.path, "table games: a row is missing")
        return [rows[game_id] for game_id in game_ids]

    def voided(self) -> list[GameRow]:
        """Return the games with a void attempt, by round and pair."""
        return self._rows("surplus = 0 AND void_count > 0")

    def surplus(self) -> list[GameRow]:
        """Return the surplus games, played or not, by round and pair."""
        return self._rows("surplus = 1")

    def ended(self, terminations: Collection[str]) -> list[GameRow]:
        """Return the finished games that count and have one of some terminations."""
        words = ", ".join(f"'{word}'" for word in sorted({*terminations} & {*Termination}))
        where = f"surplus = 0 AND status = 'done' AND termination IN ({words})"
        return self._rows(where) if words else []

    def cells(self, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yield raw columns of the finished games that count."""
        unknown = set(columns) - set(_SEALED)
        if unknown:
            raise ValueError(f"no columns {sorted(unknown)} that are final")
        self._check_uncounted()
        # All sealed columns are read even if few are wanted: a checksum needs all of them.
        query = f"{_select_games(_SEALED)} WHERE surplus = 0 AND status = 'done'"
        places = [_SEALED.index(name) for name in columns]
        with self._explained():
            rows = iter(self._connection.query(query))
            # A few thousand rows at a time: columns of a million games would not fit the cache, and
            # row by row the checksums would take most of the time.
            while chunk := list(islice(rows, _ROWS_AT_ONCE)):
                cells = list(zip(*chunk, strict=True))
                try:
                    row_checks.check_sums(cells[:-1], cells[-1])
                except ValueError:
                    self.results()  # names the malformed cell, if there is one
                    raise
                yield from zip(*(cells[place] for place in places), strict=True)

    def expect_all(self) -> None:
        """Prepare for reading all games: a large file is read ahead."""
        self._connection.expect_all()

    @cached_property
    def size(self) -> int:
        """The number of rows of games, as counted when it was first asked for, and added since."""
        with self._explained():
            ((size,),) = self._connection.query("SELECT count(*) FROM games")
            return int(size)

    def scores(self) -> dict[str, tuple[float, ...]]:
        """Return the returns of all finished games, including surplus ones, by identity."""
        with self._explained():
            query = "SELECT game_id, players, returns FROM games WHERE status = 'done'"
            return dict(row_checks.score(*row) for row in self._connection.query(query))

    def identities(self) -> set[str]:
        """Return the identities of all games, including surplus ones."""
        with self._explained():
            return {str(name) for (name,) in self._connection.query("SELECT game_id FROM games")}

    def openings(self) -> dict[str, tuple[int, ...]]:
        """Return the openings of all pairs of games, including surplus ones, by identity."""
        with self._explained():
            query = "SELECT DISTINCT pair_id, opening FROM games"
            return dict(row_checks.opening(*row) for row in self._connection.query(query))

    def counts(self) -> dict[GameStatus, int]:
        """Return the number of games by status, without surplus ones; missing ones if there are."""
        counts: dict[GameStatus, int] = {"pending": 0, "running": 0, "done": 0, "void": 0}
        missing = self.expected
        with self._explained():
            # Before the games, as a run that goes on may add some meanwhile.
            for (text,) in self._connection.query("SELECT value FROM run WHERE key = 'scheduled'"):
                missing = row_checks.run_value("scheduled", text) or missing
            query = "SELECT surplus, status, count(*) FROM games GROUP BY surplus, status"
            for surplus, status, count in self._connection.query(query):
                missing -= count
                if not surplus:
                    counts[row_checks.known_status(status)] = count
        return {**counts, "missing": missing} if missing > 0 else counts

    def gaps(self) -> list[str]:
        """Return in words which rows are gone: of games, and of records of finished games."""
        lines, done = [], "FROM games WHERE status = 'done'"
        if missing := self.counts().get("missing"):
            lines.append(f"{counted(missing, 'game')} missing in the store: resume to play them")
        elif not self.expected and self.info().scheduled is None:
            lines.append("the number of games is missing in the store: resume to play all of them")
        query = f"SELECT count(*), (SELECT count(*) FROM records) {done}"  # noqa: S608 - constants
        with self._explained():
            ((finished, records),) = self._connection.query(query)
            if missing or finished != records:  # looked at only then: a large store takes long
                query = f"SELECT game_id {done} AND game_id NOT IN (SELECT game_id FROM records)"  # noqa: S608 - constants
                if names := sorted(str(name) for (name,) in self._connection.query(query)):
                    text = listed(names, limit=5)
                    lines.append(f"no record in the store of finished games: {text}")
        return lines

    def record(self, game_id: str) -> str:
        """Return the record of a finished game, as JSON lines. Raises `StoreError` if missing."""
        query = "SELECT game_id, record, checksum FROM records WHERE game_id = ?"
        if not row_checks.is_name(game_id):  # names become parts of paths
            raise StoreError(f"{self.path}: no finished game '{game_id}'")
        with self._explained():
            rows = list(self._connection.query(query, (game_id,)))
            for name, record, stored in rows:
                row_checks.check_sums([[name], [record]], [stored], table="records")
        if not rows:
            raise StoreError(f"{self.path}: no finished game '{game_id}'")
        return str(rows[0][1])

    # -- writing ------------------------------------------------------------------------------

    def extend(
        self, info: RunInfo, players: Iterable[PlayerRow], games: Iterable[ScheduledGame]
    ) -> None:
        """Add players and games, and replace the facts of the run; existing rows stay unchanged."""
        games = list(games)
        self.size += len(games)
        with self._transaction() as writer:
            extend_run(writer, replace(info, scheduled=self.size), players, games)
        self._names = ()

    def schedule(
        self,
        games: Iterable[ScheduledGame] = (),
        *,
        surplus: Iterable[str] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write decisions of the format in one transaction; existing rows stay unchanged.

        Args:
          games: new games.
          surplus: identities of games that are no longer needed; played ones keep their results.
          facts: new facts of the format; None keeps them.
        """
        with self._transaction() as connection:
            # New games, surplus ones and facts are one decision of the format. In one transaction,
            # a run that is killed here finds all of it or none, and asks the format again.
            games = list(games)
            self.size += len(games)
            connection.execute(REPLACE, ("scheduled", as_json(self.size)))
            insert_games(connection, games)
            for game_id in surplus:
                # The status is part of the checksum, so the row is sealed again below. Without this
                # check that would seal damage, too.
                self._check(game_id)
                connection.execute("UPDATE games SET surplus = 1 WHERE game_id = ?", (game_id,))
                _seal(self._connection, connection, "games", game_id)
            if facts is not None:
                connection.execute(REPLACE, ("facts", as_json(facts)))

    def mark_running(self, game_ids: Sequence[str]) -> None:
        """Mark games that were submitted to a worker."""
        self._set_status("running", "game_id = ?", [(game_id,) for game_id in game_ids])

    def release(self) -> None:
        """Mark running games as pending again."""
        self._set_status("pending", "status = 'running'", [()])

    def finish(self, games: Iterable[tuple[str, GameResult, str]]) -> None:
        """Commit results and records, ``(game_id, result, record)`` each, in one transaction."""
        columns = ", ".join(f"{name} = ?" for name in _RESULT)
        with self._transaction() as connection:
            for game_id, result, record in games:
                values = [cell(getattr(result, name)) for name in _RESULT]
                # A game that is done stays so: a worker that was given up may report it again.
                connection.execute(
                    f"UPDATE games SET status = 'done', {columns} "  # noqa: S608 - constants
                    "WHERE game_id = ? AND status != 'done'",
                    (*values, game_id),
                )
                connection.execute(
                    "INSERT INTO records (game_id, record) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (game_id, record),
                )
                for table in ("games", "records"):
                    _seal(self._connection, connection, table, game_id)

    def void(self, game_id: str, reason: str) -> None:
        """Record that an attempt at a game was void."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE games SET status = 'void', void_count = void_count + 1, void_reason = ? "
                "WHERE game_id = ? AND status != 'done'",
                (reason, game_id),
            )

    def _set_status(self, status: GameStatus, where: str, values: Sequence[Sequence[str]]) -> None:
        with self._transaction() as connection:
            connection.executemany(
                f"UPDATE games SET status = '{status}' WHERE {where} AND status != 'done'",  # noqa: S608 - constants
                values,
            )

    def _rows(self, where: str, values: Sequence[str] = ()) -> list[GameRow]:
        """Return the games that satisfy a condition in SQL."""
        query = f"{_select_games(_SEALED)} WHERE {where} {_ORDER}"
        if not self._names or not values:  # a run reads a thousand players once
            self._names = {player.name for player in self.players()}
        with self._explained():
            rows = list(self._connection.query(query, values))
            games = [row_checks.game_row(row[:-1], self._names) for row in rows]
            if rows:
                cells = list(zip(*rows, strict=True))
                finished = [bool(game.returns) for game in games]
                row_checks.check_sums(cells[:-1], cells[-1], required=finished)
            return games

    def _check(self, game_id: str) -> None:
        """Raise `ValueError` if a finished game does not match its checksum."""
        query = f"{_select_games(_SEALED)} WHERE game_id = ? AND {_FINISHED}"
        for *cells, stored in self._connection.query(query, (game_id,)):
            row_checks.check_sums([[cell] for cell in cells], [stored])

    def _check_uncounted(self) -> None:
        """Raise `StoreError` if a game no longer counts because its row was changed."""
        self._rows(f"surplus = 1 AND ({_FINISHED} OR checksum IS NOT NULL)")
        where = "surplus = 0 AND status != 'done'"
        self._rows(f"{where} AND ({_FINISHED} OR checksum IS NOT NULL)")


def _select_games(columns: Sequence[str]) -> str:
    """Return the beginning of a query for columns of games, the checksum last."""
    status = {"status": "CASE WHEN surplus = 1 THEN 'surplus' ELSE status END"}
    names = [status.get(name, name) for name in columns]
    return f"SELECT {', '.join(names)}, checksum FROM games"  # noqa: S608 - constants


def _seal(connection: Connection, writer: Writer, table: str, game_id: str) -> None:
    """Store the checksum of a row of a finished game, as the database returns its cells."""
    query = "SELECT game_id, record, checksum FROM records WHERE game_id = ?"
    if table == "games":
        query = f"{_select_games(_SEALED)} WHERE game_id = ? AND {_FINISHED}"
    # The cells are read back instead of taken from the result: databases may return another type or
    # rounding than they were given, and readers see only that.
    for *cells, _ in list(connection.query(query, (game_id,))):
        (checksum,) = row_checks.checksums([[cell] for cell in cells])
        statement = f"UPDATE {table} SET checksum = ? WHERE game_id = ?"  # noqa: S608 - own names
        writer.execute(statement, (checksum, game_id))
