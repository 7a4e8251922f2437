"""The compiled search: alpha-beta over beliefs, as in `miai.beliefs.recursion`.

The search is a loop over the modes of a node, with a row of the work space for each level, rather
than a recursion: a recursive call would pass all arrays, which takes longer than an average node,
and a loop can stop where a row of the game's tables is missing and continue when it is there.
"""

from __future__ import annotations

import numpy as np

from miai.beliefs.kernels import kernel
from miai.beliefs.kernels.layout import (
    ACROSS,
    ACTION,
    ADAPTIVE,
    ALPHA,
    BAR,
    BEST,
    BEST_ACTION,
    BETA,
    BUDGET_SPENT,
    CHAINS,
    CLOSES,
    CURRENT,
    DEPTH,
    EXPLAINS,
    FAILURES,
    FAVOURITE,
    HIGH,
    LEAVES,
    LEVEL,
    LOW,
    MAX_NODES,
    MODE,
    NEEDED_ACTION,
    NEEDED_AT,
    NEEDS_ACTIONS,
    NEEDS_LEAVES,
    NEEDS_OUTCOMES,
    NEEDS_SPOTS,
    NODES,
    ONE,
    PART,
    PARTS,
    PUBLIC,
    REFUTATIONS,
    REMAINING,
    RULE,
    SINGLE,
    SINGLES,
    SINGLES_FIRST,
    SPOT,
    STARTED,
    STOPPED,
    TOO_DEEP,
    TURN,
    WORST,
    ZERO,
    Arrays,
    GameTables,
    Ints,
    Memory,
    SearchWork,
    add,
    clear,
    is_empty,
    is_same,
    is_within,
    leave,
    low_bit,
    meets,
    put,
    put_state,
    size,
)
from miai.beliefs.kernels.memory import DEPTHS, new_spot, probe, record, search_chains
from miai.kernels import inlined
from miai.kernels.bits import lowest, popcount
from miai.kernels.shared import NUMBER_0, Int, Words, in_order

_INFINITE = np.inf
# Trying states alone pays on roots that are lost by one state and costs up to half the time on
# others, so each depth keeps account of it.
_TRIAL_NODES = 32  # nodes spent on states alone before it is judged whether they pay
_TRIAL_MASK = 15  # every sixteenth belief is tried in any case
_TRIAL_GAIN = 3  # a node of many states takes about as long as three nodes of one state

ENTER, TRY_STATES, BEGIN, NEXT, SPLIT, CHILD, VALUED, DONE, CLOSE, FINISH, RETURN = range(11)
"""Modes of a node: it is entered; its states are tried alone; its actions begin; the next action is
chosen; its successors are computed; the next successor is searched; it is valued; the action is
done; the closure of a node that failed high is computed; the node's result is recorded; the result
goes to the node above."""

# -- the outcomes of an action, and leaves --------------------------------------------------------


@inlined
def worst_end(game: GameTables, belief: Words, action: Int) -> tuple[float, Int]:
    """Return the lowest terminal value of an action, and a state that leads to it, or -1."""
    end, culprit = _INFINITE, np.int64(-1)
    # Most actions end no game, and have no terminal values to look at.
    last = game.lasts[action]
    if last >= 0:
        for i in range(len(belief)):
            word = belief[i] & game.over[action, i]
            while word != ZERO:
                state = i * 64 + lowest(word)
                word &= word - ONE
                if game.worst[last + state] < end:
                    end, culprit = game.worst[last + state], state
    return end, culprit


@inlined
def insert(parts: Words, groups: Ints, sizes: Ints, index: Int, end: Int) -> None:
    """Move the last successor to its place, and shift those after it."""
    # An insertion sort: an action has few successors, and their rows stay where they are used.
    for i in range(parts.shape[1]):
        moved = parts[end, i]
        for j in range(end, index, -1):
            parts[j, i] = parts[j - 1, i]
        parts[index, i] = moved
    for j in range(end, index, -1):
        groups[j], sizes[j] = groups[j - 1], sizes[j - 1]


@inlined
def successors(game: GameTables, group: Int, belief: Words, part: Words) -> Int:
    """Write the successor of a belief in a group; return its number of states."""
    row, words, states = game.successors[group], len(belief), np.int64(0)
    # As after a sense, no state changes: the successor is the part of the belief that observes
    # this.
    if row < 0:
        for i in range(words):
            part[i] = belief[i] & game.sources[group, i]
            states += popcount(part[i])
        return states
    clear(part)
    for i in range(words):
        word = belief[i] & game.sources[group, i]
        while word != ZERO:
            add(game.pool[game.rows[row + i * 64 + lowest(word)]], part)
            word &= word - ONE
    return size(part)


@inlined
def leaf(arrays: Arrays, public: Int, belief: Words, level: Int) -> float:
    """Return the lowest value of the states where the depth ends, with core and closure."""
    game, memory, work, counts = arrays
    # The worst state alone is a core of the leaf; all states met that are worth no less are its
    # closure, as nothing more is chosen here.
    core, closure = work.cores[level], work.closures[level]
    first, worst, culprit = game.firsts[public], _INFINITE, np.int64(0)
    for i in range(len(belief)):
        word = belief[i]
        counts[LEAVES] += popcount(word)
        while word != ZERO:
            state = i * 64 + lowest(word)
            word &= word - ONE
            if game.leaves[first + state] < worst:
                worst, culprit = game.leaves[first + state], state
    if memory.traits[EXPLAINS] == 1:
        put_state(culprit, core)
        put(belief, closure)
    if memory.traits[CLOSES] == 1:
        for i in range(len(belief)):
            word = memory.met[public, i] & ~belief[i]
            while word != ZERO:
                if game.leaves[first + i * 64 + lowest(word)] >= worst:
                    closure[i] |= low_bit(word)
                word &= word - ONE
    return worst


# -- cores and closures, traced back through an action --------------------------------------------


@inlined
def continuing_state(game: GameTables, belief: Words, action: Int) -> Int:
    """Return a state in which an action may not end the game, or -1."""
    # An action with a group has an observation after which the game continues.
    group = game.heads[action]
    while group >= 0:
        for i in range(len(belief)):
            word = belief[i] & game.sources[group, i]
            if word != ZERO:
                state: np.int64 = i * 64 + lowest(word)
                return state
        group = game.nexts[group]
    return np.int64(-1)


@inlined
def explain(  # noqa: C901  loops over words, inside one over failures
    game: GameTables, work: SearchWork, failures: Int, level: Int
) -> None:
    """Write the core of a node all of whose actions failed.

    It has the states that led to ends of the game, and for each refuted successor states that lead
    to all of its core; states that are already in the core come first.
    """
    belief, core, targets = work.beliefs[level], work.cores[level], work.scratch
    clear(core)
    # First the states that no other can stand for, then few that lead to the refuted successors.
    for k in range(failures):
        if work.failures[level, k, 0] < 0:
            state = work.failures[level, k, 1]
            core[state >> 6] |= ONE << np.uint64(state & 63)
    for k in range(failures):
        group = work.failures[level, k, 0]
        if group < 0:
            continue
        refuted = work.refuted[level, work.failures[level, k, 1]]
        row = game.successors[group]
        if row < 0:  # no state changes: the core of the successor is one of the belief
            add(refuted, core)
            continue
        put(refuted, targets)
        # States already in the core come first: what they lead to needs no other state.
        for turn in range(2):
            for i in range(len(belief)):
                word = belief[i] & game.sources[group, i]
                word &= core[i] if turn == 0 else ~core[i]
                while word != ZERO:
                    state = i * 64 + lowest(word)
                    following = game.pool[game.rows[row + state]]
                    if meets(following, targets):
                        core[i] |= low_bit(word)
                        leave(following, targets)
                    word &= word - ONE
            if is_empty(targets):
                break


@inlined
def close(
    game: GameTables, work: SearchWork, met: Words, action: Int, parts: Int, beta: float, level: Int
) -> None:
    """Write the closure of a node.

    It has the belief, and all states met from which an action leads to closures only.
    """
    # Begin with all states met, and remove those that the action may lead out of what is solved.
    belief, won, bad = work.beliefs[level], work.closures[level], work.scratch
    for i in range(len(belief)):
        won[i] = met[i] & ~belief[i]
        bad[i] = ZERO
    last = game.lasts[action]
    if last >= 0:
        for i in range(len(bad)):
            word = won[i] & game.over[action, i]
            while word != ZERO:
                if game.worst[last + i * 64 + lowest(word)] < beta:
                    bad[i] |= low_bit(word)
                word &= word - ONE
    group = game.heads[action]
    while group >= 0:
        index = NUMBER_0
        while index < parts and work.groups[level, index] != group:
            index += 1
        # The belief never makes this observation, so nothing is solved after it.
        if index == parts:
            add(game.sources[group], bad)
        else:
            _escape(game, group, work.parts[level, index], won, bad)
        group = game.nexts[group]
    for i in range(len(won)):
        won[i] = belief[i] | (won[i] & ~bad[i])


@inlined
def _escape(game: GameTables, group: Int, solved: Words, candidates: Words, bad: Words) -> None:
    """Add to `bad` the candidates that lead to an unsolved state in a group."""
    row = game.successors[group]
    for i in range(len(bad)):
        if row < 0:
            bad[i] |= game.sources[group, i] & ~solved[i]
            continue
        word = game.sources[group, i] & candidates[i] & ~bad[i]
        while word != ZERO:
            # Every state that can follow must be solved: the opponent chooses among them.
            if not is_within(game.pool[game.rows[row + i * 64 + lowest(word)]], solved):
                bad[i] |= low_bit(word)
            word &= word - ONE


# -- the search -----------------------------------------------------------------------------------


@kernel
def search(arrays: Arrays) -> float:  # noqa: C901  one loop, compiled as one
    """Return the value of the belief in ``work.beliefs[0]``, within the window of level 0.

    The work space of level 0 has its public part, depth and window. Level 0 ignores bounds on the
    belief itself, so that ``counts[ACTION]`` is always set. The result is undefined if
    ``counts[STOPPED]`` is set; if that is a need, the same call continues once it is met.
    """
    game, memory, work, counts = arrays
    explains, rule = memory.traits[EXPLAINS] == 1, memory.traits[RULE]
    singles_first, closes = memory.traits[SINGLES_FIRST] == 1, memory.traits[CLOSES] == 1
    # A table finds its entries by their hash. Chains, and the states that passed alone, are found
    # by public part and depth, which share a number: the spot.
    spotted = rule >= CHAINS or singles_first
    level, mode = counts[LEVEL], counts[MODE]
    value = 0.0
    while True:
        integers, reals, belief = work.integers[level], work.reals[level], work.beliefs[level]
        public, depth = integers[PUBLIC], integers[DEPTH]
        if mode == ENTER:
            # Enter the node: find the spot of its bounds, count it, and probe. The spot comes
            # first, as without room for it the same mode is entered again, and nothing may have
            # been counted then.
            spot: Int = np.int64(-1)
            if spotted:
                spot = new_spot(memory, public, depth)
                if spot < 0:
                    return _suspend(counts, level, mode, NEEDS_SPOTS)
            integers[SPOT], integers[SINGLE] = spot, -1
            counts[NODES] += 1
            integers[STARTED] = counts[NODES]
            if counts[NODES] > counts[MAX_NODES]:
                return _suspend(counts, level, mode, BUDGET_SPENT)
            # The next level needs a row too, if only for a leaf.
            if level + 1 == len(work.beliefs):
                return _suspend(counts, level, mode, TOO_DEEP)
            low, high = reals[ALPHA], reals[BETA]
            mode = BEGIN
            if level > 0:  # a bound would settle the root without an action
                lower, upper = probe(arrays, public, depth, spot, level)
                # Bounds that meet are the value, whatever the window.
                if lower >= high or lower >= upper:
                    value, mode = lower, RETURN
                elif upper <= low:
                    clear(work.closures[level])  # the probe wrote one for the lower bound
                    value, mode = upper, RETURN
                elif (
                    singles_first
                    and size(belief) > 1
                    and (not explains or _pays(memory.trials[depth]))
                ):
                    mode = TRY_STATES
                low, high = max(low, lower), min(high, upper)
            if closes:  # closures are looked for among the states met, as others do not come up
                add(belief, memory.met[public])
            reals[LOW], reals[HIGH] = low, high
        elif mode == TRY_STATES:
            # Search the next state alone (B4). RETURN comes back here while states survive.
            state = _untested(memory, integers[SPOT], belief, reals[LOW])
            integers[SINGLE] = state
            # Without an untested state the whole belief is next, else the state is.
            mode = BEGIN
            if state < 0:
                # All survive. What that cost is charged to the trials; from here on the nodes are
                # those of the actions.
                memory.trials[depth, 0] += counts[NODES] - integers[STARTED]
                integers[STARTED] = counts[NODES]
            else:
                counts[SINGLES] += 1
                put_state(state, work.beliefs[level + 1])
                mode = _descend(work, level, public, depth, reals[LOW], reals[HIGH])
                level += 1
        elif mode == BEGIN:
            # Begin with the actions. The bar is what an action must exceed to matter.
            if game.begins[public] < 0:
                counts[NEEDED_AT] = public
                return _suspend(counts, level, mode, NEEDS_ACTIONS)
            reals[BEST], reals[BAR] = -_INFINITE, reals[LOW]
            integers[BEST_ACTION] = integers[TURN] = integers[FAVOURITE] = -1
            integers[REFUTATIONS] = integers[FAILURES] = 0
            if memory.traits[ADAPTIVE] == 1:
                integers[FAVOURITE] = memory.favourites[public] - 1 - game.begins[public]
            mode = NEXT
        elif mode == NEXT:
            # Choose the next action, unless the best one reaches the upper end of the window.
            begin, turn = game.begins[public], integers[TURN] + 1
            mode = FINISH
            if begin + turn < game.ends[public] and reals[BEST] < reals[HIGH]:
                integers[TURN] = turn
                integers[CURRENT] = begin + in_order(turn, integers[FAVOURITE])
                mode = SPLIT
        elif mode == SPLIT:
            # Compute the successors of the action; it may be refuted without searching any.
            action = integers[CURRENT]
            if not is_within(belief, game.known[action]):
                counts[NEEDED_AT], counts[NEEDED_ACTION] = public, action
                put(belief, work.wanted)
                return _suspend(counts, level, mode, NEEDS_OUTCOMES)
            mode = _split(arrays, action, level)
        elif mode == CHILD:
            # Search the next successor, or value it here if the depth ends: a level of its own
            # would cost more than most leaves.
            i = integers[PART]
            if i == integers[PARTS]:
                mode = DONE
                continue
            after, part = game.after[work.groups[level, i]], work.parts[level, i]
            remaining = integers[REMAINING]
            if work.sizes[level, i] == 0:  # settled
                integers[PART] = i + 1
                continue
            if remaining > 0:
                put(part, work.beliefs[level + 1])
                high = min(reals[HIGH], reals[WORST])
                mode = _descend(work, level, after, remaining, reals[BAR], high)
                level += 1
                continue
            if closes:
                add(part, memory.met[after])
            wanted = memory.met[after] if closes else part  # the closure of a leaf compares all
            if not is_within(wanted, game.valued[after]):
                counts[NEEDED_AT] = after
                put(wanted, work.wanted)
                return _suspend(counts, level, mode, NEEDS_LEAVES)
            counts[NODES] += 1
            value = leaf(arrays, after, part, level + 1)
            mode = VALUED
        elif mode == VALUED:
            # Take the value of a successor: the worst counts, and below the bar it ends the action.
            i, worst = integers[PART], min(reals[WORST], value)
            reals[WORST] = worst
            if worst <= reals[BAR]:
                if explains:
                    _refuted(game, work, worst, i, level)
                mode = DONE
            else:
                if explains:  # CLOSE needs the closures of all successors, in their place
                    put(work.closures[level + 1], work.parts[level, i])
                integers[PART] = i + 1
                mode = CHILD
        elif mode == DONE:
            # The action is done: keep the best, and raise the bar for those that follow.
            mode, worst = NEXT, reals[WORST]
            if worst > reals[BEST]:
                reals[BEST], integers[BEST_ACTION] = worst, integers[CURRENT]
                if worst >= reals[HIGH]:
                    mode = FINISH
                    if explains:
                        mode = CLOSE if closes else FINISH
                        put(belief, work.closures[level])
            reals[BAR] = max(reals[BAR], reals[BEST])
        elif mode == CLOSE:
            # The node failed high: find all states met that the action wins as well (B6).
            action = integers[CURRENT]
            if not is_within(memory.met[public], game.known[action]):
                counts[NEEDED_AT], counts[NEEDED_ACTION] = public, action
                put(memory.met[public], work.wanted)
                return _suspend(counts, level, mode, NEEDS_OUTCOMES)
            # All successors have been searched, so each has its closure in the place of its belief.
            parts, high = integers[PARTS], reals[HIGH]
            close(game, work, memory.met[public], action, parts, high, level)
            mode = FINISH
        elif mode == FINISH:
            # Explain the result and record it. Values inside the window get neither core nor
            # closure; in null windows there are none.
            value = reals[BEST]
            low, high = reals[LOW], reals[HIGH]
            if memory.traits[ADAPTIVE] == 1:
                memory.favourites[public] = integers[BEST_ACTION] + 1
            if explains and value < high:
                clear(work.closures[level])
                clear(work.cores[level])
                if value <= low:
                    explain(game, work, integers[FAILURES], level)
            elif explains:
                clear(work.cores[level])
            _remember(arrays, value, low, high, level)
            if singles_first and size(belief) > 1:
                memory.trials[depth, 2] += 1 + counts[NODES] - integers[STARTED]
                memory.trials[depth, 3] += 1
            if level == 0:
                counts[ACTION] = integers[BEST_ACTION]
            mode = RETURN
        else:
            # Return to the node above, which waits for a state alone or for a successor.
            if level == 0:
                return value
            level -= 1
            state = work.integers[level, SINGLE]
            if state < 0:
                mode = VALUED
            elif value > work.reals[level, LOW]:
                _pass(memory, work.integers[level, SPOT], work.reals[level, LOW], state)
                mode = TRY_STATES
            else:  # the state alone refutes the belief
                trials = memory.trials[work.integers[level, DEPTH]]
                # The mode stays RETURN: what the state is worth bounds the belief.
                trials[0] += counts[NODES] - work.integers[level, STARTED]
                trials[1] += 1
                put_state(state, work.cores[level])
                clear(work.closures[level])


@inlined
def _suspend(counts: Ints, level: Int, mode: Int, reason: Int) -> float:
    """Note why and where the search stops."""
    counts[LEVEL], counts[MODE], counts[STOPPED] = level, mode, reason
    return 0.0


@inlined
def _descend(
    work: SearchWork, level: Int, public: Int, depth: Int, alpha: float, beta: float
) -> Int:
    """Write the task of the next level; return its mode."""
    integers, reals = work.integers[level + 1], work.reals[level + 1]
    integers[PUBLIC], integers[DEPTH] = public, depth
    reals[ALPHA], reals[BETA] = alpha, beta
    return ENTER


@inlined
def _pays(trials: Ints) -> bool:
    """Return whether to try the states of a belief alone: while it saves more time than it costs.

    A refuted belief saves as many nodes as others take. Some beliefs are tried in any case, as both
    change in the course of a search.
    """
    spent, refuted, nodes, beliefs = trials[0], trials[1], trials[2], trials[3]
    return bool(
        spent < _TRIAL_NODES
        or spent * beliefs <= _TRIAL_GAIN * refuted * nodes
        or (beliefs & _TRIAL_MASK) == 0
    )


@inlined
def _untested(memory: Memory, spot: Int, belief: Words, low: float) -> Int:
    """Return a state of the belief that was not tried alone at this depth yet; -1 for none."""
    # What survived a lower window may fail in a higher one.
    if low > memory.passed_at[spot]:
        clear(memory.passed[spot])
        memory.passed_at[spot] = low
    for i in range(len(belief)):
        word = belief[i] & ~memory.passed[spot, i]
        if word != ZERO:
            state: np.int64 = i * 64 + lowest(word)
            return state
    return np.int64(-1)


@inlined
def _pass(memory: Memory, spot: Int, low: float, state: Int) -> None:
    """Record that a state alone is worth more than `low`."""
    # Of all states that passed at a spot only the lowest window is kept, which all of them
    # survived.
    memory.passed_at[spot] = min(low, memory.passed_at[spot])
    memory.passed[spot, state >> 6] |= ONE << np.uint64(state & 63)


@inlined
def _split(arrays: Arrays, action: Int, level: Int) -> Int:  # noqa: C901  inlined anyway
    """Write the successors of an action, the largest first, unless it is refuted without a search.

    With explained results, a core that refuted an earlier action may refute this one. In a
    reachability problem, a state in which the game continues at the end of the depth refutes it.

    Returns:
      The next mode.
    """
    game, memory, work, _ = arrays
    integers, reals, belief = work.integers[level], work.reals[level], work.beliefs[level]
    explains, bar = memory.traits[EXPLAINS] == 1, reals[BAR]
    end, culprit = worst_end(game, belief, action)
    # If nothing can end the game, no successor is worth more than the greatest value.
    worst = min(end, game.scale[1])
    # An action may cost more than is left: the depth ends after it in any case.
    cost = game.costs[action]
    remaining = max(NUMBER_0, integers[DEPTH] - cost)
    if explains and worst > bar and remaining == 0 and cost > 0 and game.scale[2] == 1.0:
        state = continuing_state(game, belief, action)
        if state >= 0:
            worst, culprit = game.scale[0], state
    reals[WORST] = worst
    if worst <= bar:
        if explains:
            _fail(work, np.int64(-1), culprit, level)
        return DONE
    # Insert each successor by size: a large belief is most likely the worst, and one is enough.
    count = NUMBER_0
    parts, groups, sizes = work.parts[level], work.groups[level], work.sizes[level]
    group = game.heads[action]
    while group >= 0:
        if meets(belief, game.sources[group]):
            states = successors(game, group, belief, parts[count])
            if explains:
                after = game.after[group] * DEPTHS + remaining
                # Different senses often leave the same states together, so that what refuted one
                # refutes the next (B5).
                for j in range(integers[REFUTATIONS]):
                    if (
                        work.refuted_at[level, j] == after
                        and work.refuted_by[level, j] <= bar
                        and is_within(work.refuted[level, j], parts[count])
                    ):
                        reals[WORST] = work.refuted_by[level, j]
                        _fail(work, group, j, level)
                        return DONE
            index = count  # larger ones first, equal ones in the order of their groups
            while index > 0 and sizes[index - 1] < states:
                index -= 1
            if index < count:
                insert(parts, groups, sizes, index, count)
            groups[index], sizes[index] = group, states
            count += 1
        group = game.nexts[group]
    integers[PARTS], integers[PART], integers[REMAINING] = count, 0, remaining
    if explains and remaining > 0:
        return _settle(arrays, count, remaining, min(reals[HIGH], worst), level)
    return CHILD


@inlined
def _settle(arrays: Arrays, parts: Int, remaining: Int, high: float, level: Int) -> Int:
    """Look for recorded bounds that settle successors before any is searched.

    A closure replaces a successor that it proves, whose size becomes 0.

    Returns:
      The next mode: `DONE` if a successor refutes the action.
    """
    game, memory, work, _ = arrays
    # All of them first: a look-up costs less than the search of one that proves to be in vain.
    bar = work.reals[level, BAR]
    core, closure = work.cores[level + 1], work.closures[level + 1]
    for i in range(parts):
        after = game.after[work.groups[level, i]]
        spot = np.int64(memory.spots[after, remaining]) - 1
        if spot < 0 and memory.traits[ACROSS] == 0:
            continue
        part = work.parts[level, i]
        lower, upper = search_chains(arrays, after, remaining, spot, part, core, closure)
        if upper <= bar:
            work.reals[level, WORST] = upper
            _refuted(game, work, upper, i, level)
            return DONE
        # It can no longer be the worst, and its closure is needed if the action succeeds.
        if lower >= high:
            put(closure, part)
            work.sizes[level, i] = 0
            high = min(high, lower)
            work.reals[level, WORST] = min(work.reals[level, WORST], lower)
    return CHILD


@inlined
def _fail(work: SearchWork, group: Int, reason: Int, level: Int) -> None:
    """Note why an action failed; see `SearchWork.failures`."""
    k = work.integers[level, FAILURES]
    work.failures[level, k, 0], work.failures[level, k, 1] = group, reason
    work.integers[level, FAILURES] = k + 1


@inlined
def _refuted(game: GameTables, work: SearchWork, worst: float, i: Int, level: Int) -> None:
    """Record a successor that refutes its action, for later actions."""
    integers, group = work.integers[level], work.groups[level, i]
    core, j = work.cores[level + 1], integers[REFUTATIONS]
    work.refuted_at[level, j] = game.after[group] * DEPTHS + integers[REMAINING]
    work.refuted_by[level, j] = worst
    # Without a core only the whole successor is known to fail.
    put(work.parts[level, i] if is_empty(core) else core, work.refuted[level, j])
    integers[REFUTATIONS] = j + 1
    _fail(work, group, j, level)


@inlined
def _remember(arrays: Arrays, value: float, low: float, high: float, level: Int) -> None:
    """Record the result of a node as bounds on its belief, core and closure."""
    memory, work = arrays.memory, arrays.work
    integers = work.integers[level]
    belief, core, closure = work.beliefs[level], work.cores[level], work.closures[level]
    explains = memory.traits[EXPLAINS] == 1
    larger = explains and value >= high and not is_same(closure, belief)
    smaller = explains and value <= low and not is_empty(core)
    # The belief's lower bound, the closure's, and the upper bound of the core or of the belief. The
    # call in a loop is compiled once; three calls would be inlined three times.
    for turn in range(3):
        mask, bound, side = belief, value, NUMBER_0
        if turn == 0:
            if value <= low or (larger and value == high):
                continue
        elif turn == 1:
            if not larger:
                continue
            mask, bound = closure, high
        else:
            if value >= high:
                continue
            mask, side = core if smaller else belief, np.int64(1)
        record(arrays, integers[PUBLIC], integers[DEPTH], integers[SPOT], mask, bound, side)
