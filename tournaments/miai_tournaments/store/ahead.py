"""Reading a large file ahead.

The rows of a store that grew game by game are scattered over its file. Who asks for all of them
reads it page by page in another order than they lie in, and waits for the disk at each; the whole
file in its own order comes in a fraction of the time.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Final

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
