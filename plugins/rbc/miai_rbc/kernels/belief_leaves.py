"""Values of boards where the search over beliefs ends, and a table of them by hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels import kernel
from miai_rbc.kernels.bits import NUMBER_0, U64, WIN, Words
from miai_rbc.kernels.board import KINGS, WHITE, turn_of
from miai_rbc.kernels.ordering import LIMIT, NODES, QUIESCENCE, List, Memory, forget
from miai_rbc.kernels.search import (
    ALPHA,
    BETA,
    DEPTH,
    INFINITE,
    UNKNOWN,
    Frames,
    close_node,
    descend,
    fold_value,
    next_move,
    open_node,
)
from miai_rbc.kernels.tree import plant

Values = NDArray[np.float64]

_NO_LIMIT = 1 << 60
_NONE, _ONE = np.uint64(0), np.uint64(1)


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

    This is the quiescence of `miai_rbc.kernels.search` at the root: stand pat or capture; if the
    king is attacked, try all moves; a king that can be captured is lost.

    Args:
      tree, frames, lists, memory, table: work space, as for `miai_rbc.kernels.analysis`.
    """
    forget(memory)
    memory[QUIESCENCE], memory[LIMIT] = 1, _NO_LIMIT
    for i in range(len(boards)):
        b = boards[i]
        mine = ~b[WHITE] if turn_of(b) else b[WHITE]
        if b[KINGS] & mine == _NONE:
            values[i] = -WIN
            continue
        memory[NODES] = 0
        plant(tree, b, _NONE)
        frames[0, DEPTH], frames[0, ALPHA], frames[0, BETA] = 0, -INFINITE, INFINITE
        ply = NUMBER_0
        value = open_node(tree, frames, memory, table, ply)
        done = False
        while not done:
            while value != UNKNOWN or next_move(tree, frames, lists, memory, ply) == 0:
                if value == UNKNOWN:
                    value = close_node(tree, frames, table, ply)
                if ply == 0:
                    done = True
                    break
                ply -= 1
                fold_value(tree, frames, memory, ply, -value)
                value = UNKNOWN
            if not done:
                descend(tree, frames, table, ply)
                ply += 1
                value = open_node(tree, frames, memory, table, ply)
        values[i] = value


@kernel
def look_up(keys: Words, known: Values, hashes: Words, out: Values) -> int:
    """Write the values in a table, NaN for missing ones; return the number of missing ones.

    Args:
      keys, known: (m,) twice, m a power of two; key 0 is empty.
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
            out[i] = known[slot]
        else:
            out[i] = np.nan
            missing += 1
    return missing


@kernel
def enter(keys: Words, known: Values, hashes: Words, values: Values) -> int:
    """Enter values into a table with room for them; return the number of new ones."""
    last, fresh = len(keys) - 1, 0
    for i in range(len(hashes)):
        key = hashes[i] | _ONE
        slot = np.int64(hashes[i] >> U64(20)) & last
        while keys[slot] != _NONE and keys[slot] != key:
            slot = (slot + 1) & last
        fresh += keys[slot] == _NONE
        keys[slot], known[slot] = key, values[i]
    return fresh
