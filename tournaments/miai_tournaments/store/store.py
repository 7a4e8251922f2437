"""The store of a tournament: an SQLite file with one row for each scheduled game.

It is the source of truth. A row is written when the game is scheduled, with its identity, seed
and opening; its result and its record are committed in one transaction. To resume is to read the
rows that are not done. Only the runner writes; any process may read at the same time (WAL).

Commits are not flushed to the disk one by one (``synchronous=NORMAL``): the death of a process
loses nothing, a power failure at worst the last games, which are then played again.

Rows of a tournament's store on their way in, within a transaction that the store has begun.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Self

from miai.errors import StoreError
from miai.record import Termination
from miai_tournaments.store import database, reading
from miai_tournaments.store import folder as sharing
from miai_tournaments.store.address import ADDRESS_FILE, TOURNAMENT, Address
from miai_tournaments.store.database import Connection, SqliteConnection, Writer
from miai_tournaments.store.rows import (
    GameResult,
    GameRow,
    PlayerRow,
    RunInfo,
    ScheduledGame,
    Status,
)
from miai_tournaments.store.tables import SCHEMA, UPGRADES

REPLACE: Final = (
    "INSERT INTO run (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = "
    "excluded.value"
)
"""The statement that replaces what is told of the run under one key."""

_SCHEDULED: Final = ("game_id", "pair_id", "round", "players", "seed", "opening", "settings")


def extend_run(
    writer: Writer, info: RunInfo, players: Iterable[PlayerRow], games: Iterable[ScheduledGame]
) -> None:
    """Add players and games, and replace what is told of the run. Present rows stay as is."""
    told = [(key, as_json(getattr(info, key))) for key in RunInfo.__dataclass_fields__]
    writer.executemany(REPLACE, told)
    writer.executemany(
        "INSERT INTO players (name, agent, given, parameters, team) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [(p.name, p.agent, as_json(p.given), as_json(p.parameters), p.team) for p in players],
    )
    insert_games(writer, games)


def insert_games(writer: Writer, games: Iterable[ScheduledGame]) -> None:
    """Add games that are not played yet. Present rows stay as is."""
    marks = ", ".join("?" * len(_SCHEDULED))
    writer.executemany(
        f"INSERT INTO games ({', '.join(_SCHEDULED)}, status) "  # noqa: S608 - own names
        f"VALUES ({marks}, 'pending') ON CONFLICT DO NOTHING",
        ([cell(getattr(game, name)) for name in _SCHEDULED] for game in games),
    )


def as_json(value: Any) -> str:
    """Return plain data as a cell of text."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def cell(value: Any) -> Any:
    """Return a value as a cell: collections as JSON, others as they are."""
    return as_json(value) if isinstance(value, (tuple, Mapping)) else value


__all__ = [
    "FILE_NAME",
    "GameResult",
    "GameRow",
    "PlayerRow",
    "RunInfo",
    "ScheduledGame",
    "Status",
    "Store",
]

FILE_NAME = TOURNAMENT.file_name

_RESULT = tuple(GameResult.__dataclass_fields__)


class Store:
    """A tournament's store, made by `create`, `open` or `read`; a context manager.

    Attributes:
      folder: the tournament's folder.
      path: the SQLite file in it, or the file that tells where the database is.
    """

    def __init__(self, connection: Connection) -> None:
        self.path = connection.path
        self.folder = connection.path.parent
        self._connection = connection

    @classmethod
    def create(
        cls,
        folder: Path,
        info: RunInfo,
        players: Iterable[PlayerRow],
        games: Iterable[ScheduledGame],
        *,
        url: str | None = None,
    ) -> Store:
        """Return the store of a new run, in a folder that is made if need be.

        It appears when it is complete: a process that dies on the way leaves nothing that looks
        like a store.

        Args:
          url: of a PostgreSQL database; None for a file of the folder.

        Raises:
          ConfigError: the URL is wrong, or the extra is not installed.
          StoreError: the folder or database cannot be written, or holds a store already.
        """
        if url is not None:
            with closing(sharing.connect_new(folder, Address.fresh(url, info.name))) as shared:
                shared.address.draft(folder)
                with cls(shared)._transaction():
                    shared.make()
                    extend_run(shared, info, players, games)
                Address.keep(folder)
            return cls.open(folder)
        path = folder / FILE_NAME
        with database.created(path, SCHEMA) as connection:
            cls(SqliteConnection(path, connection)).extend(info, players, games)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Return the store of a folder for reading and writing; one of an older schema is upgraded.

        Raises:
          StoreError: there is none, or it is corrupt, foreign or of a newer schema.
        """
        if (folder / ADDRESS_FILE).exists():
            return cls(sharing.connect(folder, alone=True))
        path = folder / FILE_NAME
        connection = database.connect(path, database.WRITE)
        try:
            database.upgrade(path, connection, UPGRADES)
        except BaseException:
            connection.close()
            raise
        return cls(SqliteConnection(path, connection))

    @staticmethod
    def look(folder: Path) -> None:
        """Raise `StoreError` unless a folder seems to hold a store; its first bytes are read."""
        if (folder / ADDRESS_FILE).exists():
            Address.read(folder)
        else:
            database.check_header(folder / FILE_NAME)

    @classmethod
    def read(cls, folder: Path) -> Store:
        """Return the store of a folder for reading only. Raises as `open`."""
        if (folder / ADDRESS_FILE).exists():
            return cls(sharing.connect(folder, alone=False))
        path = folder / FILE_NAME
        return cls(SqliteConnection(path, database.connect(path, database.READ)))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- reading ------------------------------------------------------------------------------

    def info(self) -> RunInfo:
        """Return what holds for the whole run."""
        with self._explained():
            return reading.run_info(self._connection.query("SELECT key, value FROM run"))

    def players(self) -> list[PlayerRow]:
        """Return the players in the order in which they were entered."""
        columns = ", ".join(
            self._connection.absent.get(name, name) for name in reading.PLAYER_COLUMNS
        )
        query = f"SELECT {columns} FROM players ORDER BY {self._connection.entered}"  # noqa: S608 - own words
        with self._explained():
            players = [reading.player_row(row) for row in self._connection.query(query)]
            if not players:
                raise ValueError("table players: is empty")
            return players

    def games(self) -> list[GameRow]:
        """Return every scheduled game but the surplus ones, by round and pair."""
        return self._rows("TRUE")

    def results(self) -> list[GameRow]:
        """Return the games that are done and count, by round and pair."""
        return self._rows("status = 'done'")

    def unfinished(self) -> list[GameRow]:
        """Return the games that are not done and are needed, by round and pair."""
        return self._rows("status != 'done'")

    def voided(self) -> list[GameRow]:
        """Return the games of which an attempt was void, by round and pair."""
        return self._rows("void_count > 0")

    def surplus(self) -> list[GameRow]:
        """Return the games that are not needed any more, played or not, by round and pair."""
        return self._rows("TRUE", surplus=True)

    def ended(self, terminations: Collection[str]) -> list[GameRow]:
        """Return the games that are done, count and ended in one of some ways."""
        words = ", ".join(f"'{word}'" for word in sorted({*terminations} & {*Termination}))
        return self._rows(f"status = 'done' AND termination IN ({words})") if words else []

    def cells(self, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yield columns of the games that are done and count, as they are stored."""
        unknown = set(columns) - set(reading.GAME_COLUMNS)
        if unknown:
            raise ValueError(f"no columns {sorted(unknown)}")
        flag = self._connection.absent.get("surplus", "surplus")
        query = (
            f"SELECT {', '.join(columns)} FROM games "  # noqa: S608 - own names
            f"WHERE {flag} = 0 AND status = 'done'"
        )
        with self._explained():
            yield from self._connection.query(query)

    def expect_all(self) -> None:
        """Prepare for being asked for all games; a large file that lies on a disk is read ahead."""
        self._connection.expect_all()

    def scores(self) -> dict[str, tuple[float, ...]]:
        """Return the returns of every game that was played, surplus ones included, by identity."""
        with self._explained():
            query = "SELECT game_id, returns FROM games WHERE status = 'done'"
            return dict(reading.score(*row) for row in self._connection.query(query))

    def identities(self) -> set[str]:
        """Return the identity of every game, surplus ones included."""
        with self._explained():
            return {str(name) for (name,) in self._connection.query("SELECT game_id FROM games")}

    def openings(self) -> dict[str, tuple[int, ...]]:
        """Return the opening of every pair of games, surplus ones included, by its identity."""
        with self._explained():
            query = "SELECT DISTINCT pair_id, opening FROM games"
            return dict(reading.opening(*row) for row in self._connection.query(query))

    def counts(self) -> dict[Status, int]:
        """Return the number of games of each status; surplus ones are not counted."""
        counts: dict[Status, int] = {"pending": 0, "running": 0, "done": 0, "void": 0}
        surplus = self._connection.absent.get("surplus", "surplus")
        with self._explained():
            query = f"SELECT status, count(*) FROM games WHERE {surplus} = 0 GROUP BY status"  # noqa: S608 - own words
            for status, count in self._connection.query(query):
                counts[reading.known_status(status)] = count
        return counts

    def record(self, game_id: str) -> str:
        """Return the record of a finished game, as JSON lines. Raises `StoreError` without one."""
        query = "SELECT record FROM records WHERE game_id = ?"
        with self._explained():
            rows = list(self._connection.query(query, (game_id,)))
        if not rows:
            raise StoreError(f"{self.path}: no finished game '{game_id}'")
        return str(rows[0][0])

    # -- writing ------------------------------------------------------------------------------

    def extend(
        self, info: RunInfo, players: Iterable[PlayerRow], games: Iterable[ScheduledGame]
    ) -> None:
        """Add players and games, and replace what is told of the run. Present rows stay as is."""
        with self._transaction() as writer:
            extend_run(writer, info, players, games)

    def schedule(
        self,
        games: Iterable[ScheduledGame] = (),
        *,
        surplus: Iterable[str] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Note in one transaction what the format has decided. Present rows stay as they are.

        Args:
          games: to be played from now on.
          surplus: identities of games that are not needed any more. Those that were played keep
            their results.
          facts: what is told of the run from now on.
        """
        with self._transaction() as connection:
            insert_games(connection, games)
            connection.executemany(
                "UPDATE games SET surplus = 1 WHERE game_id = ?", [(name,) for name in surplus]
            )
            if facts is not None:
                connection.execute(REPLACE, ("facts", as_json(facts)))

    def mark_running(self, game_ids: Sequence[str]) -> None:
        """Note that games were handed to a worker."""
        self._set_status("running", "game_id = ?", [(game_id,) for game_id in game_ids])

    def release(self) -> None:
        """Note that no game is running: what was becomes pending again."""
        self._set_status("pending", "status = 'running'", [()])

    def finish(self, games: Iterable[tuple[str, GameResult, str]]) -> None:
        """Commit results and records, ``(game_id, result, record)`` each, in one transaction."""
        columns = ", ".join(f"{name} = ?" for name in _RESULT)
        with self._transaction() as connection:
            for game_id, result, record in games:
                values = [cell(getattr(result, name)) for name in _RESULT]
                connection.execute(
                    f"UPDATE games SET status = 'done', {columns} "  # noqa: S608 - own names
                    "WHERE game_id = ? AND status != 'done'",
                    (*values, game_id),
                )
                connection.execute(
                    "INSERT INTO records (game_id, record) VALUES (?, ?)", (game_id, record)
                )

    def void(self, game_id: str, reason: str) -> None:
        """Note that the last attempt at a game was void."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE games SET status = 'void', void_count = void_count + 1, void_reason = ? "
                "WHERE game_id = ? AND status != 'done'",
                (reason, game_id),
            )

    def _set_status(self, status: Status, where: str, arguments: Sequence[Sequence[str]]) -> None:
        with self._transaction() as connection:
            connection.executemany(
                f"UPDATE games SET status = '{status}' WHERE {where} AND status != 'done'",  # noqa: S608 - own words
                arguments,
            )

    def _rows(self, where: str, *, surplus: bool = False) -> list[GameRow]:
        """Return the games of which a condition in SQL holds, those that count or the others."""
        flag = self._connection.absent.get("surplus", "surplus")
        told = {
            **self._connection.absent,
            "status": f"CASE WHEN {flag} = 1 THEN 'surplus' ELSE status END",
        }
        columns = ", ".join(told.get(name, name) for name in reading.GAME_COLUMNS)
        which = f"{flag} = {int(surplus)}"
        query = (
            f"SELECT {columns} FROM games WHERE {which} AND {where} "  # noqa: S608 - own words
            "ORDER BY round, pair_id, game_id"
        )
        known = {player.name for player in self.players()}
        with self._explained():
            return [reading.game_row(row, known) for row in self._connection.query(query)]

    @contextmanager
    def _transaction(self) -> Iterator[Writer]:
        with self._explained(), self._connection.transaction() as writer:
            yield writer

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the database or a malformed row raises into a `StoreError`."""
        try:
            with self._connection.explained():
                yield
        except ValueError as error:
            raise database.damaged(self.path, str(error)) from error
