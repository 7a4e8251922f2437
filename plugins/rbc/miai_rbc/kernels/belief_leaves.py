"""Compiled kernels of the search over beliefs; they call those of `miai_rbc.kernels`.

Their machine code is kept in a folder of its own, whose name holds the digest of those too.

Values of boards where the depth ends, and a table of them by the boards' hashes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miai.kernels import KernelFamily
from miai_rbc import kernels
from miai_rbc.kernels.bits import NUMBER_0, U64, WIN, Words
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

__all__ = ["FAMILY", "allocating", "kernel"]

_BASE = kernels.FAMILY.folder

FAMILY = KernelFamily(f"{_BASE.name if _BASE else 'miai-rbc'}-minimax", Path(__file__).parent)
kernel, allocating = FAMILY.kernel, FAMILY.allocating

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
