"""What a store needs of its database, whichever it is; each is a component of the kind ``store``.

Statements are written once, in the SQL that SQLite and PostgreSQL share, with ``?`` for values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, Self

from miai.errors import StoreError
from miai_tournaments.store.folder import TOURNAMENT, RunKind

REMEDY: Final = "restore the file from a copy, or begin a new run in another folder"


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for malformed content of a store."""
    return StoreError(f"{path}: {what}; {REMEDY}")


def other_schema(place: str, version: int, kind: RunKind = TOURNAMENT) -> StoreError:
    """Return the error for a store whose tables are those of another version of miai."""
    age = "a newer" if version > kind.schema else "an older"
    return StoreError(
        f"{place}: has schema {version} of {age} miai, but this one reads schema {kind.schema}; "
        f"use the version of miai that began the {kind.noun}, or begin a new one in another folder"
    )


class Writer(Protocol):
    """Executes statements within a transaction."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement."""

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""


class Connection(Protocol):
    """A connection to a store.

    Attributes:
      path: the file in the folder that messages name.
      entered: the column that orders rows by entry.
    """

    path: Path
    entered: str

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""

    def transaction(self) -> AbstractContextManager[Writer]:
        """Run the block as one transaction; an exception rolls it back."""

    def explained(self) -> AbstractContextManager[None]:
        """Turn the database's exceptions in the block into `StoreError`."""

    def expect_all(self) -> None:
        """Prepare for reading every row, if that saves time."""

    def check_present(self) -> None:
        """Raise `StoreError` if the store was removed or replaced since it was opened."""

    def close(self) -> None:
        """End the connection."""


class Database(Protocol):
    """The database of one run's folder, which may not exist yet.

    Attributes:
      path: the file in the folder that messages name.
    """

    path: Path

    @property
    def address(self) -> Mapping[str, Any] | None:
        """Plain data that leads here again, kept in the folder; None for a file of the folder."""

    def check_new(self) -> None:
        """Raise unless a new run can be kept. Called before the players are started."""

    def create(self, tables: str, fill: Callable[[Writer], None]) -> None:
        """Create the tables of a new run with their first rows.

        A process that dies meanwhile leaves all of it or nothing.

        Args:
          tables: the statements that create them.
          fill: writes the rows.
        """

    def exists(self) -> bool:
        """Return whether the tables are there, of any version of miai."""

    def look(self) -> None:
        """Raise `StoreError` if it is no store, as far as one can tell without connecting."""

    def connect(self, *, alone: bool) -> Connection:
        """Return a connection to an existing run.

        Args:
          alone: whether it is that of the one process that writes.

        Raises:
          StoreError: there is no run, or of another schema, or another process writes.
        """


class StoreBase:
    """What all stores share: a connection, its errors and its end; a context manager.

    Attributes:
      folder: folder of the run.
      path: the SQLite file in it, or the file with the address of the database.
    """

    def __init__(self, connection: Connection) -> None:
        self.path = connection.path
        self.folder = connection.path.parent
        self._connection = connection

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check_present(self) -> None:
        """Raise `StoreError` if the store was removed or replaced since it was opened."""
        self._connection.check_present()

    @contextmanager
    def _transaction(self) -> Iterator[Writer]:
        with self._explained(), self._connection.transaction() as writer:
            yield writer

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the database and malformed rows into `StoreError`."""
        try:
            with self._connection.explained():
                yield
        except ValueError as error:
            raise damaged(self.path, str(error)) from error
