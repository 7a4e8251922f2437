"""Processors for agents.

They are claimed by locks on files, one for each processor, because the agents of one machine may
belong to several workers and tournaments. The system releases the locks of a process that ends.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import tempfile
from pathlib import Path


def available_processors() -> int:
    """Return the number of processors that this process may run on."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processors:
    """Processors claimed for one agent.

    When too few are unclaimed, or no locks can be made, they are shared.

    Args:
      count: how many.
      number: decides which are shared.

    Attributes:
      numbers: the processors.
    """

    def __init__(self, count: int, *, number: int) -> None:
        available = sorted(os.sched_getaffinity(0))
        self._locks: dict[int, int] = {}
        try:
            folder = _folder()
            for processor in available:
                if (
                    len(self._locks) < count
                    and (lock := _lock(folder / str(processor))) is not None
                ):
                    self._locks[processor] = lock
        except OSError:
            pass
        self.numbers = list(self._locks)
        if len(self.numbers) < count:
            self.release()
            first = number % len(available)
            self.numbers = (available[first:] + available[:first])[:count]

    def release(self) -> None:
        """Give them back. May be repeated."""
        while self._locks:
            os.close(self._locks.popitem()[1])


def _folder() -> Path:
    """Return this user's folder of locks. Raises `OSError` if it cannot be made or trusted."""
    folder = Path(tempfile.gettempdir(), f"miai-processors-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock, or None if another process holds it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
