"""The bounds of the compiled search: a table, antichains, or sketches.

The rules are exactly those of `miai.beliefs.bounds` and `miai.beliefs.sketches`. A memory has a
fixed size; entries that no longer fit are counted and dropped.
"""

from __future__ import annotations

import numpy as np

from miai.beliefs.kernels.count_sketch import (
    count_name,
    estimate_of,
    put_in_heap,
    rarest,
    rename_in_heap,
    take_from_heap,
)
from miai.beliefs.kernels.layout import (
    ACROSS,
    CHAINS,
    CHUNK_SIZE,
    ENTRIES,
    FORGOTTEN,
    FREE,
    HEAPED,
    HITS,
    LOST,
    MINHASH,
    NONE,
    ONE,
    PROBES,
    RETAINS,
    RULE,
    SLOTS,
    SPOTS,
    TABLE,
    TESTS,
    USED,
    VERIFIED,
    ZERO,
    Arrays,
    GameTables,
    Ints,
    Memory,
    clear,
    is_same,
    is_within,
    put,
    size,
)
from miai.beliefs.kernels.sketching import put_hash, resemblance
from miai.kernels import inlined, part
from miai.kernels.bits import lowest
from miai.kernels.shared import NUMBER_0, Int, Words, hash_of

DEPTHS = 256  # a key is the public part times this plus the depth
_INFINITE = np.inf

# -- chains of bounds on beliefs of one public part and depth -------------------------------------


@inlined
def best_of(
    arrays: Arrays,
    head: Int,
    belief: Words,
    which: Words,
    length: Int,
    total: Int,
    best: float,
    supersets: bool,
) -> tuple[float, Int]:
    """Return the better of `best` and the best bound of a chain on a belief, and its entry or -1.

    The belief behind the bound is written to `which`.
    """
    memory, work, counts = arrays.memory, arrays.work, arrays.counts
    rule, sketch, per_chunk = memory.traits[RULE], work.sketch, memory.traits[CHUNK_SIZE]
    chunk = head
    behind: Int = np.int64(-1)
    while chunk >= 0:
        counts[TESTS] += memory.counts[chunk]
        for entry in range(chunk * per_chunk, chunk * per_chunk + memory.counts[chunk]):
            # Cheapest test first: the value, then the sketch, then the sets themselves.
            value = memory.values[entry, 0]
            if value <= best if supersets else value >= best:
                continue
            if rule == MINHASH and not may_hold(memory, entry, sketch, length, total, supersets):
                continue
            if rule == CHAINS or memory.traits[VERIFIED] == 1:
                other = memory.masks[entry]
                if not (is_within(belief, other) if supersets else is_within(other, belief)):
                    continue
                put(other, which)
            else:
                put(belief, which)
            best, behind = value, entry
        chunk = memory.nexts[chunk]
    return best, behind


@inlined
def may_hold(
    memory: Memory, entry: Int, sketch: Words, length: Int, total: Int, supersets: bool
) -> bool:
    """Return whether by its sketch an entry may be a superset, or subset, of a belief."""
    stored = memory.sketches
    states = stored.totals[entry]
    # |A & B| follows from the resemblance J and both sizes: J (|A| + |B|) / (1 + J).
    alike = resemblance(sketch, int(length), stored.hashes, int(entry), stored.lengths[entry])
    common = alike * (total + states) / (1.0 + alike)
    return bool(common >= stored.threshold[0] * (total if supersets else states))


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
    chunk, per_chunk = head, memory.traits[CHUNK_SIZE]
    while chunk >= 0:
        for entry in range(chunk * per_chunk, chunk * per_chunk + memory.counts[chunk]):
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
    chunk, per_chunk = heads[side], memory.traits[CHUNK_SIZE]
    while chunk >= 0:
        following = memory.nexts[chunk]  # `remove` may free the chunk, which changes its link
        entry = chunk * per_chunk
        while entry < chunk * per_chunk + memory.counts[chunk]:
            bound, other = memory.values[entry, 0], memory.masks[entry]
            if side == 0:
                follows = bound <= value and is_within(other, belief)
            else:
                follows = bound >= value and is_within(belief, other)
            if not follows:
                entry += 1
                continue
            if remove(memory, counts, heads, side, entry) == chunk:
                break  # else another entry has moved to this place, and is looked at next
        chunk = following


@part
def remove(memory: Memory, counts: Ints, heads: Ints, side: Int, entry: Int) -> Int:
    """Remove an entry of a chain; return the chunk that is free after it, -1 for none."""
    counts[ENTRIES] -= 1
    # Only the last chunk of a chain is ever partly filled: its last entry fills the gap.
    last: np.int64 = heads[side]
    memory.counts[last] -= 1
    end = last * memory.traits[CHUNK_SIZE] + memory.counts[last]
    if memory.traits[RETAINS] == 1:
        take_from_heap(memory, entry)
    if end != entry:
        memory.values[entry, 0] = memory.values[end, 0]
        if memory.traits[VERIFIED] == 1:
            put(memory.masks[end], memory.masks[entry])
        if memory.traits[RULE] == MINHASH:
            stored = memory.sketches
            memory.keys[entry], stored.totals[entry] = memory.keys[end], stored.totals[end]
            stored.lengths[entry] = stored.lengths[end]
            for i in range(stored.lengths[end]):
                stored.hashes[entry, i] = stored.hashes[end, i]
        if memory.traits[RETAINS] == 1:
            rename_in_heap(memory, end, entry)
    if memory.counts[last] > 0:
        return np.int64(-1)
    # An empty chunk goes to the list of free ones, linked by `nexts` like a chain.
    heads[side] = memory.nexts[last]
    memory.nexts[last] = memory.traits[FREE]
    memory.traits[FREE] = last
    return last


@inlined
def renewed(memory: Memory, head: Int, name: Int, total: Int, value: float, side: Int) -> bool:
    """Return whether a chain has an entry of the belief; update it if the value is stronger."""
    chunk, per_chunk = head, memory.traits[CHUNK_SIZE]
    while chunk >= 0:
        for entry in range(chunk * per_chunk, chunk * per_chunk + memory.counts[chunk]):
            if memory.sketches.totals[entry] == total and memory.keys[entry] == name:
                bound = memory.values[entry, 0]
                memory.values[entry, 0] = max(bound, value) if side == 0 else min(bound, value)
                return True
        chunk = memory.nexts[chunk]
    return False


@inlined
def room(memory: Memory, heads: Ints, spot: Int, side: Int) -> Int:
    """Return a new entry at the end of a chain; -1 without room."""
    head, per_chunk = heads[side], memory.traits[CHUNK_SIZE]
    if head < 0 or memory.counts[head] == per_chunk:
        chunk = memory.traits[FREE]
        if chunk >= 0:
            memory.traits[FREE] = memory.nexts[chunk]
        else:
            chunk = memory.traits[USED]
            if chunk == len(memory.counts):
                return -1
            memory.traits[USED] = chunk + 1
        memory.counts[chunk] = 0
        # At the front of the chain: a probe meets the newest bounds first.
        memory.nexts[chunk], memory.homes[chunk] = head, 2 * spot + side
        heads[side] = head = chunk
    memory.counts[head] += 1
    return int(head * per_chunk + memory.counts[head] - 1)


@inlined
def retained(memory: Memory, counts: Ints, name: np.uint64) -> bool:
    """Count the name of a new entry; return whether there is room for it.

    Without room the rarer of this entry and the rarest one is forgotten.
    """
    counted = memory.frequencies
    # Count it before it is known whether there is room: a rejected name that returns often becomes
    # frequent enough to stay.
    count_name(counted.tallies, name)
    if memory.traits[HEAPED] < len(counted.heap):
        return True
    counts[FORGOTTEN] += 1
    victim = rarest(memory)
    if estimate_of(counted.tallies, counted.votes, name) < counted.ranks[victim]:
        return False
    home = memory.homes[victim // memory.traits[CHUNK_SIZE]]
    remove(memory, counts, memory.heads[home >> 1], home & 1, victim)
    return True


# -- the table, and all rules together ------------------------------------------------------------


@inlined
def _find(memory: Memory, key: Int, belief: Words) -> Int:
    """Return the slot of an entry in the table, or the empty slot for it."""
    # Open addressing: the next slots are mostly in the same line of the cache.
    last = memory.traits[SLOTS] - 1
    slot = np.int64(hash_of(belief, np.uint64(key)) & np.uint64(last))
    while memory.slots[slot] != 0:
        entry = memory.slots[slot] - 1
        if memory.keys[entry] == key and is_same(memory.masks[entry], belief):
            break
        slot = (slot + 1) & last
    return slot


@inlined
def probe(arrays: Arrays, public: Int, depth: Int, spot: Int, level: Int) -> tuple[float, float]:
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
    # An equal belief needs neither core nor closure: its own bounds are recorded.
    counts[PROBES] += 1
    if rule == TABLE:
        slot = _find(memory, public * DEPTHS + depth, belief)
        if memory.slots[slot] != 0:
            entry = memory.slots[slot] - 1
            lower, upper = memory.values[entry, 0], memory.values[entry, 1]
    else:
        lower, upper = search_chains(arrays, public, depth, spot, belief, core, closure)
    if lower > upper:  # one of them is false: use neither
        lower, upper = -_INFINITE, _INFINITE
        clear(core)
        clear(closure)
    if lower > -_INFINITE or upper < _INFINITE:
        counts[HITS] += 1
    return lower, upper


@inlined
def search_chains(
    arrays: Arrays, public: Int, depth: Int, spot: Int, belief: Words, core: Words, closure: Words
) -> tuple[float, float]:
    """Return the best bounds of all chains whose bounds hold at a depth.

    The beliefs behind them are written to `core` and `closure`.
    """
    game, memory, work, _ = arrays
    lower, upper = -_INFINITE, _INFINITE
    length, total = -1, 0
    below: Int = np.int64(-1)
    above: Int = np.int64(-1)
    across = memory.traits[ACROSS] == 1
    # Across depths (B2) a lower bound holds at greater depths, an upper bound at smaller ones.
    begin, end = (0, memory.spots.shape[1]) if across else (int(depth), int(depth) + 1)
    for chain_depth in range(begin, end):
        place = np.int64(memory.spots[public, chain_depth]) - 1 if across else np.int64(spot)
        if place < 0:
            continue
        low_head, high_head = memory.heads[place, 0], memory.heads[place, 1]
        # The belief is sketched when the first chain asks for it; many probes find no chain.
        if length < 0 and memory.traits[RULE] == MINHASH and max(low_head, high_head) >= 0:
            length = int(sketch_of(game, work.sketch, public, belief))
            total = int(size(belief))
        if low_head >= 0 and chain_depth <= depth:
            lower, entry = best_of(arrays, low_head, belief, closure, length, total, lower, True)
            below = entry if entry >= 0 else below
        if high_head >= 0 and chain_depth >= depth:
            upper, entry = best_of(arrays, high_head, belief, core, length, total, upper, False)
            above = entry if entry >= 0 else above
    if memory.traits[RETAINS] == 1:
        counted = memory.frequencies
        if below >= 0:
            count_name(counted.tallies, counted.names[below])
        if above >= 0:
            count_name(counted.tallies, counted.names[above])
    return lower, upper


@inlined
def new_spot(memory: Memory, public: Int, depth: Int) -> Int:
    """Return the spot of a public part and depth; -1 without room for it."""
    spot: np.int64 = np.int64(memory.spots[public, depth]) - 1
    if spot >= 0:
        return spot
    spot = memory.traits[SPOTS]
    if spot == len(memory.passed_at):
        return np.int64(-1)
    memory.traits[SPOTS] = spot + 1
    memory.spots[public, depth] = spot + 1
    # Fresh memory is zero, but 0 is a chunk and a possible window.
    memory.heads[spot, 0] = memory.heads[spot, 1] = -1
    memory.passed_at[spot] = -_INFINITE
    return spot


@inlined
def record(  # noqa: C901  a case for each rule
    arrays: Arrays, public: Int, depth: Int, spot: Int, belief: Words, value: float, side: Int
) -> None:
    """Record that a belief is worth at least (side 0) or at most (side 1) `value`."""
    game, memory, work, counts = arrays
    rule = memory.traits[RULE]
    if rule == NONE:
        return
    if rule == TABLE:
        _record_in_table(memory, counts, public * DEPTHS + depth, belief, value, side)
        return
    heads = memory.heads[spot]
    name, length, total = NUMBER_0, 0, 0
    if rule == MINHASH:
        length, total = int(sketch_of(game, work.sketch, public, belief)), int(size(belief))
        # The set may be dropped, so its hash stands for it; two sets of one size and hash count as
        # one.
        name = np.int64(hash_of(belief, ZERO))
        if renewed(memory, heads[side], name, total, value, side):
            return
    else:
        if is_known(memory, heads[side], belief, value, side):
            return
        drop(memory, counts, heads, belief, value, side)
    # The label is the same in every process, so that what is forgotten does not depend on the order
    # in which public parts were met.
    retains, label = memory.traits[RETAINS] == 1, ZERO
    if retains:
        label = hash_of(belief, game.marks[public] + np.uint64(2 * depth + side))
        if not retained(memory, counts, label):
            return
    entry = room(memory, heads, spot, side)
    if entry < 0:
        counts[LOST] += 1
        return
    if retains:
        rank = estimate_of(memory.frequencies.tallies, memory.frequencies.votes, label)
        put_in_heap(memory, entry, label, rank)
    counts[ENTRIES] += 1
    memory.values[entry, 0] = value
    if rule == CHAINS or memory.traits[VERIFIED] == 1:
        put(belief, memory.masks[entry])
    if rule == MINHASH:
        memory.keys[entry] = name
        memory.sketches.lengths[entry], memory.sketches.totals[entry] = length, total
        for i in range(length):
            memory.sketches.hashes[entry, i] = work.sketch[i]


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
        # Hardly more than half full, so that runs of taken slots stay short: `slots` has room for
        # twice the entries, so it doubles in time.
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
