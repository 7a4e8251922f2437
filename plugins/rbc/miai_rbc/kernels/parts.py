"""Sets of distinct boards: rows, found by their hash in a table with open addressing.

A table's length is a power of two, and a board is found by the lower bits of the upper half of its
hash. An entry is that half and, below, the row's number plus one; 0 is empty. Boards with equal
halves are compared word by word.

A belief is expanded in parts, which share one array of rows. Each part takes a block of `BLOCK`
rows at a time and has a table of its own. Entries and boards to compare are prefetched, so that the
waits for memory overlap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import prefetch
from miai_rbc.kernels import inlined, kernel
from miai_rbc.kernels.bits import U64, Int, Words
from miai_rbc.kernels.board import WORDS, board_hash
from miai_rbc.kernels.changes import write_changed

BLOCK = 256
"""Rows that a part takes at a time."""

_GROUP = 64  # successors looked up together
_LOW = np.uint64(0xFFFFFFFF)
_ONE, _EMPTY = np.uint64(1), np.uint64(0)
_32 = np.uint64(32)


@inlined
def _is_new(tag: np.uint64, table: Words, out: Words, at: Int) -> bool:
    """Return whether the board in ``out[at]`` is new to a table; if so, enter it."""
    mask = len(table) - 1
    slot = np.int64(tag) & mask
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            table[slot] = tag << _32 | U64(at + 1)
            return True
        if entry >> _32 == tag:
            same = np.int64((entry & _LOW) - _ONE)
            differs = _EMPTY
            for word in range(WORDS):
                differs |= out[same, word] ^ out[at, word]
            if differs == _EMPTY:
                return False
        slot = (slot + 1) & mask


@kernel
def add_boards(boards: Words, out: Words, count: Int, table: Words) -> Int:
    """Add boards to the first `count` rows of `out` if they are new; return their number.

    `out` has room for all of them, and at least one row more than `count`.
    """
    for i in range(len(boards)):
        for word in range(WORDS):
            out[count, word] = boards[i, word]
        count += _is_new(board_hash(out[count]) >> _32, table, out, count)
    return count


@inlined
def _look_ahead(
    head: Words, begin: Int, until: Int, source: Words, target: Words, table: Words
) -> None:
    """Prefetch the boards that some successors come from, and those they may be equal to."""
    mask = len(table) - 1
    for j in range(begin, until):
        prefetch(table, np.int64(head[j] >> _32) & mask)
        prefetch(source, np.int64(head[j] & _LOW) * WORDS)
    for j in range(begin, until):
        entry = table[np.int64(head[j] >> _32) & mask]
        if entry:
            prefetch(target, np.int64((entry & _LOW) - _ONE) * WORDS)


@kernel
def add_listed(
    boards: Words,
    heads: Words,
    changes: NDArray[np.int32],
    counts: NDArray[np.int64],
    first: Int,
    step: Int,
    out: Words,
    tables: Words,
    sizes: NDArray[np.int64],
    ends: NDArray[np.int64],
    free: NDArray[np.int64],
) -> None:
    """Add the new ones of the listed successors of every `step`-th part, from the `first` on.

    The tables and the free rows must have room for all of them.

    Args:
      boards: (n, 8) the boards before the moves.
      heads, changes, counts: (lists, parts, m) twice, and (lists, parts): what
        `list_successors` wrote.
      out: (rows, 8) the boards so far.
      tables: (parts, size) uint64; the size is a power of two.
      sizes: (parts,) the number of boards of each part.
      ends: (parts,) the row that each part writes next, within a block of its own; -1 before its
        first block.
      free: (1,) the next block's first row. A thread takes every `step`-th block.
    """
    source, target = boards.reshape(-1), out.reshape(-1)
    for part in range(first, heads.shape[1], step):
        table, end, size = tables[part], ends[part], sizes[part]
        for number in range(len(heads)):
            listed = counts[number, part]
            if listed and end < 0:
                end = free[0]
                free[0] += BLOCK * step
            head, change = heads[number, part], changes[number, part]
            for begin in range(0, listed, _GROUP):
                until = min(begin + _GROUP, listed)
                _look_ahead(head, begin, until, source, target, table)
                for j in range(begin, until):
                    tag = head[j] >> _32
                    write_changed(boards[np.int64(head[j] & _LOW)], np.int64(change[j]), out, end)
                    if not _is_new(tag, table, out, end):
                        continue
                    size += 1
                    end += 1
                    if end % BLOCK == 0:
                        end = free[0]
                        free[0] += BLOCK * step
        ends[part], sizes[part] = end, size


@kernel
def move_tables(tables: Words, larger: Words) -> None:
    """Copy the entries of (parts, size) tables into larger, empty ones."""
    mask = larger.shape[1] - 1
    for part in range(len(tables)):
        for entry in tables[part]:
            if entry:
                slot = np.int64(entry >> _32) & mask
                while larger[part, slot]:
                    slot = (slot + 1) & mask
                larger[part, slot] = entry


@kernel
def close_gaps(out: Words, gaps: NDArray[np.int64], top: Int) -> Int:
    """Move the last rows into gaps until the rows are contiguous; return their number.

    Args:
      out: (rows, 8) changed.
      gaps: (m, 2) the first row of each gap and the row after it, in order; used up.
      top: the row after the last.
    """
    first, last = 0, len(gaps) - 1
    while first <= last:
        if gaps[last, 1] >= top:
            top = gaps[last, 0]
            last -= 1
            continue
        top -= 1
        for word in range(WORDS):
            out[gaps[first, 0], word] = out[top, word]
        gaps[first, 0] += 1
        first += gaps[first, 0] == gaps[first, 1]
    return top
