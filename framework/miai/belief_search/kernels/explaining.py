"""Why a belief fails or wins, traced back through an action; as `miai.belief_search.explaining`."""

from __future__ import annotations

import numpy as np

from miai.belief_search.kernels.layout import (
    EXPLAINS,
    NUMBER_0,
    Game,
    Int,
    Memory,
    Words,
    Work,
)
from miai.belief_search.kernels.masks import (
    ONE,
    ZERO,
    add,
    clear,
    is_empty,
    is_within,
    leave,
    meets,
    put,
    put_state,
)
from miai.kernels import inlined, part
from miai.kernels.bits import lowest


@inlined
def going_on(game: Game, work: Work, action: Int, level: Int) -> None:
    """Write a state that an action does not end the game in; of the core so far, if it can be."""
    for group in range(game.group_begins[action], game.group_ends[action]):
        for i in range(work.beliefs.shape[1]):
            word = work.beliefs[level, i] & game.sources[group, i]
            if word & work.gathered[level, i] != ZERO:
                put_state(i * 64 + lowest(word & work.gathered[level, i]), work.culprits[level])
                return
            if word != ZERO:
                put_state(i * 64 + lowest(word), work.culprits[level])


@inlined
def sources_of(game: Game, memory: Memory, work: Work, group: Int, level: Int) -> None:
    """Write as the culprit states of a belief that lead to all of the core below.

    States of the core so far come first; without a core the whole belief is written.
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
                made = game.pool[game.rows[row + state]]
                if meets(made, targets):
                    culprit[i] |= ONE << np.uint64(state & 63)
                    leave(made, targets)
        if is_empty(targets):
            return
    put(belief, culprit)


@part
def close(
    game: Game, work: Work, public: Int, action: Int, parts: Int, beta: float, level: Int
) -> None:
    """Add to the row of `work.won` all states that an action leads into closures only."""
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
def _escape(game: Game, work: Work, group: Int, solved: Words, bad: Words) -> None:
    """Add to `bad` the states that lead, where this is told, beyond what is solved."""
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
