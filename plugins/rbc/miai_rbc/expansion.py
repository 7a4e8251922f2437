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

_LIST = 1 << 15  # successors that a list holds, in each thread and part
_REPEATED = 4  # successors that are usually one board
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
    expected = total // _REPEATED if limit is None else min(total // _REPEATED, limit)
    expansion = _Expansion(rows, told, expected, threads)
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        done = expansion.run(limit, pool)
    return expansion.result(), done


class _Part:
    """The boards that one thread keeps."""

    def __init__(self, expected: int) -> None:
        self.count = 0
        self.rows = np.empty((max(expected, _FEW), WORDS), np.uint64)
        self.table = np.zeros(_table_size(expected), np.uint64)

    def make_room(self, more: int) -> None:
        """Make room for so many boards more."""
        need = self.count + more
        if need > len(self.rows):
            # Of a large array the system moves the pages, not what is on them.
            self.rows.resize((need + need // 2, WORDS), refcheck=False)
        if need > _FULL * len(self.table):
            self.table = np.zeros(_table_size(need), np.uint64)
            rebuild(self.rows[: self.count], self.table)


class _Expansion:
    def __init__(self, rows: Words, told: int, expected: int, threads: int) -> None:
        self._rows, self._told, self._threads = rows, told, threads
        self._parts = [_Part(expected // threads) for _ in range(threads)]
        shape = (threads, threads, min(_LIST, MAX_MOVES * (len(rows) + 1)) + MAX_MOVES)
        self._keys = np.empty(shape, np.uint64)
        self._sources = np.empty((*shape, 2), np.int32)
        self._counts = np.zeros((threads, threads), np.int64)

    def run(self, limit: int | None, pool: ThreadPoolExecutor | None) -> int:
        """Expand; return the number of boards done."""
        bounds = np.linspace(0, len(self._rows), self._threads + 1).astype(int)
        if limit is not None:
            return self._run_to_limit(limit, pool)
        at, ends = bounds[:-1].tolist(), bounds[1:].tolist()

        def list_some(thread: int) -> None:
            at[thread] = self._list(thread, at[thread], ends[thread])

        while any(begin < end for begin, end in zip(at, ends, strict=True)):
            _each(pool, list_some, self._threads)
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
            _each(pool, self._add, self._threads)
            at = after
        return at

    def _run_singly(self, at: int, limit: int) -> int:
        """Expand board by board up to the limit."""
        for board in range(at, len(self._rows)):
            before = [part.count for part in self._parts]
            self._list(0, board, board + 1)
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
        part.make_room(int(self._counts[:, number].sum()))
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
        for part in self._parts:
            part.table = np.zeros(0, np.uint64)
        total = self._count()
        begin = first.count
        rows = first.rows
        rows.resize((total, WORDS), refcheck=False)
        for part in others:
            rows[begin : begin + part.count] = part.rows[: part.count]
            begin += part.count
            part.rows = np.zeros((0, WORDS), np.uint64)
        return rows


def _each(pool: ThreadPoolExecutor | None, call: Callable[[int], None], count: int) -> None:
    """Call once for each thread, in the threads of the pool if there is one."""
    for _ in map(call, range(count)) if pool is None else pool.map(call, range(count)):
        pass


def _table_size(boards: int) -> int:
    return 1 << max(10, int(boards / _FULL).bit_length())
