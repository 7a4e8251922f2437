"""The arrays of the compiled search: the tables of a game, the recorded bounds and the work space.

Beliefs are rows of `words` 64-bit words; bit i stands for state i of the public part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels import inlined
from miai.kernels.bits import popcount
from miai.kernels.shared import Int, Words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Chains are scanned from end to end, which a list of single entries would make a wait for memory
# each. Longer chunks would leave more room unused at the ends of short chains.
CHUNK = 4
"""Number of entries in a chunk of a chain; 1 if retention removes entries one by one."""

(
    NODES,
    LEAVES,
    SINGLES,
    MAX_NODES,
    STOPPED,
    ACTION,
    PROBES,
    HITS,
    TESTS,
    ENTRIES,
    LOST,
    LEVEL,
    MODE,
    NEEDED_AT,
    NEEDED_ACTION,
    FORGOTTEN,
) = range(16)
COUNTS = 16
"""Indices into the array of counts. `ACTION` is the best action at the root, `LOST` counts entries
that were rejected for lack of room, `LEVEL` and `MODE` say where a stopped search continues,
`NEEDED_AT` and `NEEDED_ACTION` for which public part and action it needs rows of the tables, and
`FORGOTTEN` counts entries that retention rejected or removed."""
# A search stops for what it lacks and continues in the same place: Python supplies states while the
# kernel holds its stack in arrays.
RUNS, BUDGET_SPENT, TOO_DEEP, NEEDS_ACTIONS, NEEDS_OUTCOMES, NEEDS_LEAVES, NEEDS_SPOTS = range(7)
"""Why a search stopped: its node or time budget is spent; its work space is too small; or the
tables lack the actions of a public part, the outcomes of an action or the values of leaves in
``work.wanted``; or the memory has no room for a public part and depth."""

NONE, TABLE, CHAINS, MINHASH = range(4)
"""What is recorded: nothing, a table of beliefs, antichains, or sketches."""
(
    RULE,
    SINGLES_FIRST,
    EXPLAINS,
    CLOSES,
    ACROSS,
    ADAPTIVE,
    VERIFIED,
    RETAINS,
    CHUNK_SIZE,
    USED,
    FREE,
    SLOTS,
    SPOTS,
    HEAPED,
) = range(14)
TRAITS = 14
"""Indices into the array of a memory's traits: how bounds are recorded and used; whether the
entries that a Count-Sketch estimates to be frequent are retained; entries per chunk; the number of
entries or chunks in use; the first chunk to reuse (-1 for none); the slots in use, a power of 2;
the spots in use; the size of the heap."""

(
    PUBLIC,
    DEPTH,
    SPOT,
    TURN,
    CURRENT,
    FAVOURITE,
    BEST_ACTION,
    PARTS,
    PART,
    REMAINING,
    REFUTATIONS,
    FAILURES,
    SINGLE,
    STARTED,
) = range(14)
INTEGERS = 14
"""Columns of `SearchWork.integers`: the public part and depth of a node; its spot in the memory;
the turn in the order of actions and the current action; the place of the action to try first
(negative for none) and the best action so far; the number of successors of the current action, the
one that is searched, and their depth; the numbers of refuted successors and of failed actions; the
state that is tried alone, -1 for none; the nodes counted before its states, or after them its
actions, were searched."""
ALPHA, BETA, LOW, HIGH, BEST, BAR, WORST = range(7)
REALS = 7
"""Columns of `SearchWork.reals`: the window of a node, and what bounds on its belief leave of it;
the best value so far; the value that an action must exceed; the worst outcome of the current
action."""


class GameTables(NamedTuple):
    """A game as far as it is enumerated.

    It has P public parts, A actions, and G groups, each an observation after an action.

    Attributes:
      marks: (P,) a hash of each public part, the same in every process.
      firsts: (P,) index of a public part's first state in `leaves` and `hashes`.
      leaves, hashes: values where the depth ends, and hashes, of all states.
      valued: (P, words) the states whose leaf value is known.
      begins, ends: (P,) range of a public part's actions; -1 if they are not known.
      costs, lasts: (A,) cost of an action; index of its first terminal value in `worst`, -1 if it
        ends no game.
      heads: (A,) its first group; -1 for none.
      known: (A, words) the states whose outcomes are known.
      over: (A, words) states in which an action can end the game.
      worst: terminal values; infinity if the game cannot end.
      after: (G,) the public part that follows.
      nexts: (G,) the next group of the same action; -1 for none.
      sources: (G, words) the states in which the observation is possible.
      successors: (G,) index in `rows` of the first state's successors; -1 if no state changes.
      rows: row of `pool` for each state; -1 for none.
      pool: (n, words) sets of successors.
      scale: (3,) the lowest and the highest value; 1.0 if all values are one of these, else 0.0.
    """

    marks: Words
    firsts: Ints
    leaves: Floats
    hashes: Words
    valued: Words
    begins: Ints
    ends: Ints
    costs: Ints
    lasts: Ints
    heads: Ints
    known: Words
    over: Words
    worst: Floats
    after: Ints
    nexts: Ints
    sources: Words
    successors: Ints
    rows: NDArray[np.int32]
    pool: Words
    scale: Floats


class Sketches(NamedTuple):
    """The sketches of the recorded beliefs.

    Attributes:
      hashes, lengths, totals: (entries, k), (entries,), (entries,) the sketch of a belief, its
        length, and the number of states of the belief.
      threshold: (1,) the minimum share of the smaller belief in the larger one.
    """

    hashes: Words
    lengths: Ints
    totals: Ints
    threshold: Floats


class Frequencies(NamedTuple):
    """How often entries were used, as a Count-Sketch estimates it.

    Attributes:
      tallies, votes: (rows, width), (rows,) the counters, and scratch.
      names, ranks, places: (entries,) the name of an entry, its estimate when it was last looked
        at, and its place in the heap.
      heap: (entries,) the entries, the rarest first.
    """

    tallies: Ints
    votes: Floats
    names: Words
    ranks: Floats
    places: Ints
    heap: Ints


class Memory(NamedTuple):
    """The recorded bounds. A *spot* is a public part at a depth.

    Attributes:
      traits: see `TRAITS`.
      slots: a table with open addressing: 1 + entry, or 0 for none.
      spots: (P, depths) 1 + number of a spot, or 0 for none.
      heads: (spots, 2) the last chunk of the chains of lower and of upper bounds; -1 for none.
      passed, passed_at: (spots, words), (spots,) states that alone are worth more than a value, and
        this value.
      met: (P, words) the states that were searched under a public part.
      favourites: (P,) 1 + the last best action, or 0 for none.
      trials: (depths, 4) what trying states alone has cost and saved at a depth: nodes, refuted
        beliefs, the nodes of beliefs that were searched, and their number.
      counts, nexts: (chunks,) number of entries in a chunk, and the chunk before it.
      keys: (entries,) in a table: public part and depth; with sketches: a hash of the belief.
      masks: (entries, words) the beliefs; empty if they are dropped.
      values: (entries, 2) in a table: lower and upper bound; in a chain: the bound.
      homes: (chunks,) twice the spot of a chunk's chain, plus 1 for upper bounds.
      sketches: the sketches, if the rule is `MINHASH`.
      frequencies: what retention knows of the entries.
    """

    traits: Ints
    slots: Ints
    spots: NDArray[np.int32]
    heads: Ints
    passed: Words
    passed_at: Floats
    met: Words
    favourites: Ints
    trials: Ints
    counts: Ints
    nexts: Ints
    keys: Ints
    masks: Words
    values: Floats
    homes: Ints
    sketches: Sketches
    frequencies: Frequencies


# One row for each level instead of local variables: so a search can stop anywhere, return to Python
# and continue, and a level costs no call.
class SearchWork(NamedTuple):
    """The work space: a row for each level of the search.

    Attributes:
      integers, reals: (levels, n) see `INTEGERS` and `REALS`.
      beliefs: (levels, words) the belief of the node.
      cores, closures: (levels, words) core and closure of its result; empty without one.
      parts, groups, sizes: (levels, groups, words), (levels, groups), (levels, groups) the
        successors of an action, the group of each, and its number of states.
      refuted, refuted_at, refuted_by: (levels, actions, words), (levels, actions), (levels,
        actions) cores of refuted successors, their public part and depth, and their value.
      failures: (levels, actions, 2) why an action failed: a group and the number of a refuted
        successor, or -1 and a state.
      scratch: (words,) states at work.
      wanted: (words,) states whose rows of the tables are needed.
      sketch: (k,) the sketch of the belief that is probed or recorded.
    """

    integers: Ints
    reals: Floats
    beliefs: Words
    cores: Words
    closures: Words
    parts: Words
    groups: Ints
    sizes: Ints
    refuted: Words
    refuted_at: Ints
    refuted_by: Floats
    failures: Ints
    scratch: Words
    wanted: Words
    sketch: Words


class Arrays(NamedTuple):
    """All arrays of a search; `counts` has the indices above."""

    game: GameTables
    memory: Memory
    work: SearchWork
    counts: Ints


# -- beliefs as rows of words ----------------------------------------------------------------------

# Most beliefs have one word. The first is treated apart, as entering a vectorised loop for a single
# word takes several times as long as the word itself.

ONE, ZERO = np.uint64(1), np.uint64(0)


@inlined
def size(mask: Words) -> Int:
    """Return the number of states."""
    count: np.int64 = popcount(mask[0])
    for i in range(1, len(mask)):
        count += popcount(mask[i])
    return count


@inlined
def clear(mask: Words) -> None:
    """Remove all states."""
    mask[0] = ZERO
    for i in range(1, len(mask)):
        mask[i] = ZERO


@inlined
def put(mask: Words, out: Words) -> None:
    """Copy a belief."""
    out[0] = mask[0]
    for i in range(1, len(mask)):
        out[i] = mask[i]


@inlined
def add(mask: Words, out: Words) -> None:
    """Add the states of a belief to another."""
    out[0] |= mask[0]
    for i in range(1, len(mask)):
        out[i] |= mask[i]


@inlined
def leave(mask: Words, out: Words) -> None:
    """Remove the states of a belief from another."""
    out[0] &= ~mask[0]
    for i in range(1, len(mask)):
        out[i] &= ~mask[i]


@inlined
def put_state(state: Int, out: Words) -> None:
    """Write the belief of one state."""
    clear(out)
    out[state >> 6] = ONE << np.uint64(state & 63)


@inlined
def low_bit(word: np.uint64) -> np.uint64:
    """Return the lowest set bit."""
    return word & (~word + ONE)


@inlined
def is_empty(mask: Words) -> bool:
    """Return whether a belief has no states."""
    if mask[0] != ZERO:
        return False
    union = ZERO
    for i in range(1, len(mask)):
        union |= mask[i]
    return bool(union == ZERO)


@inlined
def is_within(inner: Words, outer: Words) -> bool:
    """Return whether all states of one belief are in another."""
    if inner[0] & ~outer[0] != ZERO:
        return False
    beyond = ZERO
    for i in range(1, len(inner)):
        beyond |= inner[i] & ~outer[i]
    return bool(beyond == ZERO)


@inlined
def meets(mask: Words, other: Words) -> bool:
    """Return whether two beliefs have a state in common."""
    if mask[0] & other[0] != ZERO:
        return True
    common = ZERO
    for i in range(1, len(mask)):
        common |= mask[i] & other[i]
    return bool(common != ZERO)


@inlined
def is_same(mask: Words, other: Words) -> bool:
    """Return whether two beliefs are equal."""
    if mask[0] != other[0]:
        return False
    apart = ZERO
    for i in range(1, len(mask)):
        apart |= mask[i] ^ other[i]
    return bool(apart == ZERO)
