"""The SQLite file of a store: made whole, recognised before it is touched, its errors explained.

What a store is kept with: a connection to the SQLite file of the folder, or to PostgreSQL.

The store's statements are written once, in the SQL that both understand, with ``?`` for values.

Reading a large file ahead.

The rows of a store that grew game by game are scattered over its file. Who asks for all of them
reads it page by page in another order than they lie in, and waits for the disk at each; the whole
file in its own order comes in a fraction of the time.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from miai.errors import StoreError
from miai.files import absence, sync_folder
from miai_tournaments.store.address import TOURNAMENT, RunKind
from miai_tournaments.store.tables import BEFORE

READ: Final = "read"
WRITE: Final = "write"

CHECKED_BYTES: Final = 1 << 28
"""Largest file of which every page is looked at before anything is done with it; to read gigabytes
from a disk would take longer than most of what is asked of a store."""

_FEW: Final = 12

_HEADER = struct.Struct(">16s44x I 4x I 28x")
_MAGIC = b"SQLite format 3\0"


@contextmanager
def created(path: Path, schema: str, *, kind: RunKind = TOURNAMENT) -> Iterator[sqlite3.Connection]:
    """Give a new database under a passing name; it takes the name `path` when the block ends well.

    Raises:
      StoreError: `path` exists, or the folder cannot be written.
    """
    draft = path.with_name(draft_names(path.name)[0])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise StoreError(f"{path}: exists already; choose another folder")
        for name in draft_names(path.name):  # of a process that died; a journal would be replayed
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
    except sqlite3.Error as error:
        raise explained(path, error) from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def draft_names(name: str) -> list[str]:
    """Return the names of the files that making a database may leave when the process dies."""
    return [f"{name}.new{suffix}" for suffix in ("", "-journal", "-wal", "-shm")]


def connect(path: Path, mode: str, *, kind: RunKind = TOURNAMENT) -> sqlite3.Connection:
    """Return a connection to an existing store whose header and schema were checked.

    The pages of a file up to `CHECKED_BYTES` are checked too; damage in a larger one is told when
    the page is read.

    Args:
      mode: `READ` or `WRITE`.

    Raises:
      StoreError: there is none, or it is foreign, corrupt or of another schema. The header is
        read before SQLite sees the file, so nothing foreign is written to.
    """
    check_header(path, kind=kind)
    try:
        connection = sqlite3.connect(_uri(path, mode), uri=True, isolation_level=None, timeout=30)
        try:
            if path.stat().st_size <= CHECKED_BYTES:
                _check_pages(path, connection)
            if mode == READ:
                connection.execute("PRAGMA query_only = ON")
            else:
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explained(path, error) from error
    return connection


def _check_pages(path: Path, connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise damaged(path, f"is corrupt: {' '.join(verdict.split())}")


def _why_missing(path: Path, kind: RunKind) -> str:
    """Return why there is no store at a path, and what to name instead."""
    folder, noun = path.parent, kind.noun
    if path.is_dir():
        return f"{path}: is a folder, where a {noun}'s store should be; choose another folder"
    if path.exists():
        return f"{path}: is a pipe or a device, no {noun}'s store; choose another folder"
    if folder.is_file():
        return f"{folder}: is a file; name the folder of a {noun}, runs/NAME say"
    inside = sorted(str(p.parent) for p in folder.glob(f"*/{path.name}")) if folder.is_dir() else []
    if inside:
        return f"{folder}: holds {noun}s, name one of them: {', '.join(inside[:_FEW])}"
    if folder.is_dir():
        return (
            f"{folder}: holds no {noun} ({path.name} is missing); begin one with "
            f"`{kind.begin} {folder}`"
        )
    kept = Path("runs") / folder  # where runs are by default
    if (kept / path.name).is_file():
        return f"{folder}: does not exist. Did you mean '{kept}'?"
    above = folder.parent
    runs = [p.parent.name for p in above.glob(f"*/{path.name}")] if above.is_dir() else []
    told = f"{folder}: {absence(folder, runs)}"
    begin = f" Begin one with `{kind.begin} {folder}`."
    return told if told.endswith("?") else told + begin


def check_header(path: Path, *, kind: RunKind = TOURNAMENT) -> None:
    """Raise `StoreError` unless a file begins as a store does, of a schema that is known.

    Not while this process has the store open: to close the file gives up SQLite's locks on it.
    """
    try:
        if not path.is_file():
            raise StoreError(_why_missing(path, kind))
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise StoreError(f"{path}: is no SQLite file, so no store of a {kind.noun}; {_REMEDY}")
    _, version, application = _HEADER.unpack(header)
    if application != kind.application_id:
        raise StoreError(
            f"{path}: is a database of another program; it was left untouched, choose another "
            "folder"
        )
    if not 1 <= version <= kind.schema:
        age = "a newer" if version > kind.schema else "an older"
        raise StoreError(
            f"{path}: has schema {version} of {age} miai, this one reads schema {kind.schema}; "
            "use the version of miai that began the run"
        )


def schema_of(connection: sqlite3.Connection) -> int:
    """Return the version of a store's tables."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def upgrade(path: Path, connection: sqlite3.Connection, steps: Sequence[Sequence[str]]) -> None:
    """Bring a store to the newest schema, in one transaction.

    Args:
      steps: the statements that lead from each version to the next, from version 1 on.

    Raises:
      StoreError: it cannot be written.
    """
    try:
        if schema_of(connection) > len(steps):
            return
        with transaction(connection):
            for statements in steps[schema_of(connection) - 1 :]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(steps) + 1}")
    except sqlite3.Error as error:
        raise explained(path, error) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit the block as one transaction, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def damaged(path: Path, what: str) -> StoreError:
    """Return the error of a store in which something is not as miai wrote it."""
    return StoreError(f"{path}: {what}; {_REMEDY}")


def explained(path: Path, error: sqlite3.Error) -> StoreError:
    """Return what an error of SQLite means to the user."""
    name = getattr(error, "sqlite_errorname", "") or ""
    remedy = _REMEDIES.get(name.removeprefix("SQLITE_").split("_")[0], _REMEDY)
    return StoreError(f"{path}: {error}; {remedy}")


def _uri(path: Path, mode: str) -> str:
    uri = f"file:{quote(str(path.absolute()))}"
    # Readers of a WAL database need to write its index beside it, and the last one to close takes
    # it away, for which it must not be read-only: `connect` forbids it to write rows. In a folder
    # where they may not write, nobody else can be writing either.
    if mode == READ and not os.access(path.parent, os.W_OK):
        return f"{uri}?mode=ro&immutable=1"
    return f"{uri}?mode=rw"


_REMEDY = "restore the file from a copy, or start anew in another folder"

_REMEDIES = {
    "FULL": "free some space on the disk, then resume",
    "IOERR": "check the disk, then resume",
    "READONLY": "make the file and its folder writable",
    "CANTOPEN": "make the file and its folder readable and writable",
    "PERM": "make the file and its folder readable and writable",
    "BUSY": "another program holds the file; close it and try again",
    "LOCKED": "another program holds the file; close it and try again",
}

LARGE: Final = 1 << 26
"""Bytes from which on a file is read ahead."""

_PIECE: Final = 1 << 17
"""Bytes that are asked for at once; Linux reads no more than a disk's read-ahead in one go."""

_KEPT: Final[dict[tuple[int, int], int]] = {}
"""Descriptors by device and inode. They stay open: to close any descriptor of a file gives up all
locks that the process has on it, SQLite's too, and whoever reads the store next then takes the log
of the newest games away from who still writes to it."""


def read_ahead(path: Path) -> threading.Thread | None:
    """Have the system read a large file into its memory, in its own time and the file's order.

    Returns:
      the thread that asks for it, which ends by itself; None for a file that is small, or does
      not fit in half of the memory, and where the system cannot be asked. Nothing but time
      depends on it, so an error ends it silently.
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
    """Return the descriptor that is kept for a file."""
    found = path.stat()
    file = (found.st_dev, found.st_ino)
    if file not in _KEPT:
        _KEPT[file] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return _KEPT[file]


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
        self.absent: Mapping[str, str] = BEFORE if schema_of(connection) == 1 else {}
        self._connection = connection

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""
        return self._connection.execute(statement, values)

    def transaction(self) -> AbstractContextManager[Writer]:
        """Commit what the block writes as one transaction, or nothing of it."""
        return transaction(self._connection)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what SQLite raises in the block into a `StoreError`."""
        try:
            yield
        except sqlite3.Error as error:
            raise explained(self.path, error) from error

    def expect_all(self) -> None:
        """Have the system read a large file ahead."""
        read_ahead(self.path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
