"""A tournament's folder: who runs it, and how it is asked to stop.

Layout::

    runs/NAME/
      tournament.sqlite   the store, the source of truth
      store.json          where the store is, when it is a database that is shared
      lock                held by the runner as long as it lives; names its process
      stop                asks the runner that it names to end
      logs/GAME/          what agents logged
      records/            records as files, where the config asks for them
      report.txt, report.json

Stores in databases that are shared: where a folder's is, making it, finding it again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from miai.errors import StoreError
from miai.files import DRAFT_PATTERN, reading, write_text, writing
from miai_tournaments.store.address import ADDRESS_FILE, DRAFT_FILE, TOURNAMENT, Address, RunKind
from miai_tournaments.store.database import draft_names

if TYPE_CHECKING:
    from miai_tournaments.store.postgres import PostgresConnection


_ATTEMPTS = 4
_PAUSE = 0.05
_STOP_SECONDS = 0.25

LOCK = "lock"
STOP = "stop"
LOGS = "logs"


def refuse_foreign(folder: Path, *, kind: RunKind = TOURNAMENT) -> None:
    """Raise `StoreError` when a folder holds other things and no store: nothing goes there."""
    with reading(folder, StoreError):
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder}: is a file; choose another folder with --out")
        paths = list(folder.iterdir()) if folder.exists() else []
        names = {path.name for path in paths if not path.match(DRAFT_PATTERN)}
    other = names - kind.own - {*draft_names(kind.file_name)}
    if kind.file_name not in names and ADDRESS_FILE not in names and other:
        raise StoreError(
            f"{folder}: holds other files ('{min(other)}') and no {kind.noun}; choose another "
            "folder with --out"
        )


class RunLock:
    """The right to run a tournament, held until the process ends, however it ends.

    Attributes:
      folder: the tournament's folder.
      token: names this holder.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        self.token = secrets.token_hex(8)
        self._looked = 0.0
        self._asked = False
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "token": self.token}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)

    def stop_asked(self) -> bool:
        """Return whether somebody asked this holder to stop, as of a moment ago."""
        if time.monotonic() - self._looked >= _STOP_SECONDS:
            self._looked = time.monotonic()
            with contextlib.suppress(OSError, ValueError):
                self._asked = (self.folder / STOP).read_text(encoding="utf-8") == self.token
        return self._asked


@contextmanager
def locked(folder: Path, *, kind: RunKind = TOURNAMENT) -> Iterator[RunLock]:
    """Hold the lock of a folder, which is made if need be.

    Raises:
      StoreError: another process holds it, or the folder cannot be written.
    """
    with writing(folder, StoreError):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(descriptor, folder, kind)
        yield RunLock(folder, descriptor)
        with contextlib.suppress(OSError):
            (folder / STOP).unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path, kind: RunKind) -> None:
    """Take the lock; a few times, since `runner_of` holds it for a moment."""
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if attempt < _ATTEMPTS - 1:
                time.sleep(_PAUSE)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be locked: {error.strerror}") from error
    raise StoreError(
        f"{folder}: is being run by {_described(_holder(folder))}; "
        f"{kind.busy.format(folder=folder)}"
    )


def runner_of(folder: Path) -> str | None:
    """Return who runs the tournament of a folder, in words; None when nobody does."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _described(_holder(folder))
    finally:
        os.close(descriptor)
    return None


def ask_to_stop(folder: Path) -> str | None:
    """Ask the runner of a folder to finish its games and end; return who that is.

    Returns None when nobody runs it; then nothing is written.

    Raises:
      StoreError: the folder cannot be written.
    """
    runner = runner_of(folder)
    if runner is None:
        return None
    with writing(folder, StoreError):
        write_text(folder / STOP, _holder(folder).get("token", ""))
    return runner


def _holder(folder: Path) -> dict[str, str]:
    try:
        values = json.loads((folder / LOCK).read_bytes())
        return {str(key): str(value) for key, value in values.items()}
    except (OSError, ValueError, AttributeError):  # between taking the lock and writing the name
        return {}


def _described(holder: dict[str, str]) -> str:
    if "pid" not in holder:
        return "another process"
    return f"process {holder['pid']} on {holder.get('host', 'this machine')}"


FILE_NAME: Final = TOURNAMENT.file_name


def has_store(folder: Path) -> bool:
    """Return whether a folder has a tournament's store, or tells where it is."""
    return (folder / FILE_NAME).exists() or (folder / ADDRESS_FILE).exists()


def store_url(folder: Path) -> str | None:
    """Return the URL of the database that holds a folder's run; None where a file does, or none.

    Raises:
      StoreError: the file that tells is not as written.
    """
    return Address.read(folder).url if (folder / ADDRESS_FILE).exists() else None


def settle_draft(folder: Path) -> None:
    """Keep the store that a process made and died before it said where, if there is one.

    Whoever calls it holds the folder's lock.

    Raises:
      StoreError: the database does not answer.
    """
    from miai_tournaments.store.postgres import PostgresConnection

    try:
        address = Address.read(folder, DRAFT_FILE)
    except StoreError:  # half written: nothing was made yet
        Address.drop(folder)
        return
    with closing(PostgresConnection(folder, address, alone=True)) as connection:
        if connection.holds_run():
            Address.keep(folder)
        else:
            Address.drop(folder)


def check_database(folder: Path, url: str) -> None:
    """Raise `ConfigError` or `StoreError` unless a new run could be kept in a database."""
    connect_new(folder, Address.fresh(url, "check")).close()


def connect_new(folder: Path, address: Address) -> PostgresConnection:
    """Return a connection for a run that is to be made. Raises `StoreError` when there is one."""
    from miai_tournaments.store.postgres import PostgresConnection

    if has_store(folder):
        raise StoreError(f"{folder}: holds a tournament already; choose another folder")
    return PostgresConnection(folder, address, alone=True)


def connect(folder: Path, *, alone: bool) -> PostgresConnection:
    """Return a connection to a folder's run.

    Args:
      alone: whether it is to be the only driver, as whoever writes is.

    Raises:
      StoreError: the database does not answer, has no such run, or another driver has it.
    """
    from miai_tournaments.store.postgres import PostgresConnection

    connection = PostgresConnection(folder, Address.read(folder), alone=alone)
    try:
        with connection.explained():
            connection.check()
    except BaseException:
        connection.close()
        raise
    return connection
