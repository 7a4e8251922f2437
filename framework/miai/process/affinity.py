"""Which processors an agent's process may run on, so that agents stay out of each other's way.

Processes of one machine know nothing of each other: they may belong to several workers, executors
or tournaments. So each takes a lock on the file of a group of processors; the system gives the lock
back when the process has ended, however that came.
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
    groups = [given[i : i + count] for i in range(0, len(given) - count + 1, count)] or [given]
    with contextlib.suppress(OSError):
        folder = _folder()
        for group in groups:
            if _lock(folder / "-".join(map(str, group))):
                return group
    return groups[os.getpid() % len(groups)]


def _folder() -> Path:
    """Return this user's folder of locks. Raises `OSError` where there can be none of its own."""
    shared = os.environ.get(SHARED_FOLDER) or tempfile.gettempdir()
    folder = Path(shared, f"miai-processors-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is somebody else's")
    return folder


def _lock(path: Path) -> bool:
    """Return whether a lock could be had. Raises `OSError` when there is no file to lock."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    _KEPT.append(descriptor)
    return True
