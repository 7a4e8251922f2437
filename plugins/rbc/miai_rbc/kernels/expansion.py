"""Expanding a belief by the opponent's turn, into a set of distinct boards.

Successors are listed before they are written: each is a hash, the number of the board it comes
from, and its *change*. The upper bits of the hash sort them into *parts*. Equal boards are in the
same part, so parts can be shared among threads, and the boards of a part, stored close together,
stay in the cache while its list is processed. A change holds what both need: bits 0 to 5 the square
from, 6 to 11 the square to, 12 to 14 the piece placed there, 15 to 17 the piece that leaves, 18 to
20 the piece captured (6 for none), bit 21 for castling and en passant, bit 22 for a pawn's double
step. `NOTHING` is 0, which no move makes: a pawn on a1 that captures a pawn on a1.

Boards are rows, found by their hash in a table with open addressing. A table's length is a power of
two, and a board is found by the lower bits of the upper half of its hash. An entry is that half
and, below, the row's number plus one; 0 is empty. Boards with equal halves are compared word by
word. The parts share one array of rows. Each takes a block of `BLOCK` rows at a time and has a
table of its own. Entries and boards to compare are prefetched, so that the waits for memory
overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, prefetch
from miai_rbc.kernels import allocating, inlined, kernel
from miai_rbc.kernels.bitboards import U64, Int, Words, bit
from miai_rbc.kernels.board import (
    EP_KEYS,
    EP_SHIFT,
    KEPT_RIGHTS,
    KINGS,
    NO_SQUARE,
    NOTHING,
    PAWNS,
    PIECE_KEYS,
    RIGHTS_KEYS,
    RIGHTS_SHIFT,
    ROOKS,
    STATE,
    WHITE,
    WORDS,
    board_hash,
    ep_after,
    ep_of,
    rights_of,
    turn_of,
)
from miai_rbc.kernels.moves import MAX_MOVES, taken_moves
from miai_rbc.kernels.vision import shows

# -- moves and what they change --------------------------------------------------------------------

NO_PASS = -2
"""In place of the captured square: the opponent captured nothing, and cannot have passed."""
EMPTY = 6
"""The type of an empty square on a mailbox."""

Mailbox = NDArray[np.uint8]

_NONE, _ONE = np.uint64(0), np.uint64(1)
_SPECIAL, _DOUBLE = 1 << 21, 1 << 22
_KEYS = np.concatenate([PIECE_KEYS, np.zeros((2, 1, 64), np.uint64)], axis=1)  # nothing is 0


@inlined
def read_board(b: Words, mailbox: Mailbox) -> np.uint64:
    """Write the piece type on each square, 0 to 5 or `EMPTY`; return the board's hash."""
    mailbox[:] = EMPTY
    key: np.uint64 = RIGHTS_KEYS[rights_of(b)] ^ EP_KEYS[ep_of(b) + 1]
    white = b[WHITE]
    for kind in range(6):
        remaining = b[kind]
        while remaining:
            square = lowest(remaining)
            remaining &= remaining - _ONE
            mailbox[square] = kind
            key ^= PIECE_KEYS[1 - np.int64((white >> U64(square)) & _ONE), kind, square]
    return key


@inlined
def change_of(b: Words, mailbox: Mailbox, move: Int) -> Int:
    """Return the change of a taken move other than `NOTHING`."""
    start, end, becomes = move & 63, (move >> 6) & 63, move >> 12
    kind, captured = np.int64(mailbox[start]), np.int64(mailbox[end])
    final_kind = becomes if becomes else kind
    change = (move & 4095) | final_kind << 12 | kind << 15 | captured << 18
    if kind == PAWNS:
        if end == ep_of(b):
            change |= _SPECIAL
        elif abs(end - start) == 16:
            change |= _DOUBLE
    elif kind == KINGS and abs(end - start) == 2:
        change |= _SPECIAL
    return change


@inlined
def hash_changed(key: np.uint64, b: Words, change: Int) -> np.uint64:
    """Return the hash after a change other than `NOTHING`.

    Args:
      key: the hash of the board before, without its en passant square.
    """
    # XOR of keys moves pieces; `_KEYS` is 0 for nothing, which saves the question whether something
    # was captured.
    turn, rights = turn_of(b), rights_of(b)
    start, end, final_kind = change & 63, (change >> 6) & 63, (change >> 12) & 7
    kind, captured = (change >> 15) & 7, (change >> 18) & 7
    key ^= _KEYS[turn, kind, start] ^ _KEYS[turn, final_kind, end] ^ _KEYS[turn ^ 1, captured, end]
    if rights:
        castling = np.int64(U64(rights) & KEPT_RIGHTS[start] & KEPT_RIGHTS[end])
        key ^= RIGHTS_KEYS[rights] ^ RIGHTS_KEYS[castling]
    # Both flags are above all other bits, so most changes pass one comparison.
    if change >= _SPECIAL:
        if change & _DOUBLE:
            key ^= EP_KEYS[ep_after(b, turn, start, end)]
        elif kind == PAWNS:
            key ^= PIECE_KEYS[turn ^ 1, PAWNS, end - 8 if turn == 0 else end + 8]
        else:
            rook_from = end + 1 if end > start else end - 2
            key ^= PIECE_KEYS[turn, ROOKS, rook_from] ^ PIECE_KEYS[turn, ROOKS, (start + end) // 2]
    return key


@inlined
def write_changed(b: Words, change: Int, out: Words, row: Int) -> None:
    """Write the board after a change to ``out[row]``."""
    turn = turn_of(b)
    for word in range(STATE):
        out[row, word] = b[word]
    if change == NOTHING:
        out[row, STATE] = U64(turn ^ 1) | U64(rights_of(b)) << RIGHTS_SHIFT
        return
    start, end, final_kind = change & 63, (change >> 6) & 63, (change >> 12) & 7
    kind, captured = (change >> 15) & 7, (change >> 18) & 7
    from_bit, to_bit = bit(start), bit(end)
    # Without branches as far as possible: changes of all kinds follow each other.
    out[row, captured] &= ~to_bit  # without a capture this is White's word, set below
    out[row, kind] &= ~from_bit
    out[row, final_kind] |= to_bit
    white = b[WHITE] & ~(from_bit | to_bit)
    if turn == 0:
        white |= to_bit
    ep: Int = 0
    if change >= _SPECIAL:
        if change & _DOUBLE:
            ep = ep_after(b, turn, start, end)
        elif kind == PAWNS:
            victim = bit(end - 8 if turn == 0 else end + 8)
            out[row, PAWNS] &= ~victim
            white &= ~victim
        else:
            rook_from = bit(end + 1 if end > start else end - 2)
            rook_to = bit((start + end) // 2)
            out[row, ROOKS] = (out[row, ROOKS] & ~rook_from) | rook_to
            if turn == 0:
                white = (white & ~rook_from) | rook_to
    out[row, WHITE] = white
    rights = U64(rights_of(b)) & KEPT_RIGHTS[start] & KEPT_RIGHTS[end]
    out[row, STATE] = U64(turn ^ 1) | rights << RIGHTS_SHIFT | U64(ep) << EP_SHIFT


# -- listing successors ----------------------------------------------------------------------------

_SPREAD = np.uint64(0x2545F4914F6CDD1D)
_UPPER = np.uint64(0xFFFFFFFF00000000)


@allocating
def count_successors(boards: Words, captured: Int) -> Int:
    """Return the number of successors of boards, repetitions included."""
    moves = np.empty(MAX_MOVES, np.int64)
    targets, quiet = _NONE if captured < 0 else bit(captured), bool(captured < 0)
    passes = captured == NO_SQUARE
    total: Int = 0
    for i in range(len(boards)):
        total += taken_moves(boards[i], targets, quiet, moves) + passes
    return total


@allocating
def shuffle(boards: Words, seed: np.uint64) -> None:
    """Put boards in random order, in place, drawn by a 64-bit generator (xorshift64*)."""
    # 0 would stay 0.
    state = seed | _ONE
    row = np.empty(WORDS, np.uint64)
    for i in range(len(boards) - 1, 0, -1):
        state ^= state >> U64(12)
        state ^= state << U64(25)
        state ^= state >> U64(27)
        # A multiplication maps 32 random bits to 0 to i, without a division (Lemire 2019).
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
      captured: the square on which the opponent captured, -1 for none, `NO_PASS` for none where
        players cannot pass.
      room: maximum successors to list; a board whose successors would exceed it is left.
      heads: (parts, m) written: the upper half of the hash, and below it the number of the board;
        the number of parts is a power of two, m more than `MAX_MOVES`.
      changes: (parts, m) written: the changes.
      counts: (parts,) written: the lengths of the lists.
    """
    moves = np.empty(MAX_MOVES, np.int64)
    mailbox = np.empty(64, np.uint8)
    targets, quiet = _NONE if captured < 0 else bit(captured), bool(captured < 0)
    passes = captured == NO_SQUARE
    parts, longest = len(heads), heads.shape[1] - MAX_MOVES
    # Shifted once more below: with one part that makes 64, which one shift cannot do.
    shift = np.uint64(63 - np.int64(np.log2(parts)))
    total: Int = 0
    full = False
    counts[:] = 0
    for i in range(first, end):
        b = boards[i]
        n = taken_moves(b, targets, quiet, moves)
        # A board is listed wholly or not at all, so that its successors are all known or none.
        if full or total + n + passes > room:
            return i
        total += n + passes
        key = read_board(b, mailbox)
        bare = key ^ EP_KEYS[ep_of(b) + 1]
        # Passing leaves the board as it is but for the en passant square.
        if passes:
            part = np.int64((bare >> shift) >> U64(1))
            end_of_list = counts[part]
            heads[part, end_of_list] = (bare & _UPPER) | U64(i)
            changes[part, end_of_list] = NOTHING
            counts[part] = end_of_list + 1
            # Checked after the fact: a list has room for all moves of one more board.
            full |= end_of_list >= longest
        for j in range(n):
            change = change_of(b, mailbox, moves[j])
            child = hash_changed(bare, b, change)
            part = np.int64((child >> shift) >> U64(1))
            end_of_list = counts[part]
            heads[part, end_of_list] = (child & _UPPER) | U64(i)
            changes[part, end_of_list] = change
            counts[part] = end_of_list + 1
            full |= end_of_list >= longest
    return end


# -- sets of distinct boards -----------------------------------------------------------------------

BLOCK = 256
"""Rows that a part takes at a time."""

_GROUP = 64  # successors looked up together
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


@inlined
def row_of(tag: np.uint64, table: Words, out: Words, row: Int) -> Int:
    """Return the row of the board in ``out[row]``: `row` if it is new to a table, which enters it.

    Args:
      tag: the upper half of the board's hash.
    """
    # The tag's upper bits chose the part, so its lower ones choose the slot.
    mask = len(table) - 1
    slot = np.int64(tag) & mask
    while True:
        entry = table[slot]
        if entry == _NONE:
            table[slot] = tag << _32 | U64(row + 1)
            return row
        if entry >> _32 == tag:
            same = np.int64((entry & _LOW) - _ONE)
            differs = _NONE  # no early exit: the loop becomes one comparison of vectors
            for word in range(WORDS):
                differs |= out[same, word] ^ out[row, word]
            if differs == _NONE:
                return same
        slot = (slot + 1) & mask


@kernel
def add_boards(boards: Words, out: Words, count: Int, table: Words) -> Int:
    """Add boards to the first `count` rows of `out` if they are new; return their number.

    `out` has room for all of them, and at least one row more than `count`.
    """
    for i in range(len(boards)):
        for word in range(WORDS):
            out[count, word] = boards[i, word]
        count += row_of(board_hash(out[count]) >> _32, table, out, count) == count
    return count


@inlined
def _look_ahead(
    head: Words, begin: Int, until: Int, source: Words, target: Words, table: Words
) -> None:
    """Prefetch the boards that some successors come from, and those they may be equal to."""
    # Two rounds: the first fetches entries, which the second reads to fetch the boards they name.
    mask = len(table) - 1
    for j in range(begin, until):
        prefetch(table, np.int64(head[j] >> _32) & mask)
        prefetch(source, np.int64(head[j] & _LOW) * WORDS)
    for j in range(begin, until):
        entry = table[np.int64(head[j] >> _32) & mask]
        if entry:
            prefetch(target, np.int64((entry & _LOW) - _ONE) * WORDS)


class Listed(NamedTuple):
    """What `list_successors` wrote, for each of several threads.

    Attributes:
      heads, changes: (lists, parts, m).
      counts: (lists, parts).
    """

    heads: Words
    changes: NDArray[np.int32]
    counts: NDArray[np.int64]


class Parts(NamedTuple):
    """The parts of a set.

    Attributes:
      tables: (parts, size) uint64; the size is a power of two.
      sizes: (parts,) the number of boards of each part.
      ends: (parts,) the row that each part writes next, within a block of its own; -1 before its
        first block.
      free: (threads,) the first row of each one's next block; it takes every `step`-th block.
    """

    tables: Words
    sizes: NDArray[np.int64]
    ends: NDArray[np.int64]
    free: NDArray[np.int64]


@kernel
def add_listed(
    boards: Words, listed: Listed, first: Int, step: Int, out: Words, parts: Parts, view: Words
) -> None:
    """Add the new ones of the listed successors of every `step`-th part, from the `first` on.

    The tables and the free rows must have room for all of them.

    Args:
      boards: (n, 8) the boards before the moves.
      out: (rows, 8) the boards so far.
      view: (VIEW,) what added boards show, or (0,).
    """
    heads, changes, counts = listed.heads, listed.changes, listed.counts
    tables, sizes, ends, free = parts.tables, parts.sizes, parts.ends, parts.free
    source, target = boards.reshape(-1), out.reshape(-1)
    for part in range(first, heads.shape[1], step):
        table, end, size = tables[part], ends[part], sizes[part]
        for number in range(len(heads)):
            count = counts[number, part]
            if count and end < 0:  # the part's first block
                end = free[first]
                free[first] += BLOCK * step
            head, change = heads[number, part], changes[number, part]
            for begin in range(0, count, _GROUP):
                until = min(begin + _GROUP, count)
                _look_ahead(head, begin, until, source, target, table)
                # Write each to the part's next row, which the next one overwrites if it is not new.
                for j in range(begin, until):
                    tag = head[j] >> _32
                    write_changed(boards[np.int64(head[j] & _LOW)], np.int64(change[j]), out, end)
                    if len(view) and not shows(out[end], view):
                        continue
                    if row_of(tag, table, out, end) != end:
                        continue
                    size += 1
                    end += 1
                    if end % BLOCK == 0:
                        end = free[first]
                        free[first] += BLOCK * step
        # A thread has its own parts and blocks, so that no two write the same rows.
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
        if gaps[last, 1] >= top:  # nothing lies behind the last gap: it ends the rows
            top = gaps[last, 0]
            last -= 1
            continue
        top -= 1
        for word in range(WORDS):
            out[gaps[first, 0], word] = out[top, word]
        gaps[first, 0] += 1
        first += gaps[first, 0] == gaps[first, 1]
    return top
