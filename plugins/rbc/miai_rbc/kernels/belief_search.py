"""Kernels of the search over beliefs on arrays of boards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import popcount
from miai_rbc.kernels import allocating, kernel, part
from miai_rbc.kernels.bits import NUMBER_0, U64, WIN, Int, Words, bit
from miai_rbc.kernels.board import KINGS, NOTHING, STATE, WHITE, WORDS, play, turn_of
from miai_rbc.kernels.engine import (
    ALPHA,
    BETA,
    DEPTH,
    INFINITE,
    LIMIT,
    NODES,
    QUIESCENCE,
    UNKNOWN,
    Frames,
    List,
    Memory,
    close_node,
    descend,
    fold_value,
    forget,
    next_move,
    open_node,
    plant,
)
from miai_rbc.kernels.moves import MAX_MOVES, capture_of, revise, taken_moves

# -- boards and their outcomes ---------------------------------------------------------------------

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

OVER = -2
"""The code of an observation that a king was captured, which ends the game."""

_ALL, _NONE, _ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), np.uint64(1)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_PIECES = np.array([100, 320, 330, 500, 950, 0], np.int64)


@kernel
def hash_boards(boards: Words, out: Words) -> None:
    """Write a 64-bit hash of all eight words of each board: (n,)."""
    for i in range(len(boards)):
        key = _NONE
        for word in range(WORDS):
            key = (key ^ boards[i, word]) + _STEP
            key = (key ^ (key >> _30)) * _FIRST
            key = (key ^ (key >> _27)) * _SECOND
            key ^= key >> _31
        out[i] = key


@allocating
def sense_outcomes(boards: Words, player: int, centre: int, out: Words) -> None:
    """Write the outcome of a sense on each board: nine codes of four bits.

    Args:
      player: the player that senses; its own pieces are the same on all boards and left out.
      out: (n,) written; 0 if no piece of the opponent is seen.
    """
    squares = np.empty(9, np.uint64)
    for i in range(9):
        squares[i] = bit(centre + 8 * (i // 3 - 1) + i % 3 - 1)
    for i in range(len(boards)):
        b = boards[i]
        theirs = b[WHITE] if player else ~b[WHITE]
        code = _NONE
        for k in range(6):
            pieces = b[k] & theirs
            if pieces == _NONE:
                continue
            for at in range(9):
                if pieces & squares[at]:
                    code |= U64(k + 1) << U64(4 * at)
        out[i] = code


@allocating
def count_replies(boards: Words, starts: Numbers) -> None:
    """Write the index of each board's first reply, a pass included: (n + 1,)."""
    moves = np.empty(MAX_MOVES, np.int64)
    starts[0] = 0
    for i in range(len(boards)):
        starts[i + 1] = starts[i] + taken_moves(boards[i], _ALL, True, moves) + 1


@allocating
def write_replies(boards: Words, starts: Numbers, out: Words, captures: Numbers) -> None:
    """Write every board after every move that its side to move can take, and after a pass.

    Args:
      boards, starts: (n, 8), (n + 1,) as `count_replies` wrote it.
      out: (starts[n], 8) written.
      captures: (starts[n],) written: the square of the capture, -1 for none, or `OVER`.
    """
    moves = np.empty(MAX_MOVES, np.int64)
    for i in range(len(boards)):
        b = boards[i]
        king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
        n = taken_moves(b, _ALL, True, moves)
        moves[n] = NOTHING
        for j in range(n + 1):
            at = starts[i] + j
            captures[at] = capture_of(b, moves[j])
            if captures[at] >= 0 and king & bit(captures[at]):
                captures[at] = OVER
            play(b, moves[j], out[at])


@kernel
def material(boards: Words, player: int, out: NDArray[np.float64]) -> None:
    """Write the material of each board in centipawns, for a player: (n,)."""
    for i in range(len(boards)):
        mine = ~boards[i, WHITE] if player else boards[i, WHITE]
        total = np.int64(0)
        for k in range(5):
            total += _PIECES[k] * (popcount(boards[i, k] & mine) - popcount(boards[i, k] & ~mine))
        out[i] = total


@kernel
def play_request(boards: Words, request: int, out: Words, codes: Numbers) -> None:
    """Write every board after a request as it turns out there.

    Args:
      out: (n, 8) written.
      codes: (n,) written: 128 times the move taken, plus the square of the capture or 64 for none;
        `OVER` if it captures the king.
    """
    for i in range(len(boards)):
        b = boards[i]
        king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
        taken = revise(b, request)
        square = capture_of(b, taken)
        codes[i] = 128 * taken + (64 if square < 0 else square)
        if square >= 0 and king & bit(square):
            codes[i] = OVER
        play(b, taken, out[i])


@kernel
def replace_own_pieces(boards: Words, own: Words, player: int, rights: int, out: Words) -> int:
    """Write boards with other own pieces, the opponent to move; return their number.

    Pieces of the opponent on the same squares are removed; boards without its king are left out.

    Args:
      own: (6,) the player's pieces by kind.
      rights: the player's castling rights, four bits.
      out: (n, 8) written.
    """
    mine = _NONE
    for k in range(6):
        mine |= own[k]
    castling_rights = U64(rights)
    theirs_mask = U64(3 if player else 12)
    count = 0
    for i in range(len(boards)):
        b = boards[i]
        theirs = (b[WHITE] if player else ~b[WHITE]) & ~mine
        if b[KINGS] & theirs == _NONE:
            continue
        white = b[WHITE] & theirs if player else mine
        for k in range(6):
            out[count, k] = (b[k] & theirs) | own[k]
        out[count, WHITE] = white
        castling = (b[STATE] >> _ONE) & theirs_mask | castling_rights
        out[count, STATE] = U64(player ^ 1) | castling << _ONE
        count += 1
    return count


@kernel
def remove_pieces(boards: Words, squares: np.uint64, turn: int) -> None:
    """Remove the pieces on some squares from all boards, and set the side to move, in place."""
    for i in range(len(boards)):
        for word in range(7):
            boards[i, word] &= ~squares
        boards[i, STATE] = (boards[i, STATE] & ~_ONE) & U64(0x1F) | U64(turn)


# -- values where the depth ends, and a table of them by hash --------------------------------------

_NO_LIMIT = 1 << 60


@part
def quiet_value(
    b: Words,
    alpha: Int,
    beta: Int,
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
) -> Int:
    """Return the value of a board by quiescence alone, for its side to move.

    A value inside the window is exact; at or beyond its ends it is a bound.

    Args:
      tree, frames, lists, memory, table: work space, as for `miai_rbc.kernels.engine`; memory has
        quiescence and no limit in nodes.
    """
    mine = ~b[WHITE] if turn_of(b) else b[WHITE]
    if b[KINGS] & mine == _NONE:
        return -WIN
    memory[NODES] = 0
    plant(tree, b, _NONE)
    frames[0, DEPTH], frames[0, ALPHA], frames[0, BETA] = 0, alpha, beta
    ply = NUMBER_0
    value = open_node(tree, frames, memory, table, ply)
    while True:
        while value != UNKNOWN or next_move(tree, frames, lists, memory, ply) == 0:
            if value == UNKNOWN:
                value = close_node(tree, frames, table, ply)
            if ply == 0:
                return value
            ply -= 1
            fold_value(tree, frames, memory, ply, -value)
            value = UNKNOWN
        descend(tree, frames, table, ply)
        ply += 1
        value = open_node(tree, frames, memory, table, ply)


@kernel
def quiet_values(
    boards: Words,
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
    values: Values,
) -> None:
    """Write the values of boards by quiescence alone, for their side to move: (n,).

    This is the quiescence of `miai_rbc.kernels.engine` at the root: stand pat or capture; if the
    king is attacked, try all moves; a king that can be captured is lost.

    Args:
      tree, frames, lists, memory, table: work space, as for `miai_rbc.kernels.engine`.
    """
    settle(memory)
    for i in range(len(boards)):
        values[i] = quiet_value(boards[i], -INFINITE, INFINITE, tree, frames, lists, memory, table)


@part
def settle(memory: Memory) -> None:
    """Prepare the memory of an engine for `quiet_value`."""
    forget(memory)
    memory[QUIESCENCE], memory[LIMIT] = 1, _NO_LIMIT


@kernel
def look_up(keys: Words, entries: Values, hashes: Words, out: Values) -> int:
    """Write the values in a table, NaN for missing ones; return the number of missing ones.

    Args:
      keys, entries: (m,) twice, m a power of two; key 0 is empty.
      hashes: (n,) of boards.
      out: (n,) written.
    """
    last, missing = len(keys) - 1, 0
    for i in range(len(hashes)):
        key = hashes[i] | _ONE
        slot = np.int64(hashes[i] >> U64(20)) & last
        while keys[slot] != _NONE and keys[slot] != key:
            slot = (slot + 1) & last
        if keys[slot] == key:
            out[i] = entries[slot]
        else:
            out[i] = np.nan
            missing += 1
    return missing


@kernel
def enter(keys: Words, entries: Values, hashes: Words, values: Values) -> int:
    """Enter values into a table with room for them; return the number of new ones."""
    last, fresh = len(keys) - 1, 0
    for i in range(len(hashes)):
        key = hashes[i] | _ONE
        slot = np.int64(hashes[i] >> U64(20)) & last
        while keys[slot] != _NONE and keys[slot] != key:
            slot = (slot + 1) & last
        fresh += keys[slot] == _NONE
        keys[slot], entries[slot] = key, values[i]
    return fresh


# -- beliefs as increasing numbers of boards of a layer --------------------------------------------


@kernel
def group(labels: Numbers, belief: Numbers, ends: Numbers, out: Numbers) -> None:
    """Sort boards by their labels, keeping their order within each.

    Args:
      labels: (n,) of all boards of the layer, from 0 on.
      belief: (m,) numbers of boards.
      ends: (labels,) zeros; written: the end of each label's boards.
      out: (m,) written.
    """
    for i in belief:
        ends[labels[i]] += 1
    at = 0
    for label in range(len(ends)):
        count = ends[label]
        ends[label] = at
        at += count
    for i in belief:
        label = labels[i]
        out[ends[label]] = i
        ends[label] += 1


@kernel
def least(column: Values, belief: Numbers, missing: Numbers) -> tuple[float, int, int]:
    """Return a belief's least known value, its board, and the number of unknown values.

    Args:
      column: (n,) values of the layer's boards, NaN if unknown.
      missing: (m,) written: the boards with unknown values.
    """
    worst, which, lacking = np.inf, -1, 0
    for i in belief:
        value = column[i]
        if np.isnan(value):
            missing[lacking] = i
            lacking += 1
        elif value < worst:
            worst, which = value, i
    return worst, which, lacking


@kernel
def mark_after(starts: Numbers, after: Numbers, belief: Numbers, marks: Flags) -> None:
    """Mark the successors of the boards of a belief.

    Args:
      starts, after: (n + 1,), (starts[n],) the numbers of each board's successors; negative ones
        are ends of the game.
      marks: (numbers,) written where true.
    """
    for i in belief:
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0:
                marks[after[at]] = True


@kernel
def find_sources(
    starts: Numbers, after: Numbers, belief: Numbers, targets: Flags, count: int, out: Numbers
) -> int:
    """Write boards that together lead to all targets; return their number.

    Args:
      starts, after: as in `mark_after`.
      belief: (m,) numbers of boards, preferred ones first.
      targets, count: (numbers,) marks of the targets, and their number; the marks are used up.
      out: (m,) written.
    """
    sources = 0
    for i in belief:
        useful = False
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0 and targets[after[at]]:
                targets[after[at]] = False
                useful = True
                count -= 1
        if useful:
            out[sources] = i
            sources += 1
        if count == 0:
            break
    return sources


@kernel
def all_after(starts: Numbers, after: Numbers, solved: Flags, out: Flags) -> None:
    """Write for each board whether all its successors are solved: (n,)."""
    for i in range(len(starts) - 1):
        every = True
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0 and not solved[after[at]]:
                every = False
                break
        out[i] = every
