"""What a store is kept with: a connection to the SQLite file of the folder, or to PostgreSQL.

The store's statements are written once, in the SQL that both understand, with ``?`` for values.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from miai_tournaments.store import database
from miai_tournaments.store.ahead import read_ahead
from miai_tournaments.store.tables import BEFORE


class Writer(Protocol):
    """Takes statements within a transaction."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """Carry out a statement."""

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any:
        """Carry out a statement for each row of values."""


class Connection(Protocol):
    """A connection to a store.

    Attributes:
      path: the file in the folder that messages name.
      absent: what stands for columns that an older schema does not have.
      entered: the column that orders rows as they were entered.
    """

    path: Path
    absent: Mapping[str, str]
    entered: str

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""

    def transaction(self) -> AbstractContextManager[Writer]:
        """Commit what the block writes as one transaction, or nothing of it."""

    def explained(self) -> AbstractContextManager[None]:
        """Turn what the database raises in the block into a `StoreError`."""

    def expect_all(self) -> None:
        """Prepare for being asked for every row, where that saves time."""

    def close(self) -> None:
        """End the connection."""


class SqliteConnection:
    """A connection to the SQLite file of a tournament's folder; see `Connection`."""

    entered = "rowid"

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.absent: Mapping[str, str] = BEFORE if database.schema_of(connection) == 1 else {}
        self._connection = connection

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""
        return self._connection.execute(statement, values)

    def transaction(self) -> AbstractContextManager[Writer]:
        """Commit what the block writes as one transaction, or nothing of it."""
        return database.transaction(self._connection)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what SQLite raises in the block into a `StoreError`."""
        try:
            yield
        except sqlite3.Error as error:
            raise database.explained(self.path, error) from error

    def expect_all(self) -> None:
        """Have the system read a large file ahead."""
        read_ahead(self.path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
