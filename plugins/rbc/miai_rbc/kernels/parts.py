"""Sets of distinct boards in parts: listed successors are entered, and written where they are new.

All parts share one array of rows, of which each takes a block of `BLOCK` rows at a time, and have a
table each: open addressing, found by the lower bits of the upper half of a hash. An entry is that
half and, below, the row's number plus one; 0 is empty. Hashes that are the same there are compared
by their boards, word by word. Places in a table and boards to compare with are asked for ahead, so
that the waits for memory overlap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import prefetch
from miai_rbc.kernels import inlined, kernel
from miai_rbc.kernels.bits import U64, Int, Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.changes import write_changed

BLOCK = 256
"""Rows that a part takes at a time."""

_GROUP = 64  # successors that are looked up together
_LOW = np.uint64(0xFFFFFFFF)
_ONE, _EMPTY = np.uint64(1), np.uint64(0)
_32 = np.uint64(32)


@inlined
def _is_new(tag: np.uint64, table: Words, out: Words, at: Int) -> bool:
    """Return whether no board of a part is the one in ``out[at]``; if so it is entered."""
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


@inlined
def _look_ahead(
    head: Words, begin: Int, until: Int, source: Words, target: Words, table: Words
) -> None:
    """Ask for the memory that some successors need: boards they come from, and may be equal to."""
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
    """Add the listed successors of every `step`-th part, from the `first` on, that are new.

    There must be room for all of them in the tables and in the free rows.

    Args:
      boards: (n, 8) the boards before the moves.
      heads, changes, counts: (lists, parts, m) twice, and (lists, parts): what
        `list_successors` wrote.
      out: (rows, 8) the boards so far.
      tables: (parts, size) uint64; the size is a power of two.
      sizes: (parts,) the number of boards of each part.
      ends: (parts,) the row that each part writes next, within a block of its own; -1 before its
        first block.
      free: (1,) the next block's first row. A thread takes every `step`-th block, as many as it
        needs.
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
    """Enter what (parts, size) tables hold into larger ones, which are empty."""
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
    """Move the last rows into gaps until the rows lie together; return their number.

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
