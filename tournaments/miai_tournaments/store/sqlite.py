"""Stores in an SQLite file of the run's folder.

A file is created whole and checked before SQLite opens it; errors say what to do.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from miai.errors import StoreError
from miai.files import absence, reading, sync_folder, writing
from miai.parameters import Parameters
from miai_tournaments.store.database import REMEDY, Writer, damaged, other_schema
from miai_tournaments.store.folder import (
    TOURNAMENT,
    RunKind,
    draft_names,
    file_identity,
    refuse_links,
)

CHECKED_BYTES: Final = 1 << 28
"""Maximum size of a file whose pages are all checked when it is opened."""

_FEW: Final = 12

_HEADER = struct.Struct(">16s44x I 4x I 28x")
_MAGIC = b"SQLite format 3\0"


@contextmanager
def created(path: Path, tables: str, *, kind: RunKind = TOURNAMENT) -> Iterator[SqliteConnection]:
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
            # The application id tells stores from other SQLite files whatever they are called; the
            # schema sits in the header, so that it can be checked without opening the database.
            connection.executescript(
                f"PRAGMA application_id = {kind.application_id};"
                f"PRAGMA user_version = {kind.schema}; {tables}"
            )
            yield SqliteConnection(path, connection)
            # Only now: until here one file holds everything, and renaming a database without its
            # log would lose the log's rows.
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        draft.replace(path)
        # The rename itself must survive a power failure, or the run would be gone and its lock file
        # still there.
        sync_folder(path.parent)


def connect(path: Path, *, alone: bool, kind: RunKind = TOURNAMENT) -> SqliteConnection:
    """Return a connection to an existing store, after checking its header, schema and pages.

    In a file of more than `CHECKED_BYTES` damage is reported when a page is read.

    Args:
      alone: whether to write, as one process at a time may.

    Raises:
      StoreError: there is no store, or it is foreign, corrupt or of another schema. SQLite does
        not open a foreign file, so nothing is written to it.
    """
    # Before SQLite looks at the file: it would replay a journal that lies beside a foreign one, and
    # so write to it.
    check_header(path, kind=kind)
    with explained(path):
        connection = sqlite3.connect(
            _uri(path, alone=alone), uri=True, isolation_level=None, timeout=30
        )
        try:
            if path.stat().st_size <= CHECKED_BYTES:
                (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise damaged(path, f"is corrupt: {' '.join(verdict.split())}")
            if alone:
                # Waiting for the disk at each commit would take longer than a short game. With the
                # WAL this loses the last games after a power failure, and never half of one.
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
            else:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    return SqliteConnection(path, connection)


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
    """Raise `StoreError` unless a file has the header of a store of the present schema.

    Do not call it while this process has the store open: closing the file releases SQLite's locks.
    """
    refuse_links(path.parent, kind=kind)
    with reading(path, StoreError):
        if not path.is_file():
            raise StoreError(_why_missing(path, kind))
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
    if len(header) < _HEADER.size and _MAGIC.startswith(header[: len(_MAGIC)]):
        raise StoreError(
            f"{path}: is cut short, as by a full disk; restore the file from a copy, or remove "
            f"{path.name}* and begin again"
        )
    if not header.startswith(_MAGIC):
        raise StoreError(f"{path}: is not an SQLite file, so not a {kind.noun}'s store; {REMEDY}")
    _, version, application = _HEADER.unpack(header)
    if application != kind.application_id:
        raise StoreError(
            f"{path}: is a database of another program, which was left unchanged; choose another "
            "folder"
        )
    if version != kind.schema:
        raise other_schema(str(path), version, kind)


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
        remedy = _REMEDIES.get(name.removeprefix("SQLITE_").split("_")[0], REMEDY)
        remedy = remedy.format(again=again)
        raise StoreError(f"{path}: {error}; {remedy}") from error
    except UnicodeDecodeError as error:  # from a message of SQLite that quotes the file
        raise damaged(path, "is corrupt: contains text that is not UTF-8") from error


def _uri(path: Path, *, alone: bool) -> str:
    uri = f"file:{quote(str(path.absolute()))}"
    # Readers of a WAL database write its index and remove it at the end, so even they open the file
    # for writing; `connect` makes them read-only. In a read-only folder there cannot be a writer.
    if not alone and not os.access(path.parent, os.W_OK):
        return f"{uri}?mode=ro&immutable=1"
    return f"{uri}?mode=rw"


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


# -- the component --------------------------------------------------------------------------------


class SqliteConnection:
    """A connection to an SQLite file; see `miai_tournaments.store.database.Connection`."""

    entered = "rowid"

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        # SQLite would go on writing to a deleted file without an error; see `check_present`.
        self._identity = file_identity(path)

    def query(self, statement: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        """Return rows."""
        return self._connection.execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[Writer]:
        """Run the block as one transaction; an exception rolls it back."""
        # The write lock at once: a deferred transaction that reads first and then writes can fail
        # with "busy" in the middle, after another writer has come between.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk rolls back by itself
                self._connection.execute("ROLLBACK")
            raise

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement."""
        self._connection.execute(statement, values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        self._connection.executemany(statement, rows)

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


class SqliteDatabase:
    """The store ``sqlite``: a file in the run's folder, which needs no address."""

    address = None

    def __init__(self, folder: Path, parameters: Parameters) -> None:
        self.path = folder / TOURNAMENT.file_name

    def check_new(self) -> None:
        """Do nothing: a folder that cannot be written is noticed by its lock."""

    def create(self, tables: str, fill: Callable[[Writer], None]) -> None:
        """Create the file with its first rows. Raises `StoreError`."""
        with created(self.path, tables) as connection, connection.transaction() as writer:
            fill(writer)

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path.exists()

    def look(self) -> None:
        """Raise `StoreError` unless the file has the header of a store."""
        check_header(self.path)

    def connect(self, *, alone: bool) -> SqliteConnection:
        """Return a connection to the file. Raises `StoreError`."""
        return connect(self.path, alone=alone)
