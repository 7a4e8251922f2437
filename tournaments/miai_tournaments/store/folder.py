"""The folder of a run: its lock, requests to stop or pause, and whether it has a store.

Layout of a tournament::

    runs/NAME/
      tournament.sqlite   the store, the source of truth
      store.json          instead of it: the address of a shared database
      lock                held by the runner while it lives; names its process
      stop, pause         ask the runner that they name to end, or to begin no game for now
      logs/GAME/          logs of agents
      records/            records as files, if the config asks for them
      report.txt, report.json
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from miai.errors import StoreError
from miai.files import DRAFT_PATTERN, open_plain, reading, removed_if_refused, write_text, writing

_OPENINGS = 100
_ATTEMPTS = 4
_PAUSE = 0.05
_STOP_SECONDS = 0.25
_MAX_TOKEN = 100

LOCK = "lock"
STOP = "stop"
PAUSE = "pause"
LOGS = "logs"

ADDRESS_FILE: Final = "store.json"
"""The parameters that lead to a database outside the folder."""

DRAFT_FILE: Final = "store.json.new"
"""Exists while a database outside the folder gets its tables, so that none are lost if the process
dies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """A kind of run.

    Attributes:
      noun: what messages call it.
      file_name: name of the store's file.
      schema: version of the store's tables; those of other versions are refused.
      application_id: four letters in the header of the store, which identify the kind whatever the
        file is called.
      begin: the command that begins a run, without the folder at its end.
      busy: advice if another process runs it; ``{folder}`` stands for the folder.
      own: names of files that a run may leave in a folder before it has a store.
    """

    noun: str
    file_name: str
    schema: int
    application_id: int
    begin: str
    busy: str
    own: frozenset[str]


TOURNAMENT: Final = RunKind(
    noun="tournament",
    file_name="tournament.sqlite",
    schema=4,
    application_id=0x6D696169,  # miai
    begin="miai tournament run CONFIG --out",
    busy="see `miai tournament status {folder}`, or end it with `miai tournament stop {folder}`",
    own=frozenset({"lock", "stop", "pause", "logs", "records", "store.json.new", "exploit"}),
)

COMPARISON: Final = RunKind(
    noun="comparison",
    file_name="comparison.sqlite",
    schema=3,
    application_id=0x6D696163,  # miac
    begin="miai compare CONFIG --out",
    busy="wait for it to end, or stop it with Ctrl-C in its terminal",
    own=frozenset({"lock"}),
)

EXPLOIT: Final = replace(
    COMPARISON,
    noun="measurement of exploitability",
    file_name="answers.jsonl",
    begin="miai exploit CONFIG --out",
)

_FOLDERS: Final = (LOGS, "records", "report", "report/replays", "report/csv")
_FILES: Final = (LOCK, STOP, PAUSE, ADDRESS_FILE, DRAFT_FILE)


def refuse_links(folder: Path, *, kind: RunKind = TOURNAMENT) -> None:
    """Raise `StoreError` if writing to a folder that somebody else made would write elsewhere.

    A store has no journal, from which SQLite would restore or remove files, but a write-ahead log.
    """
    stores = [f"{kind.file_name}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")]
    for path in (folder / name for name in (*_FOLDERS, *_FILES, *stores)):
        bad = path.exists() if path.name == stores[-1] else path.name in _FILES and path.is_fifo()
        linked = path.name == LOCK and path.is_file() and path.stat().st_nlink > 1
        if bad or linked or path.is_symlink():
            raise StoreError(f"{path}: is not miai's and would lead elsewhere; remove it")


def refuse_foreign(folder: Path, *, kind: RunKind = TOURNAMENT) -> None:
    """Raise `StoreError` if a folder contains other files and no store."""
    with reading(folder, StoreError):
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder}: is a file; choose another folder with --out")
        paths = list(folder.iterdir()) if folder.exists() else []
        names = {path.name for path in paths if not path.match(DRAFT_PATTERN)}
    other = names - kind.own - {*draft_names(kind.file_name)}
    if kind.file_name not in names and ADDRESS_FILE not in names and other:
        raise StoreError(
            f"{folder}: contains other files ('{min(other)}') and no {kind.noun}; choose another "
            "folder with --out"
        )


class RunLock:
    """The right to run a tournament; the system releases it when the process ends.

    Attributes:
      folder: folder of the run.
      token: identifies this holder.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        self.token = secrets.token_hex(8)
        self._checked = 0.0
        self._requests: set[str] = set()
        self._identity = file_identity(folder / LOCK)
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "token": self.token}
        # The lock is the `flock`, which the system frees when the process dies, kill -9 included;
        # the content only tells others whom to ask.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)

    def stop_asked(self) -> bool:
        """Return whether this holder was asked to stop, checked a few times a second.

        Raises:
          StoreError: the lock was removed, so that this holder has it no longer.
        """
        return STOP in self._read_requests()

    def pause_asked(self) -> bool:
        """Return whether this holder is asked to pause. Raises as `stop_asked`."""
        return PAUSE in self._read_requests()

    def _read_requests(self) -> Collection[str]:
        if time.monotonic() - self._checked >= _STOP_SECONDS:
            self._checked = time.monotonic()
            # A lock on a deleted file protects nothing: another runner would lock a new one.
            if file_identity(self.folder / LOCK) != self._identity:
                raise StoreError(
                    f"{self.folder / LOCK}: was removed or replaced while the run was going on, "
                    "so another runner may have begun; see that only one is running, then resume"
                )
            self._requests = {
                name for name in (STOP, PAUSE) if _addressee(self.folder / name) == self.token
            }
        return self._requests


@contextmanager
def locked(folder: Path, *, kind: RunKind = TOURNAMENT) -> Iterator[RunLock]:
    """Hold the lock of a folder, which is created if necessary.

    Raises:
      StoreError: another process holds it, or the folder cannot be written.
    """
    descriptor = _descriptor(folder, kind)
    try:
        yield RunLock(folder, descriptor)
        # Requests are removed, the lock file is not: a process that waits for it would end up with
        # a lock on a deleted file.
        for name in (STOP, PAUSE):
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
    finally:
        os.close(descriptor)


@contextmanager
def locked_anew(folder: Path, *errors: type[BaseException]) -> Iterator[RunLock]:
    """Hold the lock of a folder in which a run begins, so that a refused run leaves nothing.

    On `MiaiError` or one of `errors`, a folder that did not exist before is removed with its lock,
    while the lock is held; it stays if it contains any other file.

    Raises `StoreError` as `locked`.
    """
    removal = removed_if_refused(folder, {LOCK}, *errors)
    with locked(folder) as lock, removal:
        yield lock


def _descriptor(folder: Path, kind: RunKind) -> int:
    """Return the lock file of a folder, opened and locked. Raises as `locked`."""
    for _ in range(_OPENINGS):
        with writing(folder, StoreError), suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder, kind=kind)
            descriptor = open_plain(folder / LOCK, os.O_RDWR | os.O_CREAT)
            with ExitStack() as stack:
                stack.callback(os.close, descriptor)
                _lock(descriptor, folder, kind)
                # Whoever had the lock may have been refused, and removed the folder with it.
                if os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat()):
                    stack.pop_all()
                    return descriptor
    raise StoreError(f"{folder}: is removed again and again by others; choose another folder")


def _lock(descriptor: int, folder: Path, kind: RunKind) -> None:
    """Take the lock, with a few attempts, because `runner_of` holds it for a moment."""
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
        f"{folder}: {_described(_holder(folder))} is running it; {kind.busy.format(folder=folder)}"
    )


def runner_of(folder: Path) -> str | None:
    """Return the process that runs the tournament of a folder, in words; None for none."""
    try:
        descriptor = open_plain(folder / LOCK, os.O_RDONLY)
    except OSError:
        return None
    try:
        # A shared lock fails only while a runner holds the exclusive one, and two that look at once
        # do not disturb each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _described(_holder(folder))
    finally:
        os.close(descriptor)
    return None


def ask(folder: Path, request: str) -> str | None:
    """Ask the runner of a folder to finish its games and end, or to begin none until `end_pause`.

    Returns the runner, in words. Returns None, and writes nothing, if nobody runs it.

    Args:
      request: `STOP` or `PAUSE`.

    Raises:
      StoreError: the folder cannot be written.
    """
    runner = runner_of(folder)
    if runner is None:
        return None
    with writing(folder, StoreError):
        # The request names its addressee, so one that comes too late does not stop the next run.
        write_text(folder / request, _holder(folder).get("token", ""))
    return runner


def end_pause(folder: Path) -> str | None:
    """End the pause of a runner. Returns its description, or None if no runner is paused.

    Raises:
      StoreError: the folder cannot be written.
    """
    runner = runner_of(folder)
    if runner is None or not is_paused(folder):
        return None
    with writing(folder, StoreError):
        (folder / PAUSE).unlink(missing_ok=True)
    return runner


def is_paused(folder: Path) -> bool:
    """Return whether the runner of a folder is asked to pause."""
    token = _holder(folder).get("token")
    return token is not None and _addressee(folder / PAUSE) == token


def _addressee(path: Path) -> str | None:
    """Return the token of the runner that a request addresses, or None without a request."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_TOKEN).decode()
    except (OSError, ValueError):
        return None


def _holder(folder: Path) -> dict[str, str]:
    try:
        values = json.loads((folder / LOCK).read_bytes())
        return {str(key): str(value) for key, value in values.items()}
    except (OSError, ValueError, AttributeError):  # the holder has not written its name yet
        return {}


def _described(holder: dict[str, str]) -> str:
    if "pid" not in holder:
        return "another process"
    return f"process {holder['pid']} on {holder.get('host', 'this machine')}"


FILE_NAME: Final = TOURNAMENT.file_name


def has_store(folder: Path) -> bool:
    """Return whether a folder has a tournament's store or the address of one."""
    return (folder / FILE_NAME).exists() or (folder / ADDRESS_FILE).exists()


def draft_names(name: str) -> list[str]:
    """Return the names of the files that a process may leave if it dies while creating a store."""
    return [f"{name}.new{suffix}" for suffix in ("", "-journal", "-wal", "-shm")]


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
