"""Memory that is used again: large arrays whose pages were touched before.

The first touch of a page of fresh memory costs far more than writing it: on some virtual machines
9 microseconds for 4 KiB, which would double the time of an expansion. So what an array of boards
leaves behind goes to the next one.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from miai_rbc.kernels.bits import Words

_SMALL = 1 << 12  # words; smaller arrays are not worth keeping
_MOST_TIMES = 16  # what is asked for is at most so many times smaller than what is given


class Pool:
    """Hands out arrays; when the last view of one is gone, its memory can be handed out again.

    Attributes:
      limit: most words kept for later.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free: list[Words] = []
        self._lock = threading.Lock()

    def take(self, count: int) -> Words:
        """Return an array of at least `count` words whose contents are undefined.

        It is longer where what is handed out again is: that may spare growing it.
        """
        if count < _SMALL:
            return np.empty(count, np.uint64)
        with self._lock:
            fitting = [s for s in self._free if count <= len(s) <= _MOST_TIMES * count]
            store = min(fitting, key=len, default=None)
            if store is not None:
                self._free = [other for other in self._free if other is not store]
        if store is None:
            store = np.empty(count, np.uint64)
        leased: Words = np.asarray(_Lease(self, store))
        return leased

    def give(self, store: Words) -> None:
        """Keep memory for later, the smallest pieces first to go when it is too much."""
        with self._lock:
            self._free.append(store)
            self._free.sort(key=len)
            while sum(map(len, self._free)) > self.limit:
                self._free.pop(0)

    def kept(self) -> int:
        """Return the words kept for later."""
        return sum(map(len, self._free))


class _Lease:
    """Owns the memory of an array for as long as a view of it lives."""

    def __init__(self, pool: Pool, store: Words) -> None:
        self._pool, self._store = pool, store
        self.__array_interface__: dict[str, Any] = dict(store.__array_interface__)

    def __del__(self) -> None:
        self._pool.give(self._store)


POOL = Pool(limit=1 << 27)
"""The pool of this process: at most 1 GiB is kept."""
