"""A set of distinct boards: rows, found by their hash in a table with open addressing.

An entry of the table is the upper half of a hash and, below, the row's number plus one; 0 is empty.
The table's length is a power of two. Two boards with equal hashes are compared word by word.
"""

from __future__ import annotations

import numpy as np

from miai_rbc.kernels import allocating, inlined
from miai_rbc.kernels.bits import U64, Int, Words
from miai_rbc.kernels.board import WORDS, board_hash

LOW = np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)
_EMPTY = np.uint64(0)
_32 = np.uint64(32)


@inlined
def insert(row: Words, key: np.uint64, out: Words, count: Int, table: Words) -> Int:
    """Add a board to `out` if it is new; return the number of boards."""
    last = len(table) - 1
    slot = np.int64(key) & last
    tag = key >> _32 << _32
    while True:
        entry = table[slot]
        if entry == _EMPTY:
            for word in range(WORDS):
                out[count, word] = row[word]
            count += 1
            table[slot] = tag | U64(count)
            return count
        if (entry ^ tag) >> _32 == _EMPTY:
            at = np.int64((entry & LOW) - ONE)
            differs = _EMPTY
            for word in range(WORDS):
                differs |= out[at, word] ^ row[word]
            if differs == _EMPTY:
                return count
        slot = (slot + 1) & last


@allocating
def add_boards(boards: Words, out: Words, count: Int, table: Words) -> Int:
    """Add boards to `out` that are not there yet; return their number.

    `boards` may be the beginning of `out` itself: no row is overwritten before it is read.
    """
    row = np.empty(WORDS, np.uint64)
    for i in range(len(boards)):
        for word in range(WORDS):
            row[word] = boards[i, word]
        count = insert(row, board_hash(row), out, count, table)
    return count
