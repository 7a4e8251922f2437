"""The opponent's turn: every board that one of a belief may have become, without repetitions.

In two steps, so that several threads can share the work. `list_successors` lists the successors of
some boards with their hashes, sorted by the part of the hash that says which thread keeps them.
`add_successors` enters those of one part into that thread's table. The places in the table and the
boards to compare with are asked for ahead, so that the waits for memory overlap; a successor is
written only where it is new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels import kernel
from miai_rbc.kernels.bits import U64, Int, Words, bit, prefetch
from miai_rbc.kernels.board import NO_SQUARE, NOTHING, WORDS, board_hash, hash_after, play
from miai_rbc.kernels.moves import MAX_MOVES, taken_moves
from miai_rbc.kernels.table import LOW, ONE, insert

_NONE = np.uint64(0)
_GROUP = 512  # successors that are looked up together
_PART, _8 = np.uint64(56), np.uint64(8)  # the bits of a hash from 56 on say whose a board is


@kernel
def count_successors(boards: Words, told: Int) -> Int:
    """Return the number of successors of boards, repetitions included."""
    moves = np.empty(MAX_MOVES, np.int32)
    wanted, quiet = _NONE if told == NO_SQUARE else bit(told), told == NO_SQUARE
    total: Int = 0
    for i in range(len(boards)):
        total += taken_moves(boards[i], wanted, quiet, moves) + quiet
    return total


@kernel
def list_successors(
    boards: Words,
    first: Int,
    told: Int,
    keys: Words,
    sources: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> Int:
    """List the successors of boards until a list is full; return the board to go on with.

    Args:
      boards: (n, 8); those from `first` on are expanded.
      told: the square on which the opponent captured, -1 for none.
      keys: (parts, m) written: hashes; m more than `MAX_MOVES`.
      sources: (parts, m, 2) written: the number of the board, and the move.
      counts: (parts,) written: the lengths of the lists.
    """
    moves = np.empty(MAX_MOVES, np.int32)
    wanted, quiet = _NONE if told == NO_SQUARE else bit(told), told == NO_SQUARE
    parts, room = U64(len(keys)), keys.shape[1] - MAX_MOVES
    counts[:] = 0
    for i in range(first, len(boards)):
        for part in range(len(keys)):
            if counts[part] > room:
                return i
        b = boards[i]
        n = taken_moves(b, wanted, quiet, moves)
        if quiet:
            moves[n] = NOTHING
            n += 1
        key = board_hash(b)
        for j in range(n):
            child = hash_after(key, b, np.int64(moves[j]))
            kept = np.int64(((child >> _PART) * parts) >> _8)
            at = counts[kept]
            keys[kept, at] = child
            sources[kept, at, 0] = i
            sources[kept, at, 1] = moves[j]
            counts[kept] = at + 1
    return len(boards)


@kernel
def add_successors(
    boards: Words,
    keys: Words,
    sources: NDArray[np.int32],
    out: Words,
    count: Int,
    table: Words,
) -> Int:
    """Add listed successors that are new to `out`; return the number of boards there.

    There must be room for all of them, in `out` and in `table`.

    Args:
      boards: (n, 8) the boards before the moves.
      keys, sources: (m,), (m, 2) one list of `list_successors`.
      out, count: the boards so far.
      table: theirs.
    """
    row = np.empty(WORDS, np.uint64)
    flat = out.reshape(-1)
    last = len(table) - 1
    for begin in range(0, len(keys), _GROUP):
        end = min(begin + _GROUP, len(keys))
        for j in range(begin, end):
            prefetch(table, np.int64(keys[j]) & last)
        for j in range(begin, end):
            entry = table[np.int64(keys[j]) & last]
            if entry:
                prefetch(flat, np.int64((entry & LOW) - ONE) * WORDS)
        for j in range(begin, end):
            play(boards[sources[j, 0]], np.int64(sources[j, 1]), row)
            count = insert(row, keys[j], out, count, table)
    return count
