"""Expanding a set of boards by the opponent's turn, with one thread or several.

In turns, all threads list the successors of some of their boards, sorted by hash into parts, then
each adds those of the parts that are its own. No two threads write the same thing. Without a limit
the same boards come out of any number of threads, in another order; with one, which boards there
is room for depends on that number too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels.bits import Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.expand import count_successors, list_successors
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.parts import BLOCK, add_listed, close_gaps, move_tables
from miai_rbc.memory import POOL

_T = TypeVar("_T")

_LISTED = 1 << 18  # successors that a thread lists at a time
_PART = 1 << 14  # successors for each of which there is a part
_MOST_PARTS = 64
_WORTH_THREADS = 100_000  # successors; with fewer, threads cost more than they gain
_FULL = 0.7  # of a table
_SPARE = 1.1  # blocks of several threads that are taken unevenly
_FEW = 1 << 20  # successors; for fewer, tables have room at once
_REPEATED = 4  # of many, how many are usually one board


def count_rows(rows: Words, told: int, *, threads: int = 1) -> int:
    """Return the number of successors of boards, repetitions included; arguments as below."""
    if len(rows) < _WORTH_THREADS // MAX_MOVES:
        return int(count_successors(rows, told))
    parts = np.array_split(rows, threads)
    return sum(_each(lambda thread: int(count_successors(parts[thread], told)), threads))


def expand_rows(
    rows: Words, told: int, total: int, *, limit: int | None = None, threads: int = 1
) -> tuple[Words, list[slice]]:
    """Return the distinct successors of boards, and which boards there was no room for.

    Args:
      rows: (n, 8) distinct boards with the opponent to move.
      told: the square on which the opponent captured, -1 for none.
      total: their successors, repetitions included.
      limit: most successors; None for no limit. Each thread expands boards of its own in their
        order until the successors of the next might be too many.
    """
    expansion = Expansion(rows, told, total, limit, threads if total > _WORTH_THREADS else 1)
    expansion.run()
    return expansion.result(), expansion.left()


class Expansion:
    """One expansion while it goes on.

    Attributes:
      threads: how many do it.
    """

    def __init__(self, rows: Words, told: int, total: int, limit: int | None, threads: int) -> None:
        self._rows, self._told, self._limit, self.threads = rows, told, limit, threads
        parts = 1 << max(0, min(_MOST_PARTS, total // _PART).bit_length() - 1)
        self._parts = max(parts, 1 << (threads - 1).bit_length())
        # The lists, of every thread and part.
        most = min(_LISTED, total)
        room = most // self._parts + 4 * int((most / self._parts) ** 0.5) + 2 * MAX_MOVES
        shape = (threads, self._parts, room)
        words = threads * self._parts * room
        self._heads = POOL.take(words).reshape(shape)
        self._changes = POOL.take((words + 1) // 2).view(np.int32)[:words].reshape(shape)
        self._counts = np.zeros((threads, self._parts), np.int64)
        # What is found. Rows that are not reached are never touched and cost nothing.
        found = total if limit is None else min(total, limit)
        self._lease = POOL.lease(WORDS * int(_SPARE * found + self._ahead(most)))
        self._out = self._lease.array().reshape(-1, WORDS)
        likely = found if found < _FEW else max(_FEW, found // _REPEATED)
        self._tables = _tables(self._parts, likely / self._parts)
        self._sizes = np.zeros(self._parts, np.int64)
        self._ends = np.full(self._parts, -1, np.int64)
        self._free = BLOCK * np.arange(threads)  # the next block of each thread
        bounds = np.linspace(0, len(rows), threads + 1).astype(int).tolist()
        self._at, self._until = bounds[:-1], bounds[1:]

    # -- turns ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Expand all boards, or as many as the limit allows."""
        while self._at != self._until:
            _each(self._list, self.threads)
            if not self._counts.any() and self._limit is not None:
                break
            self._make_room()
            _each(self._add, self.threads)

    def _list(self, thread: int) -> None:
        most = _LISTED
        if self._limit is not None:
            most = min(most, (self._limit - self._count()) // self.threads)
        self._at[thread] = int(
            list_successors(
                self._rows,
                self._at[thread],
                self._until[thread],
                self._told,
                most,
                self._heads[thread],
                self._changes[thread],
                self._counts[thread],
            )
        )

    def _make_room(self) -> None:
        listed = self._counts.sum(axis=0)
        need = int((self._sizes + listed).max())
        if need > _FULL * self._tables.shape[1]:
            larger = _tables(self._parts, need)
            move_tables(self._tables, larger)
            self._tables = larger
        rows = int(self._free.max()) + self._ahead(int(listed.sum()))
        if rows > len(self._out):
            lease = POOL.lease(WORDS * 2 * rows)
            larger = lease.array().reshape(-1, WORDS)
            larger[: len(self._out)] = self._out
            self._lease, self._out = lease, larger

    def _ahead(self, listed: int) -> int:
        """Return the rows that adding so many successors may take, whosever they are."""
        return self.threads * (listed + 2 * BLOCK * (self._parts + 1))

    def _add(self, thread: int) -> None:
        add_listed(
            self._rows,
            self._heads,
            self._changes,
            self._counts,
            thread,
            self.threads,
            self._out,
            self._tables,
            self._sizes,
            self._ends,
            self._free[thread : thread + 1],
        )

    def _count(self) -> int:
        return int(self._sizes.sum())

    # -- the end --------------------------------------------------------------------------------

    def result(self) -> Words:
        """Return the boards found, in rows of their own."""
        top = int(self._free.max())
        free = (range(begin, top, BLOCK * self.threads) for begin in self._free.tolist())
        gaps = [(begin, begin + BLOCK) for blocks in free for begin in blocks]
        gaps += [(e, (e // BLOCK + 1) * BLOCK) for e in self._ends.tolist() if e >= 0]
        self._lease.used = WORDS * top
        return self._out[
            : int(close_gaps(self._out, np.array(sorted(gaps), np.int64).reshape(-1, 2), top))
        ]

    def left(self) -> list[slice]:
        """Return the boards that were not expanded."""
        ranges = zip(self._at, self._until, strict=True)
        return [slice(at, until) for at, until in ranges if at < until]


def _each(call: Callable[[int], _T], threads: int) -> list[_T]:
    """Call once for each thread, for the first in the caller's own: one less is to be woken up."""
    others = [_pool(threads - 1).submit(call, thread) for thread in range(1, threads)]
    return [call(0), *(other.result() for other in others)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "miai-rbc-expansion")


def _tables(parts: int, boards: float) -> NDArray[np.uint64]:
    """Return empty tables with room for so many boards in each part."""
    size = 1 << max(10, int(boards / _FULL).bit_length())
    tables = POOL.take(parts * size).reshape(parts, size)
    tables[:] = 0
    return tables


def rows_of(rows: Words, ranges: Sequence[slice]) -> Words:
    """Return the rows of some ranges, copied together."""
    return np.concatenate([rows[:0], *(rows[part] for part in ranges)])
