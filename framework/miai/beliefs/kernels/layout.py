"""The arrays of the compiled search: a game in tables, what is remembered, and room to work in.

Beliefs are rows of `words` 64-bit words; bit i stands for state i of its public part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Int = int | np.signedinteger[Any]

NUMBER_0, NUMBER_1 = np.int64(0), np.int64(1)
"""For arguments: a plain 0 or 1 would be a type of its own, and the callee compiled once more."""

CHUNK = 16
"""Entries that a chain of bounds holds in one place."""

NODES, LEAVES, SINGLES, MAX_NODES, STOPPED, ACTION, PROBES, HITS, TESTS, ENTRIES, LOST = range(11)
COUNTS = 11
"""Places in the array of counts; `ACTION` is the best one at the root, `LOST` counts entries for
which there was no room."""
BUDGET_SPENT, TOO_DEEP = 1, 2
"""Why a search stopped: its nodes or its time are used up, or its room to work in."""

NONE, TABLE, CHAINS, DOMINANCE, MINHASH = range(5)
"""What is remembered: nothing, equal beliefs, antichains, or sketches by one of two rules."""
RULE, SINGLES_FIRST, EXPLAINS, ACROSS, ADAPTIVE, VERIFIED, USED, FREE, SLOTS = range(9)
TRAITS = 9
"""Places in the array of a memory's traits: how bounds are found and used, then entries or chunks
in use, the first chunk that is free again (-1 for none), and slots in use, a power of two."""


class GameTables(NamedTuple):
    """A game that was enumerated. P public parts, A actions, G groups: an action and what is told.

    Attributes:
      sizes: (P,) states of each public part.
      every: (P, words) all of them.
      firsts: (P,) where the values and hashes of a public part's states begin.
      leaves, hashes: of all states.
      begins, ends: (P,) the actions of a public part.
      costs, lasts: (A,) what an action costs; where the terminal values of its states begin, or -1
        where it ends no game.
      group_begins, group_ends: (A,) its groups.
      over: (A, words) states in which an action can end the game.
      worst: terminal values, infinity where the game cannot end.
      after: (G,) the public part that follows.
      sources: (G, words) the states in which this can be told.
      successors: (G,) where the rows in `pool` of its states' successors begin in `rows`; -1 where
        every state stays what it is.
      rows: of `pool`; -1 for none.
      pool: (n, words) sets of successors.
      scale: (2,) the least and the greatest value; then 1.0 if all values are one of these.
    """

    sizes: Ints
    every: Words
    firsts: Ints
    leaves: Floats
    hashes: Words
    begins: Ints
    ends: Ints
    costs: Ints
    lasts: Ints
    group_begins: Ints
    group_ends: Ints
    over: Words
    worst: Floats
    after: Ints
    sources: Words
    successors: Ints
    rows: NDArray[np.int32]
    pool: Words
    scale: Floats


class Memory(NamedTuple):
    """What is remembered of beliefs.

    Attributes:
      traits: see `TRAITS`.
      slots: open addressing of a table: 1 + its entry, 0 for none.
      heads: (P, depths, 2) of a chain the last chunk, -1 for none; lower bounds, then upper ones.
      counts, nexts: (chunks,) entries in a chunk, and the chunk before it.
      keys: (entries,) of a table: public part and depth; of sketches a hash of the belief.
      masks: (entries, words); none where beliefs are dropped.
      values: (entries, 2): of a table the lower and the upper bound, of a chain the bound.
      sketches, lengths, totals: (entries, k), (entries,), (entries,): hashes of a belief, how many
        they are, and how many states it has.
      limits: (2,) how similar beliefs are to be for a bound; how many chunks there is room for.
      passed, passed_at: (P, depths, words), (P, depths): states that alone are worth more than
        that.
    """

    traits: Ints
    slots: Ints
    heads: Ints
    counts: Ints
    nexts: Ints
    keys: Ints
    masks: Words
    values: Floats
    sketches: Words
    lengths: Ints
    totals: Ints
    limits: Floats
    passed: Words
    passed_at: Floats


class SearchWork(NamedTuple):
    """Room to work in: a row for each call that is under way.

    Attributes:
      beliefs: (levels, words) what is searched.
      cores, closures: (levels, words) explain what was found; empty where nothing does.
      gathered, won: (levels, words) the core of the actions so far, the closure of the best one.
      culprits: (levels, words) of one action.
      parts, groups, sizes: (levels, groups, words), (levels, groups), (levels, groups): what an
        action leads to, the group of each, and its states.
      refuted, refuted_at, refuted_by: (levels, n, words), (levels, n), (levels, n): cores of
        siblings, their public part and depth, and their value.
      favourites: (P,) the action that was best last.
      sketch: (k,) of the belief that is asked for.
    """

    beliefs: Words
    cores: Words
    closures: Words
    gathered: Words
    won: Words
    culprits: Words
    parts: Words
    groups: Ints
    sizes: Ints
    refuted: Words
    refuted_at: Ints
    refuted_by: Floats
    favourites: Ints
    sketch: Words
