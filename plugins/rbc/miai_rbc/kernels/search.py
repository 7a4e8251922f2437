"""Alpha-beta over boards in which capturing the king wins: principal variation search.

The value of a board at a depth is a minimax value, a function of the two: no pruning can change it,
and table entries are used only at the same depth. So it depends neither on the table nor on the
order of moves, and boards of a batch may share the table.

Quiescence follows beyond the depth: the side to move may stand pat, or play a capture or promotion
that may win material; if its king is attacked, it has to move and tries all moves. Moves follow the
rules of Reconnaissance Blind Chess: they may leave the king to be captured.

The search is one loop over frames, a row of int64 for each ply, as numba cannot cache a recursive
kernel.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.kernels import spelt_out
from miai.kernels.bits import prefetch
from miai_rbc.kernels import inlined, part
from miai_rbc.kernels.bits import NUMBER_0, U64, WIN, Int, Words
from miai_rbc.kernels.board import turn_of
from miai_rbc.kernels.evaluation import static_value
from miai_rbc.kernels.ordering import (
    CAPTURES,
    FORCING,
    LIMIT,
    NODES,
    QUIESCENCE,
    QUIETS,
    STOPPED,
    List,
    Memory,
    credit,
    heaviest,
    list_moves,
)
from miai_rbc.kernels.tree import (
    KEY,
    MAX_PLY,
    NO_CAPTURE,
    SQUARES,
    TAKEN,
    advance,
    describe,
    king_attackers,
)

Frames: TypeAlias = NDArray[np.int64]

INFINITE = 1 << 20
DECIDED = WIN - 1000

DEPTH, ALPHA, BETA, LOW, BEST, BEST_MOVE, STAGE, COUNT, AT, MOVE, KNOWN, SCOUT, AGAIN = range(13)
"""Indices of a frame: plies left; the window; its current lower end; the best value and move so
far; the stage to list next; the numbers of moves listed and tried; the current move; the table's
move; whether the current move has an empty window, and whether it must be searched again."""
FRAME_WORDS = 16

_EXACT, _LOWER, _UPPER = 3, 1, 2
UNKNOWN = 1 << 30
"""A value not yet known."""
_FROM_TABLE, _DONE = CAPTURES - 1, QUIETS + 1  # stages before and after those of `list_moves`
_NOBODY = np.uint64(0)
_15, _17, _24 = np.uint64(15), np.uint64(17), np.uint64(24)


@inlined
def _slot(table: Words, key: np.uint64) -> Int:
    """Return the index of a key in a table of pairs of key and entry, a power of two of them."""
    return 2 * np.int64(key & U64(len(table) // 2 - 1))


@spelt_out
def _probe(tree: Words, f: Frames, table: Words, ply: Int) -> Int:
    """Return the table's value for this window, or `UNKNOWN`; note its move."""
    b = tree[ply]
    slot = _slot(table, b[KEY])
    if table[slot] != b[KEY]:
        return UNKNOWN
    entry = table[slot + 1]
    f[KNOWN] = describe(b, np.int64(entry) & TAKEN)
    f[STAGE] = _FROM_TABLE
    if np.int64(entry >> _17) & 127 != f[DEPTH]:
        return UNKNOWN
    value, bound = np.int64(entry >> _24) - INFINITE, np.int64(entry >> _15) & 3
    if value > DECIDED:
        value -= ply
    elif value < -DECIDED:
        value += ply
    if bound == _EXACT or (value >= f[BETA] if bound == _LOWER else value <= f[ALPHA]):
        return value
    return UNKNOWN


@spelt_out
def open_node(tree: Words, frames: Frames, memory: Memory, table: Words, ply: Int) -> Int:
    """Begin a node; return its value if no move has to be tried, else `UNKNOWN`."""
    b, f = tree[ply], frames[ply]
    memory[NODES] += 1
    turn = turn_of(b)
    if king_attackers(b, turn):
        return WIN - ply - 1
    f[LOW], f[BEST], f[BEST_MOVE] = f[ALPHA], -INFINITE, 0
    f[STAGE], f[COUNT], f[AT] = CAPTURES, 0, 0
    f[KNOWN], f[AGAIN] = 0, 0
    if f[DEPTH] > 0:
        return _probe(tree, f, table, ply)
    end = memory[QUIESCENCE] == 0 or ply >= MAX_PLY - 2
    if not end and king_attackers(b, turn ^ 1) != _NOBODY:
        return UNKNOWN
    value: Int = static_value(b, np.int64(b[SQUARES]))
    if end or value >= f[BETA]:
        return value
    f[BEST], f[LOW], f[STAGE] = value, max(f[LOW], value), FORCING
    return UNKNOWN


@spelt_out
def next_move(tree: Words, frames: Frames, lists: List, memory: Memory, ply: Int) -> Int:
    """Return the next move to try, 0 if none is left."""
    b, f, moves = tree[ply], frames[ply], lists[ply]
    if f[AGAIN]:
        return np.int64(f[MOVE])
    while True:
        while f[AT] < f[COUNT]:
            move = heaviest(moves, f[AT], f[COUNT])
            f[AT] += 1
            if move != f[KNOWN]:
                f[MOVE] = move
                return move
        stage = f[STAGE]
        if stage == _DONE:
            return 0
        f[STAGE] = _DONE if stage == FORCING else stage + 1
        if stage == _FROM_TABLE:
            f[MOVE] = f[KNOWN]
            return np.int64(f[KNOWN])
        f[AT], f[COUNT] = 0, list_moves(b, stage, moves, memory, ply)


@spelt_out
def descend(tree: Words, frames: Frames, table: Words, ply: Int) -> None:
    """Make the current move, and set the window for its board."""
    f, child = frames[ply], frames[ply + 1]
    advance(tree, ply, f[MOVE])
    depth = f[DEPTH] - 1
    if depth > 0:
        prefetch(table, _slot(table, tree[ply + 1, KEY]))
    whole = depth < 0 or f[AGAIN] or f[BEST] == -INFINITE or f[BETA] - f[LOW] == 1
    f[SCOUT], f[AGAIN] = 0 if whole else 1, 0
    child[DEPTH] = depth
    child[ALPHA], child[BETA] = -f[BETA] if whole else -f[LOW] - 1, -f[LOW]


@spelt_out
def fold_value(tree: Words, frames: Frames, memory: Memory, ply: Int, value: Int) -> None:
    """Update a node with the value of its current move; a cut-off ends it."""
    f = frames[ply]
    if f[SCOUT] and f[LOW] < value < f[BETA]:
        f[AGAIN] = 1
    elif value > f[BEST]:
        f[BEST], f[BEST_MOVE], f[LOW] = value, f[MOVE], max(f[LOW], value)
        if value >= f[BETA]:
            f[STAGE], f[COUNT] = _DONE, 0
            if f[MOVE] >> 18 == NO_CAPTURE:
                credit(memory, ply, turn_of(tree[ply]), f[MOVE], f[DEPTH])


@spelt_out
def close_node(tree: Words, frames: Frames, table: Words, ply: Int) -> Int:
    """Return the value of a completed node, and enter it into the table."""
    b, f = tree[ply], frames[ply]
    best: Int = f[BEST]
    if best == -INFINITE:
        return static_value(b, np.int64(b[SQUARES]))
    if f[DEPTH] > 0:
        bound = _LOWER if best >= f[BETA] else _EXACT if best > f[ALPHA] else _UPPER
        value = best
        if best > DECIDED:
            value += ply
        elif best < -DECIDED:
            value -= ply
        slot = _slot(table, b[KEY])
        table[slot] = b[KEY]
        entry = f[BEST_MOVE] & TAKEN | bound << 15 | f[DEPTH] << 17 | (value + INFINITE) << 24
        table[slot + 1] = U64(entry)
    return best


@part
def search(tree: Words, frames: Frames, lists: List, memory: Memory, table: Words) -> Int:
    """Return the value of a move at the root, in centipawns, for the side that makes it.

    The root's frame holds `MOVE`, `DEPTH` including that move, and the window from `LOW` to `BETA`,
    with `AGAIN` set. A value inside the window is exact; at or beyond its ends it is a bound. When
    the nodes run out, `memory[STOPPED]` is set and the value is meaningless.
    """
    ply = NUMBER_0
    while memory[NODES] < memory[LIMIT]:
        descend(tree, frames, table, ply)
        ply += 1
        value = open_node(tree, frames, memory, table, ply)
        while value != UNKNOWN or next_move(tree, frames, lists, memory, ply) == 0:
            if value == UNKNOWN:
                value = close_node(tree, frames, table, ply)
            if ply == 1:
                return -value
            ply -= 1
            fold_value(tree, frames, memory, ply, -value)
            value = UNKNOWN
    memory[STOPPED] = 1
    return 0
