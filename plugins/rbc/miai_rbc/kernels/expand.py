"""The opponent's turn: all possible successors of the boards of a belief, listed by hash.

Successors are listed before they are written: each is a hash, the number of the board it comes
from, and the change. The upper bits of the hash sort them into *parts*. Equal boards are in the
same part, so parts can be shared among threads, and the boards of a part, stored close together
(`miai_rbc.kernels.parts`), stay in the cache while its list is processed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels import allocating
from miai_rbc.kernels.bits import U64, Int, Words, bit
from miai_rbc.kernels.board import EP_KEYS, NO_SQUARE, NOTHING, WORDS, ep_of
from miai_rbc.kernels.changes import change_of, hash_changed, read_board
from miai_rbc.kernels.moves import MAX_MOVES, taken_moves

_NONE, _ONE = np.uint64(0), np.uint64(1)
_SPREAD = np.uint64(0x2545F4914F6CDD1D)
_UPPER = np.uint64(0xFFFFFFFF00000000)


@allocating
def count_successors(boards: Words, captured: Int) -> Int:
    """Return the number of successors of boards, repetitions included."""
    moves = np.empty(MAX_MOVES, np.int64)
    targets, quiet = _NONE if captured == NO_SQUARE else bit(captured), captured == NO_SQUARE
    total: Int = 0
    for i in range(len(boards)):
        total += taken_moves(boards[i], targets, quiet, moves) + quiet
    return total


@allocating
def shuffle(boards: Words, seed: np.uint64) -> None:
    """Put boards in random order, in place, drawn by a 64-bit generator (xorshift64*)."""
    state = seed | _ONE
    row = np.empty(WORDS, np.uint64)
    for i in range(len(boards) - 1, 0, -1):
        state ^= state >> U64(12)
        state ^= state << U64(25)
        state ^= state >> U64(27)
        upper = (state * _SPREAD) >> U64(32)
        j = np.int64((upper * U64(i + 1)) >> U64(32))
        for word in range(WORDS):
            row[word] = boards[i, word]
            boards[i, word] = boards[j, word]
            boards[j, word] = row[word]


@allocating
def list_successors(
    boards: Words,
    first: Int,
    end: Int,
    captured: Int,
    room: Int,
    heads: Words,
    changes: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> Int:
    """List the successors of boards while there is room; return the next board.

    Args:
      boards: (n, 8); those from `first` to `end` are expanded.
      captured: the square on which the opponent captured, -1 for none.
      room: maximum successors to list; a board whose successors would exceed it is left.
      heads: (parts, m) written: the upper half of the hash, and below it the number of the board;
        the number of parts is a power of two, m more than `MAX_MOVES`.
      changes: (parts, m) written: the changes.
      counts: (parts,) written: the lengths of the lists.
    """
    moves = np.empty(MAX_MOVES, np.int64)
    mailbox = np.empty(64, np.uint8)
    targets, quiet = _NONE if captured == NO_SQUARE else bit(captured), captured == NO_SQUARE
    parts, longest = len(heads), heads.shape[1] - MAX_MOVES
    shift = np.uint64(63 - np.int64(np.log2(parts)))
    listed: Int = 0
    full = False
    counts[:] = 0
    for i in range(first, end):
        b = boards[i]
        n = taken_moves(b, targets, quiet, moves)
        if full or listed + n + quiet > room:
            return i
        listed += n + quiet
        key = read_board(b, mailbox)
        bare = key ^ EP_KEYS[ep_of(b) + 1]
        if quiet:
            part = np.int64((bare >> shift) >> U64(1))
            at = counts[part]
            heads[part, at] = (bare & _UPPER) | U64(i)
            changes[part, at] = NOTHING
            counts[part] = at + 1
            full |= at >= longest
        for j in range(n):
            change = change_of(b, mailbox, moves[j])
            child = hash_changed(bare, b, change)
            part = np.int64((child >> shift) >> U64(1))
            at = counts[part]
            heads[part, at] = (child & _UPPER) | U64(i)
            changes[part, at] = change
            counts[part] = at + 1
            full |= at >= longest
    return end
