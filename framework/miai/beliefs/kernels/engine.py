"""The compiled search: alpha-beta over beliefs, as in `miai.beliefs.search`.

The functions write into the rows of `SearchWork` for a level of the recursion. They come first, as
numba compiles a function with those that it calls; the search itself is the last part.
"""

from __future__ import annotations

import numpy as np

from miai.beliefs.kernels import kernel
from miai.beliefs.kernels.layout import (
    ACROSS,
    ACTION,
    ADAPTIVE,
    BUDGET_SPENT,
    EXPLAINS,
    LEAVES,
    MAX_NODES,
    NODES,
    NUMBER_0,
    NUMBER_1,
    ONE,
    SINGLES,
    SINGLES_FIRST,
    STOPPED,
    TOO_DEEP,
    ZERO,
    Arrays,
    GameTables,
    Int,
    Ints,
    Memory,
    SearchWork,
    Words,
    add,
    clear,
    is_empty,
    is_within,
    leave,
    meets,
    put,
    put_state,
    size,
)
from miai.beliefs.kernels.memory import DEPTHS, probe, record
from miai.kernels import inlined, part
from miai.kernels.bits import lowest, popcount

_INFINITE = np.inf

# -- the outcomes of an action, and leaves --------------------------------------------------------


@inlined
def split(game: GameTables, work: SearchWork, action: Int, level: Int) -> tuple[float, Int]:
    """Write the successors of an action, the largest first.

    A state that leads to the worst end of the game is written to `work.culprits`.

    Returns:
      The lowest terminal value and the number of successors.
    """
    belief = work.beliefs[level]
    worst = game.scale[1]
    last = game.lasts[action]
    if last >= 0 and meets(belief, game.over[action]):
        end = _INFINITE
        for i in range(len(belief)):
            word = belief[i] & game.over[action, i]
            while word != ZERO:
                state = i * 64 + lowest(word)
                word &= word - ONE
                if game.worst[last + state] < end:
                    end = game.worst[last + state]
                    put_state(state, work.culprits[level])
        worst = min(worst, end)
    count = np.int64(0)
    words = len(belief)
    parts, groups, sizes = work.parts[level], work.groups[level], work.sizes[level]
    for group in range(game.group_begins[action], game.group_ends[action]):
        union = ZERO
        for i in range(words):
            union |= belief[i] & game.sources[group, i]
        if union == ZERO:
            continue
        states = _successors(game, group, belief, parts, count)
        at = count  # larger ones first, equal ones in the order of their groups
        while at > 0 and sizes[at - 1] < states:
            at -= 1
        if at < count:
            _insert(parts, groups, sizes, at, count)
        groups[at], sizes[at] = group, states
        count += 1
    return worst, count


@inlined
def _insert(parts: Words, groups: Ints, sizes: Ints, at: Int, end: Int) -> None:
    """Move the last successor to its place, and shift those after it."""
    for i in range(parts.shape[1]):
        moved = parts[end, i]
        for j in range(end, at, -1):
            parts[j, i] = parts[j - 1, i]
        parts[at, i] = moved
    for j in range(end, at, -1):
        groups[j], sizes[j] = groups[j - 1], sizes[j - 1]


@inlined
def _successors(game: GameTables, group: Int, belief: Words, parts: Words, at: Int) -> Int:
    """Write the successor of a belief in a group; return its number of states."""
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
            successors = game.rows[row + i * 64 + lowest(word)]
            word &= word - ONE
            for j in range(words):
                parts[at, j] |= game.pool[successors, j]
    for i in range(words):
        states += popcount(parts[at, i])
    return states


@inlined
def leaf(arrays: Arrays, public: Int, level: Int) -> float:
    """Return the lowest value of the states where the depth ends."""
    game, memory, work, counts = arrays
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


# -- cores and closures, traced back through an action --------------------------------------------


@inlined
def continuing_state(game: GameTables, work: SearchWork, action: Int, level: Int) -> None:
    """Write a state in which an action may not end the game, preferably of the core so far."""
    for group in range(game.group_begins[action], game.group_ends[action]):
        for i in range(work.beliefs.shape[1]):
            word = work.beliefs[level, i] & game.sources[group, i]
            if word & work.gathered[level, i] != ZERO:
                put_state(i * 64 + lowest(word & work.gathered[level, i]), work.culprits[level])
                return
            if word != ZERO:
                put_state(i * 64 + lowest(word), work.culprits[level])


@inlined
def sources_of(game: GameTables, memory: Memory, work: SearchWork, group: Int, level: Int) -> None:
    """Write states of a belief that lead to all of the successor's core into `work.culprits`.

    States of the core so far come first. Without a core, write the whole belief.
    """
    belief, culprit, targets = work.beliefs[level], work.culprits[level], work.cores[level + 1]
    if memory.traits[EXPLAINS] == 0 or is_empty(targets):
        put(belief, culprit)
        return
    row = game.successors[group]
    if row < 0:
        put(targets, culprit)
        return
    clear(culprit)
    for turn in range(2):
        for i in range(len(belief)):
            word = belief[i] & game.sources[group, i]
            word &= work.gathered[level, i] if turn == 0 else ~work.gathered[level, i]
            while word != ZERO:
                state = i * 64 + lowest(word)
                word &= word - ONE
                successors = game.pool[game.rows[row + state]]
                if meets(successors, targets):
                    culprit[i] |= ONE << np.uint64(state & 63)
                    leave(successors, targets)
        if is_empty(targets):
            return
    put(belief, culprit)


@part
def close(arrays: Arrays, public: Int, action: Int, parts: Int, beta: float, level: Int) -> None:
    """Add to `work.won` all states from which an action leads to closures only."""
    game, work = arrays.game, arrays.work
    won, every = work.won[level], game.every[public]
    bad = work.culprits[level]
    clear(bad)
    last = game.lasts[action]
    if last >= 0:
        for i in range(len(bad)):
            word = every[i] & game.over[action, i]
            while word != ZERO:
                state = i * 64 + lowest(word)
                word &= word - ONE
                if game.worst[last + state] < beta:
                    bad[i] |= ONE << np.uint64(state & 63)
    for group in range(game.group_begins[action], game.group_ends[action]):
        at = NUMBER_0
        while at < parts and work.groups[level, at] != group:
            at += 1
        if at == parts:
            add(game.sources[group], bad)
        else:
            _escape(game, work, group, work.parts[level, at], bad)
    for i in range(len(won)):
        won[i] |= every[i] & ~bad[i]
    clear(bad)


@inlined
def _escape(game: GameTables, work: SearchWork, group: Int, solved: Words, bad: Words) -> None:
    """Add to `bad` the states that lead to an unsolved state in a group."""
    row = game.successors[group]
    for i in range(len(bad)):
        if row < 0:
            bad[i] |= game.sources[group, i] & ~solved[i]
            continue
        word = game.sources[group, i] & ~bad[i]
        while word != ZERO:
            state = i * 64 + lowest(word)
            word &= word - ONE
            if not is_within(game.pool[game.rows[row + state]], solved):
                bad[i] |= ONE << np.uint64(state & 63)


# -- the recursion --------------------------------------------------------------------------------


@kernel
def search(  # noqa: C901  a recursive function must be one function, to be compiled once
    arrays: Arrays, public: Int, depth: Int, alpha: float, beta: float, level: Int
) -> float:
    """Return the value of the belief in ``work.beliefs[level]``, within a window.

    Its core and closure are written to `work.cores` and `work.closures`. Level 0 ignores bounds on
    the belief itself, so that ``counts[ACTION]`` is always set. The result is undefined if
    ``counts[STOPPED]`` is set.
    """
    game, memory, work, counts = arrays
    if _stops(work, counts, level):
        return 0.0
    low, high = alpha, beta
    if level > 0:
        lower, upper = probe(arrays, public, depth, level)
        if lower >= beta or lower >= upper:
            return lower
        if upper <= alpha:
            clear(work.closures[level])
            return upper
        if depth == 0:
            return leaf(arrays, public, level)
        low, high = max(alpha, lower), min(beta, upper)
        state = _untested(memory, work, public, depth, low, level)
        while state >= 0:
            counts[SINGLES] += 1
            put_state(state, work.beliefs[level + 1])
            value = search(arrays, public, depth, low, high, level + NUMBER_1)
            if counts[STOPPED] != 0 or value <= low:
                put_state(state, work.cores[level])
                clear(work.closures[level])
                return value
            _pass(memory, public, depth, low, state)
            state = _untested(memory, work, public, depth, low, level)
    clear(work.gathered[level])
    clear(work.won[level])
    best, bar = -_INFINITE, low
    best_action: Int = np.int64(-1)
    refutations: Int = NUMBER_0
    favourite = work.favourites[public] if memory.traits[ADAPTIVE] == 1 else np.int64(-1)
    turn, action = _next_action(game, public, np.int64(-2), favourite)
    while action >= 0 and best < high:
        worst, parts, failed = _split_or_refute(arrays, action, depth, bar, refutations, level)
        remaining = max(NUMBER_0, depth - game.costs[action])
        i = NUMBER_0
        while i < parts and not failed:
            after = game.after[work.groups[level, i]]
            put(work.parts[level, i], work.beliefs[level + 1])
            if remaining == 0 and memory.traits[ACROSS] == 0:  # leaves have no bounds
                counts[NODES] += 1
                value = leaf(arrays, after, level + NUMBER_1)
            else:
                value = search(arrays, after, remaining, bar, min(high, worst), level + NUMBER_1)
            if counts[STOPPED] != 0:
                return 0.0
            worst = min(worst, value)
            failed = worst <= bar
            if failed:
                refutations = _refuted(arrays, after, remaining, worst, i, refutations, level)
            else:
                put(work.closures[level + 1], work.parts[level, i])
            i += 1
        if failed:
            add(work.culprits[level], work.gathered[level])
        if worst > best:
            best, best_action = worst, action
            _write_closure(arrays, public, action, parts, worst, high, level)
        bar = max(bar, best)
        turn, action = _next_action(game, public, turn, favourite)
    work.favourites[public] = best_action
    if level == 0:
        counts[ACTION] = best_action
    _explain(work, best, low, high, level)
    _remember(arrays, public, depth, best, low, high, level)
    return best


@inlined
def _stops(work: SearchWork, counts: Ints, level: Int) -> bool:
    """Count a node; return whether it exceeds the budget or the work space."""
    counts[NODES] += 1
    if counts[NODES] > counts[MAX_NODES]:
        counts[STOPPED] = BUDGET_SPENT
    elif level + 1 == len(work.beliefs):
        counts[STOPPED] = TOO_DEEP
    return bool(counts[STOPPED] != 0)


@inlined
def _untested(
    memory: Memory, work: SearchWork, public: Int, depth: Int, low: float, level: Int
) -> Int:
    """Return a state of the belief that was not tried alone at this depth yet; -1 for none."""
    if memory.traits[SINGLES_FIRST] == 0 or size(work.beliefs[level]) < 2:
        return np.int64(-1)
    at = memory.passed_at[public, depth]
    if np.isnan(at) or low > at:
        clear(memory.passed[public, depth])
        memory.passed_at[public, depth] = low
    for i in range(work.beliefs.shape[1]):
        word = work.beliefs[level, i] & ~memory.passed[public, depth, i]
        if word != ZERO:
            state: np.int64 = i * 64 + lowest(word)
            return state
    return np.int64(-1)


@inlined
def _pass(memory: Memory, public: Int, depth: Int, low: float, state: Int) -> None:
    """Record that a state alone is worth more than `low`."""
    memory.passed_at[public, depth] = min(low, memory.passed_at[public, depth])
    memory.passed[public, depth, state >> 6] |= ONE << np.uint64(state & 63)


@inlined
def _next_action(game: GameTables, public: Int, turn: Int, favourite: Int) -> tuple[Int, Int]:
    """Return the next turn and its action, or -1 after the last; turn -2 begins.

    The favourite, the last best action (-1 for none), has a turn before those of all others.
    """
    begin = game.begins[public]
    if turn < begin - 1 and favourite >= 0:
        return begin - 1, favourite
    following = max(begin, turn + 1)
    following += following == favourite
    return following, (following if following < game.ends[public] else np.int64(-1))


@inlined
def _split_or_refute(
    arrays: Arrays, action: Int, depth: Int, low: float, refutations: Int, level: Int
) -> tuple[float, Int, bool]:
    """Write the successors of an action, unless it is refuted without a search.

    With explained results, a core that refuted an earlier action may refute this one. In a
    reachability problem, a state in which the game continues at the end of the depth refutes it.

    Returns:
      The lowest terminal value or refuting bound, the number of successors, and whether the action
      is refuted.
    """
    game, memory, work, _ = arrays
    clear(work.culprits[level])
    worst, parts = split(game, work, action, level)
    if worst <= low or parts == 0 or memory.traits[EXPLAINS] == 0:
        return worst, parts, worst <= low
    remaining = max(NUMBER_0, depth - game.costs[action])
    if remaining == 0 and game.costs[action] > 0 and game.scale[2] == 1.0:
        continuing_state(game, work, action, level)
        return game.scale[0], NUMBER_0, game.scale[0] <= low
    for i in range(parts):
        group = work.groups[level, i]
        for j in range(refutations):
            if (
                work.refuted_at[level, j] == game.after[group] * DEPTHS + remaining
                and work.refuted_by[level, j] <= low
                and is_within(work.refuted[level, j], work.parts[level, i])
            ):
                put(work.refuted[level, j], work.cores[level + 1])
                sources_of(game, memory, work, group, level)
                return work.refuted_by[level, j], NUMBER_0, True
    return worst, parts, False


@inlined
def _refuted(
    arrays: Arrays, after: Int, remaining: Int, worst: float, i: Int, refutations: Int, level: Int
) -> Int:
    """Record a successor that refutes its action, for later actions; return their number."""
    game, memory, work, _ = arrays
    core = work.cores[level + 1]
    if memory.traits[EXPLAINS] == 1 and refutations < work.refuted_at.shape[1]:
        work.refuted_at[level, refutations] = after * DEPTHS + remaining
        work.refuted_by[level, refutations] = worst
        put(work.parts[level, i] if is_empty(core) else core, work.refuted[level, refutations])
        refutations += 1
    sources_of(game, memory, work, work.groups[level, i], level)
    return refutations


@inlined
def _write_closure(
    arrays: Arrays, public: Int, action: Int, parts: Int, worst: float, beta: float, level: Int
) -> None:
    """Write the closure of the best action so far, if it fails high."""
    memory, work = arrays.memory, arrays.work
    clear(work.won[level])
    if worst < beta:
        return
    put(work.beliefs[level], work.won[level])
    if memory.traits[EXPLAINS] == 1:
        close(arrays, public, action, parts, beta, level)


@inlined
def _explain(work: SearchWork, value: float, alpha: float, beta: float, level: Int) -> None:
    """Write the core of a node that failed low, or the closure of one that failed high."""
    clear(work.cores[level])
    clear(work.closures[level])
    if value <= alpha:
        put(work.gathered[level], work.cores[level])
    if value >= beta:
        put(work.won[level], work.closures[level])


@inlined
def _remember(
    arrays: Arrays, public: Int, depth: Int, value: float, alpha: float, beta: float, level: Int
) -> None:
    """Record the result of a node as bounds on its belief, core and closure."""
    memory, work = arrays.memory, arrays.work
    belief, core, closure = work.beliefs[level], work.cores[level], work.closures[level]
    explains = memory.traits[EXPLAINS] == 1
    if value > alpha:
        record(arrays, public, depth, belief, value, 0)
    if explains and value >= beta and not is_within(closure, belief):
        record(arrays, public, depth, closure, beta, 0)
    if value < beta:
        small = explains and value <= alpha and not is_empty(core)
        record(arrays, public, depth, core if small else belief, value, 1)
