"""Stores in a shared PostgreSQL database, each run in a schema of its own.

SQLAlchemy and psycopg are the extra ``miai[postgres]``. One driver at a time runs a tournament: it
holds an advisory lock, which the server releases when the driver or its connection ends.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from pydantic import model_validator

from miai.errors import StoreError
from miai.parameters import Parameters, parameter
from miai_tournaments.store.database import Writer, other_schema
from miai_tournaments.store.folder import ADDRESS_FILE, TOURNAMENT

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

_TYPES: Final = (("INTEGER", "BIGINT"), ("REAL", "DOUBLE PRECISION"))


_FORM: Final = "postgresql://USER@HOST:PORT/DATABASE"
_URL: Final = re.compile(r"postgres(ql)?(\+psycopg)?://[^\s]{1,2000}")


class PostgresParameters(Parameters):
    """Parameters of the store ``postgresql``."""

    url: str = parameter(help=f"The database, {_FORM}, without a password", max_length=2000)
    tables: str | None = parameter(
        None,
        alias="schema",
        pattern=r"^miai_[a-z0-9_]{1,50}$",
        help="Schema that holds the run's tables (default: a new one, named after the folder)",
    )

    @model_validator(mode="after")
    def _names_a_database(self) -> Self:
        """Refuse a URL without showing it: it may contain a password."""
        if not _URL.fullmatch(self.url):
            raise ValueError(f"this is not the address of a database; give {_FORM}")
        try:
            parts = urlsplit(self.url)
            host, _, secret = parts.hostname, parts.port, parts.password
        except ValueError:
            raise ValueError(
                f"the host or port of the database is malformed; give {_FORM}"
            ) from None
        if secret is not None or "password" in parse_qs(parts.query) or self.url.count("@") > 1:
            raise ValueError(
                "the address of a database contains a password, which others could read; leave it "
                "out and give it in PGPASSWORD or ~/.pgpass"
            )
        if not (host and parts.path.strip("/")):
            raise ValueError(f"the address lacks a host or a database; give {_FORM}")
        return self


class PostgresDatabase:
    """The store ``postgresql``: a schema of a database, which the folder names in a file."""

    def __init__(self, folder: Path, parameters: PostgresParameters) -> None:
        import psycopg  # noqa: F401 - the driver that SQLAlchemy uses; fails here without the extra
        import sqlalchemy  # noqa: F401

        self.path, self._url = folder / ADDRESS_FILE, parameters.url
        # Two runs of one name share a database, so the name alone does not do.
        plain = re.sub(r"[^a-z0-9]+", "_", folder.name.lower())[:40]
        self._schema = parameters.tables or f"miai_{plain}_{secrets.token_hex(4)}"

    @property
    def address(self) -> Mapping[str, Any]:
        """The parameters that lead to this schema again."""
        return {"url": self._url, "schema": self._schema}

    def check_new(self) -> None:
        """Raise `StoreError` unless the server answers."""
        self._open(alone=True).close()

    def create(self, tables: str, fill: Callable[[Writer], None]) -> None:
        """Create the schema and its tables with the first rows, in one transaction."""
        with (
            closing(self._open(alone=True)) as connection,
            connection.explained(),
            connection.transaction(),
        ):
            connection.create_tables(tables)
            fill(connection)

    def exists(self) -> bool:
        """Return whether the schema contains a run of any version of miai."""
        with closing(self._open(alone=True)) as connection, connection.explained():
            return connection.holds_run()

    def look(self) -> None:
        """Do nothing: only the server can tell."""

    def connect(self, *, alone: bool) -> PostgresConnection:
        """Return a connection to the run. Raises `StoreError`."""
        connection = self._open(alone=alone)
        try:
            with connection.explained():
                connection.check()
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self, *, alone: bool) -> PostgresConnection:
        return PostgresConnection(self.path, self._url, self._schema, alone=alone)


class PostgresConnection:
    """A connection to the schema of one run; see `miai_tournaments.store.database.Connection`.

    Args:
      path: the file in the folder that messages name.
      url: URL of the database.
      schema: name of the schema.
      alone: whether to take the lock, as every writer does.

    Raises:
      StoreError: the server does not answer, or another driver runs the tournament.
    """

    entered = "position"

    def __init__(self, path: Path, url: str, schema: str, *, alone: bool) -> None:
        import sqlalchemy

        self.path = path
        self._url, self._name = url, schema
        self._alone, self._in_transaction = alone, False
        self._sqlalchemy = sqlalchemy
        with self.explained():
            self._open()

    @property
    def _shown(self) -> str:
        """The address for messages."""
        return f"{self._url} ({self._name})"

    def _open(self) -> None:
        """Connect, and take the lock if this is the writer."""
        self._connection = self._connect()
        try:
            self.execute(f"SET search_path TO {self._name}")
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
        # A lost connection is replaced here, before anything was done. Inside a transaction it
        # cannot be: what went before is rolled back, so the whole of it must fail.
        self._execute_again("BEGIN")
        self._in_transaction = True
        try:
            yield self
            self.execute("COMMIT")
        except BaseException:
            # The server has rolled back what a lost connection left open.
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
        _logger.warning("%s: the connection was lost; connecting again ...", self._shown)
        for pause in RECONNECT_PAUSES:
            time.sleep(pause)
            with suppress(self._sqlalchemy.exc.OperationalError):
                self._open()
                return
        raise StoreError(
            f"{self._shown}: the connection was lost, and the server has not answered for "
            f"{sum(RECONNECT_PAUSES):g} s; see that it is running, then resume"
        )

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Execute a statement."""
        if not values:
            return self._connection.exec_driver_sql(statement)
        parameters = tuple(map(_plain, values))
        return self._connection.exec_driver_sql(statement.replace("?", "%s"), parameters)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
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
        except self._sqlalchemy.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            message = " ".join(str(cause).split())[:300]
            raise StoreError(
                f"{self._shown}: {message}; check the server and your rights, then repeat "
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

    def create_tables(self, tables: str) -> None:
        """Create the schema and its tables, within a transaction."""
        # PostgreSQL has no rowid, by which SQLite knows the players' order of entry.
        tables = tables.replace(
            "    name TEXT PRIMARY KEY", "    position BIGSERIAL,\n    name TEXT PRIMARY KEY"
        )
        for name in ("game_id", "pair_id"):  # sorted as in SQLite, whatever the server's collation
            tables = tables.replace(f"{name} TEXT", f'{name} TEXT COLLATE "C"')
        self.execute(f"CREATE SCHEMA {self._name}")
        self.execute(f"SET search_path TO {self._name}")
        for old, new in _TYPES:
            tables = tables.replace(old, new)
        for statement in filter(str.strip, tables.split(";")):
            self.execute(statement)
        self.execute("CREATE TABLE about (version BIGINT NOT NULL)")
        self.execute("INSERT INTO about VALUES (?)", (TOURNAMENT.schema,))

    def holds_run(self) -> bool:
        """Return whether the schema exists and contains a run of any version of miai."""
        tables = self.query(
            "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            (self._name, "about"),
        )
        return bool(tables)

    def check(self) -> None:
        """Raise `StoreError` unless the schema contains a run that this version of miai reads."""
        if not self.holds_run():
            raise StoreError(
                f"{self._shown}: no longer contains a tournament; begin a new run with --out"
            )
        ((version,),) = self.query("SELECT version FROM about")
        if version != TOURNAMENT.schema:
            raise other_schema(self._shown, int(version))

    def _connect(self) -> sqlalchemy.Connection:
        make_url, pool = self._sqlalchemy.make_url, self._sqlalchemy.pool
        engine = self._sqlalchemy.create_engine(
            make_url(self._url).set(drivername="postgresql+psycopg"),
            poolclass=pool.NullPool,
            connect_args={"connect_timeout": CONNECT_SECONDS},
            isolation_level="AUTOCOMMIT",  # `transaction` begins and ends transactions
        )
        connection: sqlalchemy.Connection = engine.connect()
        return connection

    def _lock(self) -> None:
        key = f"SELECT pg_try_advisory_lock(hashtextextended('{self._name}', 0))"
        for attempt in range(_LOCK_ATTEMPTS):
            # An advisory lock belongs to the session: the server frees it when a driver dies. A row
            # in a table would outlive the driver.
            ((taken,),) = self.query(key)
            if taken:
                return
            if attempt < _LOCK_ATTEMPTS - 1:
                time.sleep(_LOCK_PAUSE)
        raise StoreError(
            f"{self._shown}: another driver is running it; wait for it to end, or stop it "
            "in its terminal"
        )


def _plain(value: Any) -> Any:
    """Return a value without NUL characters, which the server does not accept in texts."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
