"""Bounds on beliefs of boards by MinHash; a Count-Sketch decides which are retained.

The rules are those of the bounds ``approx-minhash`` of `miai.beliefs`: a belief has the value of a
recorded one that by their sketches is most likely larger, or smaller. The boards themselves are not
recorded, so values can be wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels.counting import count_name, estimate_of, mixed, put_in_heap
from miai.beliefs.kernels.hashes import put_hash
from miai.beliefs.kernels.layout import CHUNK_SIZE, ENTRIES, HITS, LOST, PROBES, RETAINS, Memory
from miai.beliefs.kernels.memory import may_hold, renewed, retained, room
from miai.kernels import part
from miai_rbc.kernels.bits import U64, Int, Words

Ints = NDArray[np.int64]

_NONE = np.nan


class BeliefSketches(NamedTuple):
    """The recorded sketches.

    Attributes:
      memory: the entries, a chain for each layer, depth and kind of turn.
      sketch: (k,) the sketch of the belief at hand.
      counts: as in `miai.beliefs.kernels.layout`.
    """

    memory: Memory
    sketch: Words
    counts: Ints


@part
def put_sketch(
    store: BeliefSketches, hashes: Words, numbers: NDArray[np.int32], begin: Int, end: Int
) -> Int:
    """Write the sketch of a belief, the boards `begin` to `end` of `numbers`; return its length."""
    length = 0
    for k in range(begin, end):
        length = put_hash(hashes[numbers[k]], store.sketch, length)
    return np.int64(length)


@part
def deciding_bound(
    store: BeliefSketches, spot: Int, length: Int, total: Int, alpha: Int, beta: Int
) -> float:
    """Return a lower bound of at least `beta` or an upper one of at most `alpha`; NaN for none.

    Args:
      length, total: of the sketch at hand, and the number of boards of its belief.
    """
    memory, counts = store.memory, store.counts
    per_chunk = memory.traits[CHUNK_SIZE]
    counts[PROBES] += 1
    for side in range(2):
        chunk = memory.heads[spot, side]
        while chunk >= 0:
            for entry in range(chunk * per_chunk, chunk * per_chunk + memory.counts[chunk]):
                value = memory.values[entry, 0]
                if value < beta if side == 0 else value > alpha:
                    continue
                if may_hold(memory, entry, store.sketch, length, total, side == 0):
                    counts[HITS] += 1
                    if memory.traits[RETAINS] == 1:
                        count_name(memory.tallies, memory.names[entry])
                    return float(value)
            chunk = memory.nexts[chunk]
    return _NONE


@part
def record_bound(
    store: BeliefSketches,
    spot: Int,
    length: Int,
    total: Int,
    key: np.uint64,
    known: bool,
    value: Int,
    side: Int,
) -> None:
    """Record that the belief of the sketch is worth at least (side 0) or at most `value`.

    Args:
      length, total: as in `deciding_bound`.
      key: a hash of the belief and its spot.
      known: whether the belief may have been recorded before.
    """
    memory, counts = store.memory, store.counts
    heads, name = memory.heads[spot], np.int64(key)
    if known and renewed(memory, heads[side], name, total, float(value), side):
        return
    retains, label = memory.traits[RETAINS] == 1, mixed(key ^ U64(side))
    if retains and not retained(memory, counts, label):
        return
    entry = room(memory, heads, spot, side)
    if entry < 0:
        counts[LOST] += 1
        return
    if retains:
        rank = estimate_of(memory.tallies, memory.votes, label)
        put_in_heap(memory, entry, label, rank)
    counts[ENTRIES] += 1
    memory.values[entry, 0] = float(value)
    memory.keys[entry], memory.lengths[entry], memory.totals[entry] = name, length, total
    for i in range(length):
        memory.sketches[entry, i] = store.sketch[i]
