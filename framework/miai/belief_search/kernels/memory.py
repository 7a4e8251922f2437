"""What the compiled search remembers of beliefs: a table, antichains, or sketches.

The rules are those of `miai.belief_search.bounds`, state for state. A memory has a fixed room; what
no longer fits is not kept, and counted.
"""

from __future__ import annotations

import numpy as np

from miai.belief_search.kernels.chains import best_of, drop, is_known, renewed, room, sketch_of
from miai.belief_search.kernels.layout import (
    ACROSS,
    CHAINS,
    ENTRIES,
    HITS,
    LOST,
    NONE,
    NUMBER_0,
    PROBES,
    RULE,
    SLOTS,
    TABLE,
    USED,
    VERIFIED,
    Game,
    Int,
    Ints,
    Memory,
    Words,
    Work,
)
from miai.belief_search.kernels.masks import (
    ZERO,
    clear,
    hash_of,
    is_same,
    put,
    size,
)
from miai.kernels import inlined, part

DEPTHS = 256  # a key holds the public part and, below it, the depth
_INFINITE = np.inf


@inlined
def _find(memory: Memory, key: Int, belief: Words) -> Int:
    """Return the slot of a table where an entry is, or would be."""
    last = memory.traits[SLOTS] - 1
    slot = np.int64(hash_of(belief, np.uint64(key)) & np.uint64(last))
    while memory.slots[slot] != 0:
        entry = memory.slots[slot] - 1
        if memory.keys[entry] == key and is_same(memory.masks[entry], belief):
            break
        slot = (slot + 1) & last
    return slot


@inlined
def probe(
    game: Game, memory: Memory, work: Work, counts: Ints, public: Int, depth: Int, level: Int
) -> tuple[float, float]:
    """Return a lower and an upper bound of the belief of a level.

    The row of `work.closures` becomes a belief that contains it and is worth at least the lower
    one, that of `work.cores` one that it contains and is worth at most the upper one.
    """
    lower, upper = -_INFINITE, _INFINITE
    belief, core, closure = work.beliefs[level], work.cores[level], work.closures[level]
    clear(core)
    clear(closure)
    rule = memory.traits[RULE]
    if rule == NONE:
        return lower, upper
    counts[PROBES] += 1
    if rule == TABLE:
        slot = _find(memory, public * DEPTHS + depth, belief)
        if memory.slots[slot] != 0:
            entry = memory.slots[slot] - 1
            lower, upper = memory.values[entry, 0], memory.values[entry, 1]
            put(belief, core)
            put(belief, closure)
    else:
        lower, upper = _search_chains(game, memory, work, counts, public, depth, level)
    if lower > upper:  # two bounds of which one is false: neither is believed
        lower, upper = -_INFINITE, _INFINITE
        clear(core)
        clear(closure)
    if lower > -_INFINITE or upper < _INFINITE:
        counts[HITS] += 1
    return lower, upper


@inlined
def _search_chains(
    game: Game, memory: Memory, work: Work, counts: Ints, public: Int, depth: Int, level: Int
) -> tuple[float, float]:
    """Return the best bounds of all chains that hold at a depth."""
    lower, upper = -_INFINITE, _INFINITE
    belief = work.beliefs[level]
    length, total = -1, 0
    for at in range(memory.heads.shape[1]):
        if at != depth and memory.traits[ACROSS] == 0:
            continue
        heads = memory.heads[public, at]
        if length < 0 and memory.traits[RULE] > CHAINS and max(heads[0], heads[1]) >= 0:
            length = int(sketch_of(game, work.sketch, public, belief))
            total = int(size(belief))
        if heads[0] >= 0 and at <= depth:
            lower = best_of(
                memory, counts, heads[0], belief, work.sketch, length, total, lower,
                work.closures[level], True,
            )  # fmt: skip
        if heads[1] >= 0 and at >= depth:
            upper = best_of(
                memory, counts, heads[1], belief, work.sketch, length, total, upper,
                work.cores[level], False,
            )  # fmt: skip
    return lower, upper


@part
def record(
    game: Game,
    memory: Memory,
    work: Work,
    counts: Ints,
    public: Int,
    depth: Int,
    belief: Words,
    value: float,
    side: Int,
) -> None:
    """Remember that a belief is worth at least (side 0) or at most (side 1) so much."""
    rule = memory.traits[RULE]
    if rule == NONE:
        return
    if rule == TABLE:
        _record_in_table(memory, counts, public * DEPTHS + depth, belief, value, side)
        return
    heads = memory.heads[public, depth]
    name, length, total = NUMBER_0, 0, 0
    if rule > CHAINS:
        length, total = int(sketch_of(game, work.sketch, public, belief)), int(size(belief))
        name = np.int64(hash_of(belief, ZERO))
        if renewed(memory, heads[side], name, total, value, side):
            return
    else:
        if is_known(memory, heads[side], belief, value, side):
            return
        drop(memory, counts, heads, belief, value, side)
    entry = room(memory, counts, heads, side)
    if entry < 0:
        counts[LOST] += 1
        return
    counts[ENTRIES] += 1
    memory.values[entry, 0] = value
    if rule == CHAINS or memory.traits[VERIFIED] == 1:
        put(belief, memory.masks[entry])
    if rule > CHAINS:
        memory.keys[entry] = name
        memory.lengths[entry], memory.totals[entry] = length, total
        for i in range(length):
            memory.sketches[entry, i] = work.sketch[i]


@inlined
def _record_in_table(
    memory: Memory, counts: Ints, key: Int, belief: Words, value: float, side: Int
) -> None:
    slot = _find(memory, key, belief)
    if memory.slots[slot] == 0:
        entry = memory.traits[USED]
        if entry == len(memory.keys):
            counts[LOST] += 1
            return
        counts[ENTRIES] += 1
        memory.traits[USED] = entry + 1
        if 2 * entry > memory.traits[SLOTS] and 2 * memory.traits[SLOTS] <= len(memory.slots):
            _spread(memory, entry)
            slot = _find(memory, key, belief)
        memory.slots[slot] = entry + 1
        memory.keys[entry] = key
        put(belief, memory.masks[entry])
        memory.values[entry, 0], memory.values[entry, 1] = -_INFINITE, _INFINITE
    entry = memory.slots[slot] - 1
    if side == 0:
        memory.values[entry, 0] = max(memory.values[entry, 0], value)
    else:
        memory.values[entry, 1] = min(memory.values[entry, 1], value)


@part
def _spread(memory: Memory, entries: Int) -> None:
    """Double the slots in use. Few are in use at first: each page of memory costs when touched."""
    memory.traits[SLOTS] *= 2
    memory.slots[: memory.traits[SLOTS]] = 0
    for entry in range(entries):
        slot = _find(memory, memory.keys[entry], memory.masks[entry])
        memory.slots[slot] = entry + 1
