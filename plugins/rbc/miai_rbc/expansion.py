"""Expanding a set of boards by the opponent's turn, with one thread or several.

Each thread owns a part of the hashes and keeps the boards of that part in a table of its own. In
turns, all threads list successors of some boards, then each adds those of its part.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np

from miai_rbc.kernels.bits import Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.expand import add_successors, count_successors, list_successors
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.table import rebuild
from miai_rbc.memory import POOL

_LIST = 1 << 15  # successors that a list holds, in each thread and part
_MANY = 4_000_000  # successors; of fewer, room is made for all at once
_REPEATED = 4  # of many, how many are usually one board
_WORTH_THREADS = 100_000  # successors; with fewer, threads cost more than they gain
_FULL = 0.7  # of a table
_FEW = 1024


def expand_rows(
    rows: Words, told: int, *, limit: int | None = None, threads: int = 1
) -> tuple[Words, int]:
    """Return the distinct successors of boards and the number of boards that were expanded.

    Args:
      rows: (n, 8) distinct boards with the opponent to move, in the order of their expansion.
      told: the square on which the opponent captured, -1 for none.
      limit: most successors; boards whose successors would exceed it are left, whole; None for
        no limit.
    """
    total = int(count_successors(rows, told))
    expected = total if total < _MANY else max(_MANY, total // _REPEATED)
    if limit is not None:
        expected = min(expected, limit)
    workers = threads if total > _WORTH_THREADS else 1
    expansion = _Expansion(rows, told, expected, workers)
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        done = expansion.run(limit, pool)
    return expansion.result(), done


class _Part:
    """The boards that one thread keeps."""

    def __init__(self, expected: int) -> None:
        self.count = 0
        self.rows = _rows(max(expected, _FEW))
        self.table = _table(expected)

    def make_room(self, more: int, done: float) -> None:
        """Make room for so many boards more.

        Args:
          done: share of the boards expanded so far; repetitions grow with it, so that in
            proportion to it there will be no more boards than now.
        """
        need = self.count + more
        if need <= min(len(self.rows), _FULL * len(self.table)):
            return
        expected = min(2 * need, max(need, int(need / done) + _FEW))
        if need > len(self.rows):
            larger = _rows(expected)
            larger[: self.count] = self.rows[: self.count]
            self.rows = larger
        if need > _FULL * len(self.table):
            self.table = _table(expected)
            rebuild(self.rows[: self.count], self.table)


class _Expansion:
    def __init__(self, rows: Words, told: int, expected: int, threads: int) -> None:
        self._rows, self._told, self._threads = rows, told, threads
        self._parts = [_Part(expected // threads) for _ in range(threads)]
        shape = (threads, threads, min(_LIST, MAX_MOVES * (len(rows) + 1)) + MAX_MOVES)
        words = threads * threads * shape[2]
        self._keys = POOL.take(words)[:words].reshape(shape)
        self._sources = POOL.take(words)[:words].view(np.int32).reshape(*shape, 2)
        self._counts = np.zeros((threads, threads), np.int64)
        self._done = 0.0

    def run(self, limit: int | None, pool: ThreadPoolExecutor | None) -> int:
        """Expand; return the number of boards done."""
        bounds = np.linspace(0, len(self._rows), self._threads + 1).astype(int)
        if limit is not None:
            return self._run_to_limit(limit, pool)
        begins, ends = bounds[:-1].tolist(), bounds[1:].tolist()
        at = begins.copy()

        def list_some(thread: int) -> None:
            at[thread] = self._list(thread, at[thread], ends[thread])

        while any(begin < end for begin, end in zip(at, ends, strict=True)):
            _each(pool, list_some, self._threads)
            self._done = (sum(at) - sum(begins)) / len(self._rows)
            _each(pool, self._add, self._threads)
        return len(self._rows)

    def _run_to_limit(self, limit: int, pool: ThreadPoolExecutor | None) -> int:
        """As `run`, in the order of the boards: one thread lists, all add."""
        at, end = 0, len(self._rows)
        self._counts[:] = 0
        while at < end:
            after = self._list(0, at, end)
            if self._count() + int(self._counts[0].sum()) > limit:
                return self._run_singly(at, limit)
            self._done = after / end
            _each(pool, self._add, self._threads)
            at = after
        return at

    def _run_singly(self, at: int, limit: int) -> int:
        """Expand board by board up to the limit."""
        for board in range(at, len(self._rows)):
            before = [part.count for part in self._parts]
            self._list(0, board, board + 1)
            self._done = (board + 1) / len(self._rows)
            _each(None, self._add, self._threads)
            if self._count() > limit:
                for part, count in zip(self._parts, before, strict=True):
                    part.count = count  # its table is not used again
                return board
        return len(self._rows)

    def _list(self, thread: int, first: int, end: int) -> int:
        after = list_successors(
            self._rows[:end],
            first,
            self._told,
            self._keys[thread],
            self._sources[thread],
            self._counts[thread],
        )
        return int(after)

    def _add(self, number: int) -> None:
        part = self._parts[number]
        part.make_room(int(self._counts[:, number].sum()), self._done)
        for thread in range(self._threads):
            listed = self._counts[thread, number]
            count = add_successors(
                self._rows,
                self._keys[thread, number, :listed],
                self._sources[thread, number, :listed],
                part.rows,
                part.count,
                part.table,
            )
            part.count = int(count)

    def _count(self) -> int:
        return sum(part.count for part in self._parts)

    def result(self) -> Words:
        """Return the boards found, in rows of their own."""
        first, *others = self._parts
        total = self._count()
        rows, begin = first.rows, first.count
        if total > len(rows):
            rows = _rows(total)
            rows[:begin] = first.rows[:begin]
        for part in others:
            rows[begin : begin + part.count] = part.rows[: part.count]
            begin += part.count
        return rows[:total]


def _each(pool: ThreadPoolExecutor | None, call: Callable[[int], None], count: int) -> None:
    """Call once for each thread, in the threads of the pool if there is one."""
    for _ in map(call, range(count)) if pool is None else pool.map(call, range(count)):
        pass


def _rows(count: int) -> Words:
    """Return room for at least so many boards."""
    words = POOL.take(WORDS * count)
    return words[: len(words) // WORDS * WORDS].reshape(-1, WORDS)


def _table(boards: int) -> Words:
    """Return an empty table with room for so many boards."""
    size = 1 << max(10, int(boards / _FULL).bit_length())
    table = POOL.take(size)[:size]
    table[:] = 0
    return table
