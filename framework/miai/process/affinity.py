"""Which processors an agent's process may run on, so that agents stay out of each other's way.

Processes of one machine know nothing of each other: they may belong to several workers, executors
or tournaments. So each takes locks on files, one for each processor; the system gives them back
when the process has ended, however that came.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from miai.process.spawning import SHARED_FOLDER

_KEPT: Final[list[int]] = []
"""Descriptors of the locks that this process holds until it ends."""


def take_processors(count: int) -> list[int]:
    """Return `count` processors for this process, and keep others from being given the same.

    When all are taken, or nobody can keep account of them, the process id decides, and processors
    are shared.
    """
    given = sorted(os.sched_getaffinity(0))
    locks: dict[int, int] = {}
    with contextlib.suppress(OSError):
        folder = _folder()
        for processor in given:
            lock = _lock(folder / str(processor))
            if lock is not None:
                locks[processor] = lock
            if len(locks) == count:
                _KEPT.extend(locks.values())
                return list(locks)
    for lock in locks.values():
        os.close(lock)
    first = os.getpid() % len(given)
    return (given[first:] + given[:first])[:count]


def _folder() -> Path:
    """Return this user's folder of locks. Raises `OSError` where there can be none of its own."""
    shared = os.environ.get(SHARED_FOLDER) or tempfile.gettempdir()
    folder = Path(shared, f"miai-processors-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is somebody else's")
    return folder


def _lock(path: Path) -> int | None:
    """Return what holds the lock, None where another does. Raises `OSError` without a file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
