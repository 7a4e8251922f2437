"""The database of a store: what it must offer (`Connection`), and its SQLite file.

A file is created whole and checked before SQLite opens it; errors say what to do. Statements are
written once, in the SQL that SQLite and PostgreSQL share, with ``?`` for values.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, Self
from urllib.parse import quote

from miai.errors import StoreError
from miai.files import absence, reading, sync_folder, writing
from miai_tournaments.store.address import TOURNAMENT, RunKind
from miai_tournaments.store.tables import ABSENT

READ: Final = "read"
WRITE: Final = "write"

CHECKED_BYTES: Final = 1 << 28
"""Maximum size of a file whose pages are all checked when it is opened."""

_FEW: Final = 12

_HEADER = struct.Struct(">16s44x I 4x I 28x")
_MAGIC = b"SQLite format 3\0"


@contextmanager
def created(path: Path, schema: str, *, kind: RunKind = TOURNAMENT) -> Iterator[sqlite3.Connection]:
    """Provide a new database under a temporary name, and rename it to `path` after the block.

    Raises:
      StoreError: `path` exists, or the folder cannot be written.
    """
    # Not `miai.files`: SQLite writes the draft itself, with a journal beside it.
    draft = path.with_name(draft_names(path.name)[0])
    with writing(path, StoreError), explained(path, again="repeat the command"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise StoreError(f"{path}: already exists; choose another folder")
        for name in draft_names(path.name):  # of a process that died: SQLite would replay a journal
            path.with_name(name).unlink(missing_ok=True)
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.executescript(
                f"PRAGMA application_id = {kind.application_id};"
                f"PRAGMA user_version = {kind.schema}; {schema}"
            )
            yield connection
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        draft.replace(path)
        sync_folder(path.parent)


def draft_names(name: str) -> list[str]:
    """Return the names of the files that a process may leave if it dies in `created`."""
    return [f"{name}.new{suffix}" for suffix in ("", "-journal", "-wal", "-shm")]


def connect(path: Path, mode: str, *, kind: RunKind = TOURNAMENT) -> sqlite3.Connection:
    """Return a connection to an existing store, after checking its header, schema and pages.

    In a file of more than `CHECKED_BYTES` damage is reported when a page is read.

    Args:
      mode: `READ` or `WRITE`.

    Raises:
      StoreError: there is no store, or it is foreign, corrupt or of another schema. SQLite does
        not open a foreign file, so nothing is written to it.
    """
    check_header(path, kind=kind)
    with explained(path):
        connection = sqlite3.connect(_uri(path, mode), uri=True, isolation_level=None, timeout=30)
        try:
            if path.stat().st_size <= CHECKED_BYTES:
                (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise damaged(path, f"is corrupt: {' '.join(verdict.split())}")
            if mode == READ:
                connection.execute("PRAGMA query_only = ON")
            else:
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _why_missing(path: Path, kind: RunKind) -> str:
    """Return why there is no store at a path, and what to name instead."""
    folder, noun = path.parent, kind.noun
    if path.is_dir():
        return f"{path}: is a folder, but should be the store of a {noun}; choose another folder"
    if path.exists():
        return f"{path}: is a pipe or a device, not a {noun}'s store; choose another folder"
    if folder.is_file():
        return f"{folder}: is a file; name the folder of a {noun}, such as runs/NAME"
    inside = sorted(str(p.parent) for p in folder.glob(f"*/{path.name}")) if folder.is_dir() else []
    if inside:
        return f"{folder}: contains {noun}s; name one of them: {', '.join(inside[:_FEW])}"
    if folder.is_dir():
        return (
            f"{folder}: contains no {noun} ({path.name} is missing); begin one with "
            f"`{kind.begin} {folder}`"
        )
    usual = Path("runs") / folder
    if (usual / path.name).is_file():
        return f"{folder}: does not exist. Did you mean '{usual}'?"
    above = folder.parent
    runs = [p.parent.name for p in above.glob(f"*/{path.name}")] if above.is_dir() else []
    message = f"{folder}: {absence(folder, runs)}"
    begin = f" Begin one with `{kind.begin} {folder}`."
    return message if message.endswith("?") else message + begin


def check_header(path: Path, *, kind: RunKind = TOURNAMENT) -> None:
    """Raise `StoreError` unless a file has the header of a store with a supported schema.

    Do not call it while this process has the store open: closing the file releases SQLite's locks.
    """
    with reading(path, StoreError):
        if not path.is_file():
            raise StoreError(_why_missing(path, kind))
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise StoreError(f"{path}: is not an SQLite file, so not a {kind.noun}'s store; {_REMEDY}")
    _, version, application = _HEADER.unpack(header)
    if application != kind.application_id:
        raise StoreError(
            f"{path}: is a database of another program, which was left unchanged; choose another "
            "folder"
        )
    if not 1 <= version <= kind.schema:
        age = "a newer" if version > kind.schema else "an older"
        raise StoreError(
            f"{path}: has schema {version} of {age} miai, but this one reads schema "
            f"{kind.schema}; use the version of miai that began the run"
        )


def schema_of(connection: sqlite3.Connection) -> int:
    """Return the version of a store's tables."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def upgrade(
    path: Path,
    connection: sqlite3.Connection,
    steps: Sequence[Sequence[str]],
    *,
    convert: Callable[[int], None] | None = None,
) -> None:
    """Bring a store to the newest schema, in one transaction. Raises `StoreError`.

    Args:
      steps: for each version from 1 on, the statements that lead to the next.
      convert: converts the rows after the statements; receives the version before them.
    """
    with explained(path):
        if schema_of(connection) > len(steps):
            return
        with transaction(connection):
            before = schema_of(connection)
            for statements in steps[before - 1 :]:
                for statement in statements:
                    connection.execute(statement)
            if convert is not None:
                convert(before)
            connection.execute(f"PRAGMA user_version = {len(steps) + 1}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Run the block as one transaction; an exception rolls it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk rolls back by itself
            connection.execute("ROLLBACK")
        raise


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for malformed content of a store."""
    return StoreError(f"{path}: {what}; {_REMEDY}")


@contextmanager
def explained(path: Path, *, again: str = "resume") -> Iterator[None]:
    """Turn SQLite's exceptions in the block into `StoreError`, each with its remedy.

    Args:
      again: what to do after the remedy.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        remedy = _REMEDIES.get(name.removeprefix("SQLITE_").split("_")[0], _REMEDY)
        remedy = remedy.format(again=again)
        raise StoreError(f"{path}: {error}; {remedy}") from error
    except UnicodeDecodeError as error:  # from a message of SQLite that quotes the file
        raise damaged(path, "is corrupt: contains text that is not UTF-8") from error


def _uri(path: Path, mode: str) -> str:
    uri = f"file:{quote(str(path.absolute()))}"
    # Readers of a WAL database write its index and remove it at the end, so even they open the file
    # for writing; `connect` makes them read-only. In a read-only folder there cannot be a writer.
    if mode == READ and not os.access(path.parent, os.W_OK):
        return f"{uri}?mode=ro&immutable=1"
    return f"{uri}?mode=rw"


_REMEDY = "restore the file from a copy, or begin a new run in another folder"

_REMEDIES = {
    "FULL": "free some space on the disk, then {again}",
    "IOERR": "check the disk, then {again}",
    "READONLY": "make the file and its folder writable",
    "CANTOPEN": "make the file and its folder readable and writable",
    "PERM": "make the file and its folder readable and writable",
    "BUSY": "another program holds the file; close it and try again",
    "LOCKED": "another program holds the file; close it and try again",
}

# -- reading a large file ahead -------------------------------------------------------------------

LARGE: Final = 1 << 26
"""Minimum size of a file that is read ahead, in bytes."""

_PIECE: Final = 1 << 17
"""Bytes per request; Linux reads at most a disk's read-ahead at once."""

_DESCRIPTORS: Final[dict[tuple[int, int], int]] = {}
"""Descriptors by device and inode. They stay open: closing any descriptor of a file releases all
locks of the process on it, including SQLite's, and another reader would then delete the log that a
writer still uses."""


def read_ahead(path: Path) -> threading.Thread | None:
    """Ask the system to read a large file into memory in the background, in the file's order.

    The rows of a store that grew game by game are scattered over its file; reading them in another
    order waits for the disk at each page.

    Returns:
      The thread that asks, which ends by itself; None if the file is small or larger than half of
      the memory, or the system does not support it. Errors are ignored: only speed depends on it.
    """
    if sys.platform != "linux":
        return None
    try:
        size = path.stat().st_size
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if not LARGE <= size <= memory // 2:
            return None
        file = _descriptor(path)
    except OSError:
        return None

    def ask() -> None:
        with contextlib.suppress(OSError):
            for start in range(0, size, _PIECE):
                os.posix_fadvise(file, start, _PIECE, os.POSIX_FADV_WILLNEED)

    thread = threading.Thread(target=ask, name="read-ahead", daemon=True)
    thread.start()
    return thread


def _descriptor(path: Path) -> int:
    """Return the open descriptor of a file."""
    status = path.stat()
    file = (status.st_dev, status.st_ino)
    if file not in _DESCRIPTORS:
        _DESCRIPTORS[file] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return _DESCRIPTORS[file]


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


# -- connections ----------------------------------------------------------------------------------


class Writer(Protocol):
    """Executes statements within a transaction."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """Execute a statement."""

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any:
        """Execute a statement for each row of values."""


class Connection(Protocol):
    """A connection to a store.

    Attributes:
      path: the file in the folder that messages name.
      entered: the column that orders rows by entry.
    """

    path: Path
    entered: str

    @property
    def schema(self) -> int:
        """The present version of the tables; a writer may upgrade them at any time."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Expressions that replace columns which an older schema lacks."""

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


class SqliteConnection:
    """A connection to an SQLite file; see `Connection`.

    Args:
      absent: for each older schema, expressions that replace the columns which it lacks.
    """

    entered = "rowid"

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        absent: Mapping[int, Mapping[str, str]] = ABSENT,
    ) -> None:
        self.path = path
        self._absent = absent
        self._connection = connection
        self._identity = file_identity(path)

    @property
    def schema(self) -> int:
        """The present version of the tables."""
        return schema_of(self._connection)

    @property
    def absent(self) -> Mapping[str, str]:
        """Expressions that replace columns which an older schema lacks."""
        return self._absent.get(self.schema, {})

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""
        return self._connection.execute(statement, values)

    def transaction(self) -> AbstractContextManager[Writer]:
        """Run the block as one transaction; an exception rolls it back."""
        return transaction(self._connection)

    def explained(self) -> AbstractContextManager[None]:
        """Turn SQLite's exceptions in the block into `StoreError`."""
        return explained(self.path)

    def expect_all(self) -> None:
        """Ask the system to read a large file ahead."""
        read_ahead(self.path)

    def check_present(self) -> None:
        """Raise `StoreError` if the file was removed or replaced since it was opened."""
        if self._identity is not None and file_identity(self.path) != self._identity:
            raise StoreError(
                f"{self.path}: was removed or replaced while the run was going on; what was "
                "played is lost, unless you have a copy of the file: restore it and resume"
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


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
