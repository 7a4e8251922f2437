"""Chains of bounds of one public part and depth: searched, added to, made room in."""

from __future__ import annotations

from miai.belief_search.kernels.layout import (
    CHAINS,
    CHUNK,
    ENTRIES,
    FREE,
    MINHASH,
    RULE,
    TESTS,
    USED,
    VERIFIED,
    Game,
    Int,
    Ints,
    Memory,
    Words,
)
from miai.belief_search.kernels.masks import (
    ONE,
    ZERO,
    is_within,
    put,
)
from miai.belief_search.kernels.sketches import put_hash, resemblance, within
from miai.kernels import inlined, part
from miai.kernels.bits import lowest


@part
def best_of(
    memory: Memory,
    counts: Ints,
    head: Int,
    belief: Words,
    sketch: Words,
    length: Int,
    total: Int,
    best: float,
    which: Words,
    supersets: bool,
) -> float:
    """Return the best bound of a chain, or the one given; its belief goes to `which`."""
    rule = memory.traits[RULE]
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
    """Return whether sketches take an entry for a superset, or subset, of a belief."""
    held, states = memory.lengths[entry], memory.totals[entry]
    query, row, own = sketch.reshape(1, -1), int(entry), int(length)
    if memory.traits[RULE] == MINHASH:
        alike = resemblance(sketch, own, memory.sketches, row, held)
        common = alike * (total + states) / (1.0 + alike)
        return bool(common >= memory.limits[0] * (total if supersets else states))
    if supersets:
        return bool(states >= total and within(query, 0, own, memory.sketches, row, held))
    return bool(states <= total and within(memory.sketches, row, held, query, 0, own))


@inlined
def sketch_of(game: Game, sketch: Words, public: Int, belief: Words) -> Int:
    """Write the smallest hashes of a belief's states; return how many there are."""
    first, count = game.firsts[public], 0
    for i in range(len(belief)):
        word = belief[i]
        while word != ZERO:
            count = put_hash(game.hashes[first + i * 64 + lowest(word)], sketch, count)
            word &= word - ONE
    return count


@inlined
def is_known(memory: Memory, head: Int, belief: Words, value: float, side: Int) -> bool:
    """Return whether a chain says as much already, of a larger or a smaller belief."""
    chunk = head
    while chunk >= 0:
        for entry in range(chunk * CHUNK, chunk * CHUNK + memory.counts[chunk]):
            held = memory.values[entry, 0]
            if side == 0:
                if held >= value and is_within(belief, memory.masks[entry]):
                    return True
            elif held <= value and is_within(memory.masks[entry], belief):
                return True
        chunk = memory.nexts[chunk]
    return False


@inlined
def drop(memory: Memory, counts: Ints, heads: Ints, belief: Words, value: float, side: Int) -> None:
    """Forget what a new entry of a chain says better."""
    chunk = heads[side]
    while chunk >= 0:
        following = memory.nexts[chunk]
        entry = chunk * CHUNK
        while entry < chunk * CHUNK + memory.counts[chunk]:
            held, other = memory.values[entry, 0], memory.masks[entry]
            if side == 0:
                gone = held <= value and is_within(other, belief)
            else:
                gone = held >= value and is_within(belief, other)
            if not gone:
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
    """Return whether a chain has an entry of the belief; it takes the value if that says more."""
    chunk = head
    while chunk >= 0:
        for entry in range(chunk * CHUNK, chunk * CHUNK + memory.counts[chunk]):
            if memory.totals[entry] == total and memory.keys[entry] == name:
                held = memory.values[entry, 0]
                memory.values[entry, 0] = max(held, value) if side == 0 else min(held, value)
                return True
        chunk = memory.nexts[chunk]
    return False


@inlined
def room(memory: Memory, counts: Ints, heads: Ints, side: Int) -> Int:
    """Return a new entry at the end of a chain; -1 when there is no room."""
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
