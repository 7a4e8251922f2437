"""Memory that is used again: large arrays whose pages were touched before.

The first touch of a page of fresh memory costs far more than writing it: on some virtual machines
9 microseconds for 4 KiB, which would double the time of an expansion. So what an array of boards
leaves behind goes to the next one. Each is a mapping of its own: one that is too short is made
longer where it is, and its touched pages stay (`mremap`, on Linux).
"""

from __future__ import annotations

import mmap
import threading
from collections import deque
from typing import Any

import numpy as np

from miai_rbc.kernels.bits import Words

_SMALL = 1 << 12  # words; smaller arrays are not worth keeping
_BYTES = 8


class BufferPool:
    """Hands out arrays; when the last view of one is gone, its memory can be handed out again.

    Attributes:
      limit: most words kept for later.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free: list[mmap.mmap] = []
        self._returned: deque[tuple[mmap.mmap, int]] = deque()
        self._lock = threading.Lock()

    def take(self, count: int) -> Words:
        """Return an array of `count` words whose contents are undefined."""
        return np.empty(count, np.uint64) if count < _SMALL else self.lease(count).array()

    def lease(self, count: int) -> Lease:
        """Return memory for `count` words; what of it is not touched costs nothing."""
        with self._lock:
            self._sort_in()
            # The shortest that is long enough, else the longest.
            long = [store for store in self._free if len(store) >= _BYTES * count]
            store = long[0] if long else (self._free[-1] if self._free else None)
            if store is not None:
                self._free = [other for other in self._free if other is not store]
        if store is None or not _lengthened(store, _BYTES * count):
            store = _mapped(_BYTES * count)
        return Lease(self, store, count)

    def give(self, store: mmap.mmap, used: int) -> None:
        """Take back memory of which the first `used` words are worth keeping.

        It may be called in the middle of anything, by the garbage collector: it waits for nothing.
        """
        self._returned.append((store, used))

    def _sort_in(self) -> None:
        """Keep what was given back, the shortest first to go when it is too much."""
        while self._returned:
            store, used = self._returned.popleft()
            if _BYTES * used < len(store):
                _resized(store, _BYTES * max(1, used))
            self._free.append(store)
            self._free.sort(key=len)
            while sum(map(len, self._free)) > _BYTES * self.limit:
                self._free.pop(0)

    def clear(self) -> None:
        """Keep nothing of what was given back."""
        with self._lock:
            self._returned.clear()
            self._free.clear()

    def kept(self) -> int:
        """Return the words kept for later."""
        with self._lock:
            self._sort_in()
            return sum(map(len, self._free)) // _BYTES


class Lease:
    """Memory on loan; it goes back when neither the lease nor a view of it is left.

    Attributes:
      used: how many words, from the first, are worth keeping: those that were touched.
    """

    def __init__(self, pool: BufferPool, store: mmap.mmap, count: int) -> None:
        self._pool, self._store, self.used = pool, store, count
        words = np.frombuffer(store, np.uint64, count)
        self.__array_interface__: dict[str, Any] = dict(words.__array_interface__)

    def array(self) -> Words:
        """Return the words, (count,) uint64, writable; the array and its views hold the lease."""
        words: Words = np.asarray(self)
        return words

    def __del__(self) -> None:
        self._pool.give(self._store, self.used)


def _mapped(size: int) -> mmap.mmap:
    """Return fresh memory, in huge pages where the system has them."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    store = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        store.madvise(mmap.MADV_HUGEPAGE)
    return store


def _lengthened(store: mmap.mmap, size: int) -> bool:
    return len(store) >= size or _resized(store, size)


def _resized(store: mmap.mmap, size: int) -> bool:
    """Make memory longer or shorter where the system can; return whether it did."""
    try:
        store.resize(size)
    except (SystemError, OSError, ValueError):
        return False  # it stays as it is
    return True


POOL = BufferPool(limit=1 << 27)
"""The pool of this process: at most 1 GiB is kept."""
