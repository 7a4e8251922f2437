"""The bounds of the compiled search: a table, antichains, or sketches.

The rules are exactly those of `miai.beliefs.bounds` and `miai.beliefs.sketches`. A memory has a
fixed size; entries that no longer fit are counted and dropped.
"""

from __future__ import annotations

import numpy as np

from miai.beliefs.kernels.hashes import put_hash, resemblance, within
from miai.beliefs.kernels.layout import (
    ACROSS,
    CHAINS,
    CHUNK,
    ENTRIES,
    FREE,
    HITS,
    LOST,
    MINHASH,
    NONE,
    NUMBER_0,
    ONE,
    PROBES,
    RULE,
    SLOTS,
    TABLE,
    TESTS,
    USED,
    VERIFIED,
    ZERO,
    Arrays,
    GameTables,
    Int,
    Ints,
    Memory,
    Words,
    clear,
    hash_of,
    is_same,
    is_within,
    put,
    size,
)
from miai.kernels import inlined, part
from miai.kernels.bits import lowest

DEPTHS = 256  # a key is the public part times this plus the depth
_INFINITE = np.inf

# -- chains of bounds on beliefs of one public part and depth -------------------------------------


@part
def best_of(
    arrays: Arrays, head: Int, level: Int, length: Int, total: Int, best: float, supersets: bool
) -> float:
    """Return the better of `best` and the best bound of a chain on the belief of a level.

    The belief behind the bound is written to `work.closures` or `work.cores`.
    """
    memory, work, counts = arrays.memory, arrays.work, arrays.counts
    belief, which = work.beliefs[level], (work.closures if supersets else work.cores)[level]
    rule, sketch = memory.traits[RULE], work.sketch
    chunk = head
    while chunk >= 0:
        counts[TESTS] += memory.counts[chunk]
        for entry in range(chunk * CHUNK, chunk * CHUNK + memory.counts[chunk]):
            value = memory.values[entry, 0]
            if value <= best if supersets else value >= best:
                continue
            if rule > CHAINS and not _may_hold(memory, entry, sketch, length, total, supersets):
                continue
            if rule == CHAINS or memory.traits[VERIFIED] == 1:
                other = memory.masks[entry]
                if not (is_within(belief, other) if supersets else is_within(other, belief)):
                    continue
                put(other, which)
            else:
                put(belief, which)
            best = value
        chunk = memory.nexts[chunk]
    return best


@inlined
def _may_hold(
    memory: Memory, entry: Int, sketch: Words, length: Int, total: Int, supersets: bool
) -> bool:
    """Return whether by its sketch an entry may be a superset, or subset, of a belief."""
    entry_length, states = memory.lengths[entry], memory.totals[entry]
    query, row, own = sketch.reshape(1, -1), int(entry), int(length)
    if memory.traits[RULE] == MINHASH:
        alike = resemblance(sketch, own, memory.sketches, row, entry_length)
        common = alike * (total + states) / (1.0 + alike)
        return bool(common >= memory.limits[0] * (total if supersets else states))
    if supersets:
        return bool(states >= total and within(query, 0, own, memory.sketches, row, entry_length))
    return bool(states <= total and within(memory.sketches, row, entry_length, query, 0, own))


@inlined
def sketch_of(game: GameTables, sketch: Words, public: Int, belief: Words) -> Int:
    """Write the sketch of a belief; return its length."""
    first, count = game.firsts[public], 0
    for i in range(len(belief)):
        word = belief[i]
        while word != ZERO:
            count = put_hash(game.hashes[first + i * 64 + lowest(word)], sketch, count)
            word &= word - ONE
    return count


@inlined
def is_known(memory: Memory, head: Int, belief: Words, value: float, side: Int) -> bool:
    """Return whether a chain has a bound as strong on a larger (side 0) or smaller belief."""
    chunk = head
    while chunk >= 0:
        for entry in range(chunk * CHUNK, chunk * CHUNK + memory.counts[chunk]):
            bound = memory.values[entry, 0]
            if side == 0:
                if bound >= value and is_within(belief, memory.masks[entry]):
                    return True
            elif bound <= value and is_within(memory.masks[entry], belief):
                return True
        chunk = memory.nexts[chunk]
    return False


@inlined
def drop(memory: Memory, counts: Ints, heads: Ints, belief: Words, value: float, side: Int) -> None:
    """Drop the entries of a chain that follow from a new one."""
    chunk = heads[side]
    while chunk >= 0:
        following = memory.nexts[chunk]
        entry = chunk * CHUNK
        while entry < chunk * CHUNK + memory.counts[chunk]:
            bound, other = memory.values[entry, 0], memory.masks[entry]
            if side == 0:
                follows = bound <= value and is_within(other, belief)
            else:
                follows = bound >= value and is_within(belief, other)
            if not follows:
                entry += 1
                continue
            counts[ENTRIES] -= 1
            last = heads[side]  # its last entry fills the gap
            memory.counts[last] -= 1
            end = last * CHUNK + memory.counts[last]
            if end != entry:
                put(memory.masks[end], memory.masks[entry])
                memory.values[entry, 0] = memory.values[end, 0]
            if memory.counts[last] == 0:
                heads[side] = memory.nexts[last]
                memory.nexts[last] = memory.traits[FREE]
                memory.traits[FREE] = last
                if last == chunk:
                    break
        chunk = following


@inlined
def renewed(memory: Memory, head: Int, name: Int, total: Int, value: float, side: Int) -> bool:
    """Return whether a chain has an entry of the belief; update it if the value is stronger."""
    chunk = head
    while chunk >= 0:
        for entry in range(chunk * CHUNK, chunk * CHUNK + memory.counts[chunk]):
            if memory.totals[entry] == total and memory.keys[entry] == name:
                bound = memory.values[entry, 0]
                memory.values[entry, 0] = max(bound, value) if side == 0 else min(bound, value)
                return True
        chunk = memory.nexts[chunk]
    return False


@inlined
def room(memory: Memory, counts: Ints, heads: Ints, side: Int) -> Int:
    """Return a new entry at the end of a chain; -1 without room."""
    head = heads[side]
    if head < 0 or memory.counts[head] == CHUNK:
        chunk = memory.traits[FREE]
        if chunk >= 0:
            memory.traits[FREE] = memory.nexts[chunk]
        else:
            chunk = memory.traits[USED]
            if chunk == len(memory.counts):
                return -1
            memory.traits[USED] = chunk + 1
        memory.counts[chunk] = 0
        memory.nexts[chunk] = head
        heads[side] = head = chunk
    memory.counts[head] += 1
    return int(head * CHUNK + memory.counts[head] - 1)


# -- the table, and all rules together ------------------------------------------------------------


@inlined
def _find(memory: Memory, key: Int, belief: Words) -> Int:
    """Return the slot of an entry in the table, or the empty slot for it."""
    last = memory.traits[SLOTS] - 1
    slot = np.int64(hash_of(belief, np.uint64(key)) & np.uint64(last))
    while memory.slots[slot] != 0:
        entry = memory.slots[slot] - 1
        if memory.keys[entry] == key and is_same(memory.masks[entry], belief):
            break
        slot = (slot + 1) & last
    return slot


@inlined
def probe(arrays: Arrays, public: Int, depth: Int, level: Int) -> tuple[float, float]:
    """Return a lower and an upper bound on the belief of a level.

    A superset that is worth at least the lower bound is written to `work.closures`, a subset that
    is worth at most the upper bound to `work.cores`.
    """
    memory, work, counts = arrays.memory, arrays.work, arrays.counts
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
        lower, upper = _search_chains(arrays, public, depth, level)
    if lower > upper:  # one of them is false: use neither
        lower, upper = -_INFINITE, _INFINITE
        clear(core)
        clear(closure)
    if lower > -_INFINITE or upper < _INFINITE:
        counts[HITS] += 1
    return lower, upper


@inlined
def _search_chains(arrays: Arrays, public: Int, depth: Int, level: Int) -> tuple[float, float]:
    """Return the best bounds of all chains whose bounds hold at a depth."""
    game, memory, work, _ = arrays
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
            lower = best_of(arrays, heads[0], level, length, total, lower, True)
        if heads[1] >= 0 and at >= depth:
            upper = best_of(arrays, heads[1], level, length, total, upper, False)
    return lower, upper


@part
def record(arrays: Arrays, public: Int, depth: Int, belief: Words, value: float, side: Int) -> None:
    """Record that a belief is worth at least (side 0) or at most (side 1) `value`."""
    game, memory, work, counts = arrays
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
    """Double the slots in use. Few are used at first, as touching a page of memory takes time."""
    memory.traits[SLOTS] *= 2
    memory.slots[: memory.traits[SLOTS]] = 0
    for entry in range(entries):
        slot = _find(memory, memory.keys[entry], memory.masks[entry])
        memory.slots[slot] = entry + 1
