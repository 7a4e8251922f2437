"""Values of boards where the depth ends, and a table of them by the boards' hashes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.belief_minimax.kernels import kernel
from miai_rbc.engines.protocol import WIN
from miai_rbc.kernels.bits import NUMBER_0, U64, Words
from miai_rbc.kernels.board import KINGS, WHITE, turn_of
from miai_rbc.kernels.ordering import LIMIT, NODES, QUIESCENCE, List, Memory, forget
from miai_rbc.kernels.search import (
    ALPHA,
    BETA,
    DEPTH,
    INFINITE,
    Frames,
    _close,
    _descend,
    _fold,
    _next,
    _open,
)
from miai_rbc.kernels.tree import plant

Values = NDArray[np.float64]

_UNKNOWN = 1 << 30
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
    """Write the values of boards to their side to move, captures alone being searched: (n,).

    The engine's quiescence (`miai_rbc.kernels.search`) at the root: stand pat or capture; who is
    attacked tries everything; a king that can be captured is lost.

    Args:
      tree, frames, lists, memory, table: work space, as of `miai_rbc.kernels.analysis`.
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
        value = _open(tree, frames, memory, table, ply)
        done = False
        while not done:
            while value != _UNKNOWN or _next(tree, frames, lists, memory, ply) == 0:
                if value == _UNKNOWN:
                    value = _close(tree, frames, table, ply)
                if ply == 0:
                    done = True
                    break
                ply -= 1
                _fold(tree, frames, memory, ply, -value)
                value = _UNKNOWN
            if not done:
                _descend(tree, frames, table, ply)
                ply += 1
                value = _open(tree, frames, memory, table, ply)
        values[i] = value


@kernel
def look_up(keys: Words, known: Values, hashes: Words, out: Values) -> int:
    """Write the values that a table holds, not-a-number where none; return how many it lacks.

    Args:
      keys, known: (m,) twice, m a power of two; 0 is no key.
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
    """Enter values into a table with room for them; return how many are new."""
    last, fresh = len(keys) - 1, 0
    for i in range(len(hashes)):
        key = hashes[i] | _ONE
        slot = np.int64(hashes[i] >> U64(20)) & last
        while keys[slot] != _NONE and keys[slot] != key:
            slot = (slot + 1) & last
        fresh += keys[slot] == _NONE
        keys[slot], known[slot] = key, values[i]
    return fresh
