"""Stores in a shared PostgreSQL database, each run in a schema of its own.

SQLAlchemy and psycopg are the extra ``miai[postgres]``. One driver at a time runs a tournament: it
holds an advisory lock, which the server releases when the driver or its connection ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from miai.errors import ConfigError, StoreError
from miai_tournaments.store.address import ADDRESS_FILE, DRAFT_FILE, TOURNAMENT, Address
from miai_tournaments.store.database import Connection, Writer
from miai_tournaments.store.folder import has_store
from miai_tournaments.store.tables import ABSENT, SCHEMA, UPGRADES

if TYPE_CHECKING:
    import sqlalchemy


CONNECT_SECONDS: Final = 10
"""Maximum time for a server to answer."""

RECONNECT_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each attempt to connect again after a connection was lost."""

_LOCK_ATTEMPTS: Final = 10
"""Attempts to take the lock: the server releases it shortly after a driver has ended."""

_LOCK_PAUSE: Final = 0.1

_logger = logging.getLogger(__name__)

_OLDEST: Final = 2
"""The first schema of runs in a database."""

Convert = Callable[[Connection, Writer, int], None]
"""Converts the rows of a store after its tables are upgraded from a version."""

_TYPES: Final = (("INTEGER", "BIGINT"), ("REAL", "DOUBLE PRECISION"))


def settle_draft(folder: Path) -> None:
    """Adopt or discard the schema of a process that died while creating it.

    The caller holds the folder's lock.

    Raises:
      StoreError: the database does not answer.
    """
    try:
        address = Address.read(folder, DRAFT_FILE)
    except StoreError:  # half written, so the schema was not created yet
        Address.drop(folder)
        return
    with closing(PostgresConnection(folder, address, alone=True)) as connection:
        if connection.holds_run():
            Address.keep(folder)
        else:
            Address.drop(folder)


def check_database(folder: Path, url: str) -> None:
    """Raise `ConfigError` or `StoreError` unless the database can take a new run."""
    connect_new(folder, Address.fresh(url, "check")).close()


def connect_new(folder: Path, address: Address) -> PostgresConnection:
    """Return a connection for a new run. Raises `StoreError` if the folder has a store."""
    if has_store(folder):
        raise StoreError(f"{folder}: already contains a tournament; choose another folder")
    return PostgresConnection(folder, address, alone=True)


def connect_existing(
    folder: Path, *, alone: bool, convert: Convert | None = None
) -> PostgresConnection:
    """Return a connection to a folder's run.

    Args:
      alone: whether to take the lock, as every writer does.
      convert: converts the rows of an older schema for a writer.

    Raises:
      StoreError: the database does not answer or lacks the run, or another driver runs it.
    """
    connection = PostgresConnection(folder, Address.read(folder), alone=alone)
    try:
        with connection.explained():
            connection.check(convert)
    except BaseException:
        connection.close()
        raise
    return connection


class PostgresConnection:
    """A connection to the schema of one run; see `miai_tournaments.store.database.Connection`.

    Args:
      folder: folder of the run.
      alone: whether to take the lock, as every writer does.

    Raises:
      ConfigError: the extra is not installed.
      StoreError: the server does not answer, or another driver runs the tournament.
    """

    entered = "position"

    def __init__(self, folder: Path, address: Address, *, alone: bool) -> None:
        self.path = folder / ADDRESS_FILE
        self.address = address
        self._alone, self._in_transaction = alone, False
        self._sqlalchemy = _sqlalchemy()
        with self.explained():
            self._open()

    @property
    def schema(self) -> int:
        """The present version of the tables."""
        ((version,),) = self.query("SELECT version FROM about")
        return int(version)

    @property
    def absent(self) -> Mapping[str, str]:
        """Expressions that replace columns which an older schema lacks."""
        return ABSENT.get(self.schema, {})

    def _open(self) -> None:
        """Connect, and take the lock if this is the writer."""
        self._connection = self._connect()
        try:
            self.execute(f"SET search_path TO {self.address.schema}")
            if self._alone:
                self._lock()
        except BaseException:
            self.close()
            raise

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""
        return [tuple(row) for row in self._execute_again(statement, values)]

    @contextmanager
    def transaction(self) -> Iterator[Writer]:
        """Run the block as one transaction; an exception rolls it back."""
        self._execute_again("BEGIN")
        self._in_transaction = True
        try:
            yield self
            self.execute("COMMIT")
        except BaseException:
            if not self._connection.invalidated:
                self.execute("ROLLBACK")
            raise
        finally:
            self._in_transaction = False

    def _execute_again(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Execute a statement; connect again if the connection was lost before it."""
        try:
            return self.execute(statement, values)
        except self._sqlalchemy.exc.DBAPIError as error:
            if self._in_transaction or not error.connection_invalidated:
                raise
        self._reconnect()
        return self.execute(statement, values)

    def _reconnect(self) -> None:
        """Connect again, with growing pauses.

        Raises:
          StoreError: the server did not answer, or another driver runs the tournament by now.
        """
        _logger.warning("%s: the connection was lost; connecting again ...", self.address.shown)
        for pause in RECONNECT_PAUSES:
            time.sleep(pause)
            with suppress(self._sqlalchemy.exc.OperationalError):
                self._open()
                return
        raise StoreError(
            f"{self.address.shown}: the connection was lost, and the server has not answered for "
            f"{sum(RECONNECT_PAUSES):g} s; see that it is running, then resume"
        )

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """Execute a statement."""
        if not values:
            return self._connection.exec_driver_sql(statement)
        parameters = tuple(map(_plain, values))
        return self._connection.exec_driver_sql(statement.replace("?", "%s"), parameters)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Execute a statement for each row of values."""
        parameters = [tuple(map(_plain, row)) for row in rows]
        if parameters and not parameters[0]:
            self.execute(statement)
        elif parameters:
            self._connection.exec_driver_sql(statement.replace("?", "%s"), parameters)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the database's exceptions in the block into `StoreError`."""
        try:
            yield
        except (self._sqlalchemy.exc.SQLAlchemyError, self._sqlalchemy.exc.ArgumentError) as error:
            cause = getattr(error, "orig", None) or error
            message = " ".join(str(cause).split())[:300]
            raise StoreError(
                f"{self.address.shown}: {message}; check the server and your rights, then repeat "
                "the command"
            ) from error

    def expect_all(self) -> None:
        """Do nothing: the server decides how it reads."""

    def check_present(self) -> None:
        """Do nothing: the server keeps the store."""

    def close(self) -> None:
        """End the connection; the server releases its lock."""
        self._connection.close()
        self._connection.engine.dispose()

    def create_tables(self) -> None:
        """Create the schema and its tables, within a transaction."""
        schema = self.address.schema
        tables = SCHEMA.replace(
            "    name TEXT PRIMARY KEY", "    position BIGSERIAL,\n    name TEXT PRIMARY KEY"
        )
        for old, new in _TYPES:
            tables = tables.replace(old, new)
        for name in ("game_id", "pair_id"):  # sorted as in SQLite, whatever the server's collation
            tables = tables.replace(f"{name} TEXT", f'{name} TEXT COLLATE "C"')
        self.execute(f"CREATE SCHEMA {schema}")
        self.execute(f"SET search_path TO {schema}")
        for statement in tables.split(";"):
            if statement.strip():
                self.execute(statement)
        self.execute("CREATE TABLE about (version BIGINT NOT NULL)")
        self.execute("INSERT INTO about VALUES (?)", (TOURNAMENT.schema,))

    def holds_run(self) -> bool:
        """Return whether the schema exists and contains a run of any version of miai."""
        tables = self.query(
            "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            (self.address.schema, "about"),
        )
        return bool(tables)

    def check(self, convert: Convert | None) -> None:
        """Bring the tables to the newest schema, if this is the writer.

        Raises:
          StoreError: the schema contains no run that this version of miai reads.
        """
        if not self.holds_run():
            raise StoreError(
                f"{self.address.shown}: no longer contains a tournament; begin a new run with --out"
            )
        version = self.schema
        if not _OLDEST <= version <= TOURNAMENT.schema:
            raise StoreError(
                f"{self.address.shown}: has schema {version}, but this miai reads schema "
                f"{TOURNAMENT.schema}; use the version of miai that began the run"
            )
        if version < TOURNAMENT.schema and self._alone:
            self._upgrade(version, convert)

    def _upgrade(self, version: int, convert: Convert | None) -> None:
        with self.transaction() as writer:
            for statement in chain.from_iterable(UPGRADES[version - 1 :]):
                for old, new in _TYPES:
                    statement = statement.replace(old, new)
                writer.execute(statement)
            if convert is not None:
                convert(self, writer, version)
            writer.execute("UPDATE about SET version = ?", (TOURNAMENT.schema,))

    def _connect(self) -> sqlalchemy.Connection:
        make_url, pool = self._sqlalchemy.make_url, self._sqlalchemy.pool
        engine = self._sqlalchemy.create_engine(
            make_url(self.address.url).set(drivername="postgresql+psycopg"),
            poolclass=pool.NullPool,
            connect_args={"connect_timeout": CONNECT_SECONDS},
            isolation_level="AUTOCOMMIT",  # `transaction` begins and ends transactions
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
            f"{self.address.shown}: another driver is running it; wait for it to end, or stop it "
            "in its terminal"
        )


def _plain(value: Any) -> Any:
    """Return a value without NUL characters, which the server does not accept in texts."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _sqlalchemy() -> Any:
    try:
        import psycopg  # noqa: F401 - the driver that SQLAlchemy uses
        import sqlalchemy
    except ImportError as error:
        raise ConfigError(
            "store: PostgreSQL needs SQLAlchemy and psycopg; install them with "
            "`pip install 'miai[postgres]'`"
        ) from error
    return sqlalchemy
