"""What actions do to a belief, and what it is worth where the depth ends."""

from __future__ import annotations

import numpy as np

from miai.belief_search.kernels.layout import (
    EXPLAINS,
    LEAVES,
    Game,
    Int,
    Ints,
    Memory,
    Words,
    Work,
)
from miai.belief_search.kernels.masks import (
    ONE,
    ZERO,
    meets,
    put,
    put_state,
)
from miai.kernels import inlined
from miai.kernels.bits import lowest, popcount

_INFINITE = np.inf


@inlined
def split(game: Game, work: Work, public: Int, action: Int, level: Int) -> tuple[float, Int]:
    """Write the parts that an action leads to, the largest first; return how many there are.

    Before it the worst end is returned; the row of `work.culprits` becomes a state that leads to
    that end.
    """
    belief = work.beliefs[level]
    worst = game.scale[1]
    last = game.lasts[action]
    if last >= 0 and meets(belief, game.over[action]):
        found = _INFINITE
        for i in range(len(belief)):
            word = belief[i] & game.over[action, i]
            while word != ZERO:
                state = i * 64 + lowest(word)
                word &= word - ONE
                if game.worst[last + state] < found:
                    found = game.worst[last + state]
                    put_state(state, work.culprits[level])
        worst = min(worst, found)
    count = np.int64(0)
    words = len(belief)
    parts, groups, sizes = work.parts[level], work.groups[level], work.sizes[level]
    for group in range(game.group_begins[action], game.group_ends[action]):
        told = ZERO
        for i in range(words):
            told |= belief[i] & game.sources[group, i]
        if told == ZERO:
            continue
        states = _successors(game, group, belief, parts, count)
        at = count  # the larger ones first, those told first before others
        while at > 0 and sizes[at - 1] < states:
            at -= 1
        if at < count:
            _insert(parts, groups, sizes, at, count)
        groups[at], sizes[at] = group, states
        count += 1
    return worst, count


@inlined
def _insert(parts: Words, groups: Ints, sizes: Ints, at: Int, end: Int) -> None:
    """Move the part at the end to its place; those between give way."""
    for i in range(parts.shape[1]):
        moved = parts[end, i]
        for j in range(end, at, -1):
            parts[j, i] = parts[j - 1, i]
        parts[at, i] = moved
    for j in range(end, at, -1):
        groups[j], sizes[j] = groups[j - 1], sizes[j - 1]


@inlined
def _successors(game: Game, group: Int, belief: Words, parts: Words, at: Int) -> Int:
    """Write what the states of a belief lead to, where this is told; return how many states."""
    row, words, states = game.successors[group], len(belief), np.int64(0)
    if row < 0:
        for i in range(words):
            parts[at, i] = belief[i] & game.sources[group, i]
            states += popcount(parts[at, i])
        return states
    for i in range(words):
        parts[at, i] = ZERO
    for i in range(words):
        word = belief[i] & game.sources[group, i]
        while word != ZERO:
            made = game.rows[row + i * 64 + lowest(word)]
            word &= word - ONE
            for j in range(words):
                parts[at, j] |= game.pool[made, j]
    for i in range(words):
        states += popcount(parts[at, i])
    return states


@inlined
def leaf(game: Game, memory: Memory, work: Work, counts: Ints, public: Int, level: Int) -> float:
    """Return the least value of the states where the depth ends."""
    belief, core, closure = work.beliefs[level], work.cores[level], work.closures[level]
    first, worst = game.firsts[public], _INFINITE
    for i in range(len(belief)):
        word = belief[i]
        while word != ZERO:
            state = i * 64 + lowest(word)
            word &= word - ONE
            counts[LEAVES] += 1
            if game.leaves[first + state] < worst:
                worst = game.leaves[first + state]
                put_state(state, core)
    put(belief, closure)
    if memory.traits[EXPLAINS] == 1:
        for state in range(game.sizes[public]):
            if game.leaves[first + state] >= worst:
                closure[state >> 6] |= ONE << np.uint64(state & 63)
    return worst
