"""Shard sets that several workers make part by part, and that a repeated command continues."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from miai.files import reading
from miai_go.errors import DataError
from miai_go.learning.data.shard_files import locked_set
from miai_go.learning.data.shards import (
    GAME_SHARDS,
    set_of_size,
    sets_in,
    shard_folders,
    write_shard,
)
from miai_go.learning.data.stored_games import StoredGame
from miai_go.rules.coordinates import MAX_SIZE

WorkerT = TypeVar("WorkerT")


class StoppedError(Exception):
    """Another worker failed."""


def make_shards(
    parts: Sequence[Path],
    make: Callable[[int, WorkerT, threading.Event], list[StoredGame]],
    workers: Sequence[WorkerT],
    *,
    settings: Mapping[str, Any],
    sources: tuple[str, ...],
    progress: Callable[[int], None] | None,
) -> int:
    """Write the missing shards of sets in order; return how many games were made now.

    Args:
      parts: the folder of each shard's set; a set has its shards in this order.
      make: returns the games of a shard by its number in `parts`; raises `StoppedError` once the
        event is set.
      workers: what makes the games, one for each thread; equal, so that any makes the same.
      settings: all that determines the games; a set with other settings is refused.
      sources: names of the games' sources, for the manifest.
      progress: called with the number of finished shards.

    Raises:
      DataError: a folder holds games of other settings, or other things; it cannot be written; or
        another process writes there.
      MiaiError: from `make`.
    """
    report = progress or (lambda _parts: None)
    # Taking from a list and appending to it are atomic, so the threads need no lock.
    free, stopped = list(workers), threading.Event()

    def made(part: int) -> list[StoredGame]:
        worker = free.pop()
        try:
            return make(part, worker, stopped)
        finally:
            free.append(worker)

    written = 0
    with ExitStack() as stack:
        missing = _missing(parts, settings, stack)
        report(len(parts) - len(missing))
        pool = stack.enter_context(ThreadPoolExecutor(len(workers)))
        ahead: deque[Future[list[StoredGame]]] = deque()
        try:
            for index, part in enumerate(missing):
                # Two parts for each worker are begun before the next one is written: enough to keep
                # all busy while a part is slow, and a bound on the games in memory.
                for begun in missing[index + len(ahead) : index + 2 * len(workers)]:
                    ahead.append(pool.submit(made, begun))
                games = ahead.popleft().result()
                write_shard(parts[part], games, sources=sources, settings=settings)
                written += len(games)
                report(len(parts) - len(missing) + index + 1)
        except BaseException:
            # Also after Ctrl-C: threads cannot be killed, so they look at the event between moves.
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return written


def _missing(parts: Sequence[Path], settings: Mapping[str, Any], locks: ExitStack) -> list[int]:
    """Lock the sets of all parts, or make them; return the parts that are not written yet."""
    finished = {out: _finished(out, settings, locks) for out in dict.fromkeys(parts)}
    missing = []
    for part, out in enumerate(parts):
        finished[out] -= 1
        if finished[out] < 0:
            missing.append(part)
    return missing


def _finished(out: Path, settings: Mapping[str, Any], locks: ExitStack) -> int:
    """Lock a set, or make one; return the number of its shards.

    Raises `DataError` if they do not fit, or another process has the lock.
    """
    check_new(out)
    locks.enter_context(locked_set(out))
    folders = shard_folders(out)
    if [int(folder.name) for folder in folders] != list(range(len(folders))):
        raise DataError(f"{out}: a shard is missing; delete the folder to start again")
    check_settings(folders, settings)
    return len(folders)


def check_new(out: Path) -> None:
    """Raise `DataError` if a folder without sets of games holds something else."""
    if not out.is_dir() or sets_in(out):
        return
    sets = {set_of_size(out, size).name for size in range(1, MAX_SIZE + 1)}  # still empty
    with reading(out, DataError):
        names = {entry.name for entry in out.iterdir() if entry.name[0] != "."}
    if others := sorted(names - sets):
        raise DataError(
            f"{out}: is not a set of games, it contains {others[0]}; name a new or an empty folder "
            "with --out"
        )


def check_settings(shards: Sequence[Path], settings: Mapping[str, Any]) -> None:
    """Raise `DataError` if shards were made with other settings, or cannot be read."""
    for folder in shards:
        before = GAME_SHARDS.read_manifest(folder).settings
        differing = [name for name, value in settings.items() if before.get(name) != value]
        if differing:
            raise DataError(
                f"{folder}: was made with other settings ({', '.join(differing)} differ); use "
                "another folder with --out"
            )
