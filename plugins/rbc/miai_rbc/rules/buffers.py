"""Reusable memory: large arrays whose pages were touched before.

The first touch of a fresh page costs far more than writing it: on some virtual machines 9
microseconds for 4 KiB, which would double the time of an expansion. So the memory of an array of
boards is passed on to the next. Each is a mapping of its own, which is lengthened in place and
keeps its touched pages (`mremap`, on Linux).
"""

from __future__ import annotations

import mmap
import threading
from collections import deque
from typing import Any

import numpy as np

from miai_rbc.kernels.bitboards import Words

_SMALL = 1 << 12  # words; smaller arrays are not pooled
_BYTES = 8


class BufferPool:
    """Hands out arrays, and reuses the memory of an array once its last view is gone.

    Attributes:
      limit: maximum words kept for later.
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
        """Return memory for `count` words; untouched pages cost nothing."""
        with self._lock:
            self._sort_in()
            # The shortest that is long enough, else the longest.
            long = [store for store in self._free if len(store) >= _BYTES * count]
            store = long[0] if long else (self._free[-1] if self._free else None)
            if store is not None:
                self._free = [other for other in self._free if other is not store]
        if store is None or not (len(store) >= _BYTES * count or _resized(store, _BYTES * count)):
            store = _mapped(_BYTES * count)
        return Lease(self, store, count)

    def give(self, store: mmap.mmap, used: int) -> None:
        """Take back memory whose first `used` words were touched.

        The garbage collector may call this at any point, so it must not wait for a lock.
        """
        self._returned.append((store, used))

    def _sort_in(self) -> None:
        """Move returned memory to the free list, dropping the shortest when there is too much."""
        while self._returned:
            store, used = self._returned.popleft()
            if _BYTES * used < len(store):
                _resized(store, _BYTES * max(1, used))
            self._free.append(store)
            self._free.sort(key=len)
            while sum(map(len, self._free)) > _BYTES * self.limit:
                self._free.pop(0)

    def clear(self) -> None:
        """Release all memory that was returned."""
        with self._lock:
            self._returned.clear()
            self._free.clear()

    def kept(self) -> int:
        """Return the words kept for later."""
        with self._lock:
            self._sort_in()
            return sum(map(len, self._free)) // _BYTES


class Lease:
    """Memory on loan, returned when neither the lease nor a view of it is left.

    Attributes:
      used: the number of words touched, from the first; only these are kept.
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
    """Return fresh memory, in huge pages if the system has them."""
    store = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        store.madvise(mmap.MADV_HUGEPAGE)
    return store


def _resized(store: mmap.mmap, size: int) -> bool:
    """Resize memory in place; return whether the system could."""
    try:
        store.resize(size)
    except (SystemError, OSError, ValueError):
        return False
    return True


POOL = BufferPool(limit=1 << 27)
"""The pool of this process: at most 1 GiB is kept."""
