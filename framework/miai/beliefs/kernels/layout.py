"""The arrays of the compiled search: the tables of a game, the recorded bounds and the work space.

Beliefs are rows of `words` 64-bit words; bit i stands for state i of the public part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels import inlined
from miai.kernels.bits import popcount

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Int = int | np.signedinteger[Any]

NUMBER_0, NUMBER_1 = np.int64(0), np.int64(1)
"""For arguments: a literal 0 or 1 has a type of its own, which would compile the callee again."""

CHUNK = 16
"""Number of entries in a chunk of a chain."""

NODES, LEAVES, SINGLES, MAX_NODES, STOPPED, ACTION, PROBES, HITS, TESTS, ENTRIES, LOST = range(11)
COUNTS = 11
"""Indices into the array of counts. `ACTION` is the best action at the root, `LOST` counts entries
that were rejected for lack of room."""
BUDGET_SPENT, TOO_DEEP = 1, 2
"""Why a search stopped: its node or time budget is spent, or its work space is too small."""

NONE, TABLE, CHAINS, DOMINANCE, MINHASH = range(5)
"""What is recorded: nothing, a table of beliefs, antichains, or sketches by one of two rules."""
RULE, SINGLES_FIRST, EXPLAINS, ACROSS, ADAPTIVE, VERIFIED, USED, FREE, SLOTS = range(9)
TRAITS = 9
"""Indices into the array of a memory's traits: how bounds are recorded and used; the number of
entries or chunks in use; the first chunk to reuse (-1 for none); the slots in use, a power of 2."""


class GameTables(NamedTuple):
    """An enumerated game: P public parts, A actions, and G groups, an observation after an action.

    Attributes:
      sizes: (P,) number of states of each public part.
      every: (P, words) all of them.
      firsts: (P,) index of a public part's first state in `leaves` and `hashes`.
      leaves, hashes: values where the depth ends, and hashes, of all states.
      begins, ends: (P,) range of a public part's actions.
      costs, lasts: (A,) cost of an action; index of its first terminal value in `worst`, -1 if it
        ends no game.
      group_begins, group_ends: (A,) range of its groups.
      over: (A, words) states in which an action can end the game.
      worst: terminal values; infinity if the game cannot end.
      after: (G,) the public part that follows.
      sources: (G, words) the states in which the observation is possible.
      successors: (G,) index in `rows` of the first state's successors; -1 if no state changes.
      rows: row of `pool` for each state; -1 for none.
      pool: (n, words) sets of successors.
      scale: (3,) the lowest and the highest value; 1.0 if all values are one of these, else 0.0.
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
    """The recorded bounds.

    Attributes:
      traits: see `TRAITS`.
      slots: a table with open addressing: 1 + entry, or 0 for none.
      heads: (P, depths, 2) the last chunk of the chains of lower and of upper bounds; -1 for none.
      counts, nexts: (chunks,) number of entries in a chunk, and the chunk before it.
      keys: (entries,) in a table: public part and depth; with sketches: a hash of the belief.
      masks: (entries, words) the beliefs; empty if they are dropped.
      values: (entries, 2) in a table: lower and upper bound; in a chain: the bound.
      sketches, lengths, totals: (entries, k), (entries,), (entries,) the sketch of a belief, its
        length, and the number of states of the belief.
      limits: (1,) the minimum share of the smaller belief in the larger one.
      passed, passed_at: (P, depths, words), (P, depths) states that alone are worth more than a
        value, and this value.
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
    """The work space: a row for each level of the recursion.

    Attributes:
      beliefs: (levels, words) the belief of the node.
      cores, closures: (levels, words) core and closure of its result; empty without one.
      gathered, won: (levels, words) the core of the actions so far, the closure of the best one.
      culprits: (levels, words) the core of the current action.
      parts, groups, sizes: (levels, groups, words), (levels, groups), (levels, groups) the
        successors of an action, the group of each, and its number of states.
      refuted, refuted_at, refuted_by: (levels, n, words), (levels, n), (levels, n) cores of refuted
        successors, their public part and depth, and their value.
      favourites: (P,) the last best action.
      sketch: (k,) the sketch of the belief that is probed or recorded.
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


class Arrays(NamedTuple):
    """All arrays of a search; `counts` has the indices above."""

    game: GameTables
    memory: Memory
    work: SearchWork
    counts: Ints


# -- beliefs as rows of words ----------------------------------------------------------------------

ONE, ZERO = np.uint64(1), np.uint64(0)


@inlined
def size(mask: Words) -> Int:
    """Return the number of states."""
    count = np.int64(0)
    for i in range(len(mask)):
        count += popcount(mask[i])
    return count


@inlined
def clear(mask: Words) -> None:
    """Remove all states."""
    for i in range(len(mask)):
        mask[i] = ZERO


@inlined
def put(mask: Words, out: Words) -> None:
    """Copy a belief."""
    for i in range(len(mask)):
        out[i] = mask[i]


@inlined
def add(mask: Words, out: Words) -> None:
    """Add the states of a belief to another."""
    for i in range(len(mask)):
        out[i] |= mask[i]


@inlined
def leave(mask: Words, out: Words) -> None:
    """Remove the states of a belief from another."""
    for i in range(len(mask)):
        out[i] &= ~mask[i]


@inlined
def put_state(state: Int, out: Words) -> None:
    """Write the belief of one state."""
    clear(out)
    out[state >> 6] = ONE << np.uint64(state & 63)


@inlined
def is_empty(mask: Words) -> bool:
    """Return whether a belief has no states."""
    union = ZERO
    for i in range(len(mask)):
        union |= mask[i]
    return bool(union == ZERO)


@inlined
def is_within(inner: Words, outer: Words) -> bool:
    """Return whether all states of one belief are in another."""
    beyond = ZERO
    for i in range(len(inner)):
        beyond |= inner[i] & ~outer[i]
    return bool(beyond == ZERO)


@inlined
def meets(mask: Words, other: Words) -> bool:
    """Return whether two beliefs have a state in common."""
    common = ZERO
    for i in range(len(mask)):
        common |= mask[i] & other[i]
    return bool(common != ZERO)


@inlined
def is_same(mask: Words, other: Words) -> bool:
    """Return whether two beliefs are equal."""
    apart = ZERO
    for i in range(len(mask)):
        apart |= mask[i] ^ other[i]
    return bool(apart == ZERO)


@inlined
def hash_of(mask: Words, salt: np.uint64) -> np.uint64:
    """Return 64 well-mixed bits of a belief and a number (splitmix64, Steele et al. 2014)."""
    mixed = salt
    for i in range(len(mask)):
        mixed = (mixed ^ mask[i]) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
