"""A store in a PostgreSQL database, for drivers that share one; each run has a schema of its own.

SQLAlchemy and psycopg are the extra ``miai[postgres]``. A run belongs to one driver at a time: it
holds an advisory lock, which the server gives back when the driver or its connection is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from miai.errors import ConfigError, StoreError
from miai_tournaments.store.address import ADDRESS_FILE, TOURNAMENT, Address
from miai_tournaments.store.database import Writer
from miai_tournaments.store.tables import SCHEMA

if TYPE_CHECKING:
    import sqlalchemy


CONNECT_SECONDS: Final = 10
"""How long a server may take to answer."""

_LOCK_ATTEMPTS: Final = 10
"""How often a lock is asked for: the server gives it back a moment after a driver has gone."""

_LOCK_PAUSE: Final = 0.1

_TYPES: Final = (("INTEGER", "BIGINT"), ("REAL", "DOUBLE PRECISION"))


class PostgresConnection:
    """A connection to the schema of one run; see `connection.Connection`.

    Args:
      folder: the tournament's folder, which holds the address.
      alone: whether it is to be the only driver, as whoever writes is.

    Raises:
      ConfigError: the extra is not installed.
      StoreError: the server does not answer, or another driver has the run.
    """

    entered = "position"
    absent: Mapping[str, str] = {}

    def __init__(self, folder: Path, address: Address, *, alone: bool) -> None:
        self.path = folder / ADDRESS_FILE
        self.address = address
        self._sqlalchemy = _sqlalchemy()
        with self.explained():
            self._connection = self._connect()
            try:
                self._run(f"SET search_path TO {address.schema}")
                if alone:
                    self._lock()
            except BaseException:
                self.close()
                raise

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""
        return [tuple(row) for row in self._run(statement, values)]

    @contextmanager
    def transaction(self) -> Iterator[Writer]:
        """Commit what the block writes as one transaction, or nothing of it."""
        self._run("BEGIN")
        try:
            yield self
        except BaseException:
            if not self._connection.invalidated:
                self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> None:
        """Carry out a statement."""
        self._run(statement, values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Carry out a statement for each row of values."""
        found = [tuple(map(_plain, row)) for row in rows]
        if found and not found[0]:
            self._run(statement)
        elif found:
            self._connection.exec_driver_sql(statement.replace("?", "%s"), found)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the database raises in the block into a `StoreError`."""
        try:
            yield
        except (self._sqlalchemy.exc.SQLAlchemyError, self._sqlalchemy.exc.ArgumentError) as error:
            cause = getattr(error, "orig", None) or error
            said = " ".join(str(cause).split())[:300]
            raise StoreError(
                f"{self.address.shown}: {said}; check the server and your rights, then give the "
                "same command again"
            ) from error

    def expect_all(self) -> None:
        """Do nothing: the server reads as it sees fit."""

    def close(self) -> None:
        """End the connection; the server gives back its lock."""
        self._connection.close()
        self._connection.engine.dispose()

    def make(self) -> None:
        """Make the tables, within a transaction."""
        schema = self.address.schema
        tables = SCHEMA.replace(
            "    name TEXT PRIMARY KEY", "    position BIGSERIAL,\n    name TEXT PRIMARY KEY"
        )
        for old, new in _TYPES:
            tables = tables.replace(old, new)
        for name in ("game_id", "pair_id"):  # ordered as SQLite does, whatever the collation is
            tables = tables.replace(f"{name} TEXT", f'{name} TEXT COLLATE "C"')
        self._run(f"CREATE SCHEMA {schema}")
        self._run(f"SET search_path TO {schema}")
        for statement in tables.split(";"):
            if statement.strip():
                self._run(statement)
        self._run("CREATE TABLE about (version BIGINT NOT NULL)")
        self._run("INSERT INTO about VALUES (?)", (TOURNAMENT.schema,))

    def holds_run(self) -> bool:
        """Return whether the schema is there and holds a run of some version of miai."""
        found = self.query(
            "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            (self.address.schema, "about"),
        )
        return bool(found)

    def check(self) -> None:
        """Raise `StoreError` unless the schema holds a run that this version of miai reads."""
        if not self.holds_run():
            raise StoreError(
                f"{self.address.shown}: holds no tournament any more; begin a new run with --out"
            )
        ((version,),) = self.query("SELECT version FROM about")
        if version != TOURNAMENT.schema:
            raise StoreError(
                f"{self.address.shown}: has schema {version}, this miai reads schema "
                f"{TOURNAMENT.schema}; use the version of miai that began the run"
            )

    def _connect(self) -> sqlalchemy.Connection:
        make_url, pool = self._sqlalchemy.make_url, self._sqlalchemy.pool
        engine = self._sqlalchemy.create_engine(
            make_url(self.address.url).set(drivername="postgresql+psycopg"),
            poolclass=pool.NullPool,
            connect_args={"connect_timeout": CONNECT_SECONDS},
            isolation_level="AUTOCOMMIT",  # transactions are begun and ended by `transaction`
        )
        connection: sqlalchemy.Connection = engine.connect()
        return connection

    def _lock(self) -> None:
        key = f"SELECT pg_try_advisory_lock(hashtextextended('{self.address.schema}', 0))"
        for attempt in range(_LOCK_ATTEMPTS):
            ((taken,),) = self.query(key)
            if taken:
                return
            if attempt < _LOCK_ATTEMPTS - 1:
                time.sleep(_LOCK_PAUSE)
        raise StoreError(
            f"{self.address.shown}: is being run by another driver; let it end, or stop it "
            "where it runs"
        )

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        if not values:
            return self._connection.exec_driver_sql(statement)
        told = tuple(map(_plain, values))
        return self._connection.exec_driver_sql(statement.replace("?", "%s"), told)


def _plain(value: Any) -> Any:
    """Return a value that the server takes: it has no character 0 in texts."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _sqlalchemy() -> Any:
    try:
        import psycopg  # noqa: F401 - what SQLAlchemy speaks to the server with
        import sqlalchemy
    except ImportError as error:
        raise ConfigError(
            "store: PostgreSQL needs SQLAlchemy and psycopg; install them with "
            "`pip install 'miai[postgres]'`"
        ) from error
    return sqlalchemy
