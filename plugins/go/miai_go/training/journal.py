"""What a run tells while it goes on: a line on the terminal, a CSV file, TensorBoard's events."""

from __future__ import annotations

import csv
import fcntl
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self, TextIO

from miai_go.errors import TrainingError

_FILE: Final = "log.csv"
_EVENTS: Final = "events"
_LOCK: Final = "lock"

EVERY: Final = 15.0
"""Seconds between two lines of a `Ticker`."""


class Journal:
    """Writes figures by step; used in a ``with`` statement.

    ``log.csv`` has a row for every figure: step, name, value, seconds since 1970. A run that goes
    on from a checkpoint first drops the rows beyond it. TensorBoard's events are written where
    tensorboardX is installed. One process at a time has the journal of a folder.

    Args:
      folder: of the run.
      step: where the run begins or goes on.
      quiet: no lines on standard error.
    """

    def __init__(self, folder: Path, *, step: int = 0, quiet: bool = False) -> None:
        self._path = folder / _FILE
        self._out: TextIO | None = None if quiet else sys.stderr
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder / _LOCK)
            _drop_beyond(self._path, step)
            self._file = self._path.open("a", newline="", encoding="utf-8")
        except OSError as error:
            raise TrainingError(f"{folder}: cannot be written: {error.strerror}") from error
        self._events = _event_writer(folder / _EVENTS, step)
        self._rows = csv.writer(self._file)
        if self._file.tell() == 0:
            self._rows.writerow(["step", "name", "value", "time"])

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the files."""
        self._file.close()
        self._lock.close()
        if self._events is not None:
            self._events.close()

    def note(self, step: int, figures: Mapping[str, float], *, line: str = "") -> None:
        """Write figures of a step, and a line on the terminal."""
        now = time.time()
        for name, value in figures.items():
            self._rows.writerow([step, name, f"{value:.6g}", f"{now:.1f}"])
            if self._events is not None:
                self._events.add_scalar(name, value, step)
        self._file.flush()
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        """Write a line on the terminal."""
        if self._out is not None:
            print(line, file=self._out, flush=True)


class Ticker:
    """Says now and then how far something long has come; any thread may tell of it.

    Args:
      say: takes a line.
      what: is counted, in the plural.
      total: how many there will be.
    """

    def __init__(self, say: Callable[[str], None], what: str, total: int) -> None:
        self._say, self._what, self._total = say, what, total
        self._done = 0
        self._said = time.monotonic()
        self._lock = threading.Lock()

    def tick(self) -> None:
        """Count one more."""
        with self._lock:
            self._done += 1
            now = time.monotonic()
            if now - self._said >= EVERY:
                self._said = now
                self._say(f"  {self._done}/{self._total} {self._what}")


def _locked(path: Path) -> IO[bytes]:
    """Return the open file whose lock keeps other processes out, as long as it is open."""
    lock = path.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise TrainingError(
            f"{path.parent}: another process is training there; wait for it, or give another "
            "folder with --out"
        ) from None
    return lock


def _event_writer(folder: Path, step: int) -> Any:
    """Return TensorBoard's writer, or None where it is not installed."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step or None)


def _drop_beyond(path: Path, step: int) -> None:
    """Drop the rows of later steps, which will be made again."""
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    kept = rows[:1] + [r for r in rows[1:] if len(r) == len(rows[0]) and _within(r[0], step)]
    draft = path.with_suffix(".new")
    with draft.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(kept)
    draft.replace(path)


def _within(text: str, step: int) -> bool:
    return text.isdigit() and int(text) <= step
