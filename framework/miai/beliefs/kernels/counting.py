"""A Count-Sketch, and a heap of the entries that it estimates to be rare.

As `CountSketch` and `MostFrequent` of `miai.beliefs.retention`, on arrays. An entry's rank is its
estimate when it was last looked at; an estimate that has grown since moves the entry down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels import inlined, kernel
from miai.beliefs.kernels.layout import HEAPED, Int, Ints, Memory, Words

Votes = NDArray[np.float64]

_GOLDEN, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)


@inlined
def mixed(number: np.uint64) -> np.uint64:
    """Return the hash of a number, that of `miai.beliefs.sets.hashed`."""
    x = number + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def count_name(tallies: Ints, name: np.uint64) -> None:
    """Count a name once.

    Args:
      tallies: (rows, width) the counters.
      name: 64 bits.
    """
    rows, width = tallies.shape
    for row in range(rows):
        place = mixed(name ^ mixed(np.uint64(row) + _ONE))
        at = np.int64((place >> _ONE) % np.uint64(width))
        tallies[row, at] += 1 if place & _ONE != np.uint64(0) else -1


@inlined
def estimate_of(tallies: Ints, votes: Votes, name: np.uint64) -> float:
    """Return the estimated count of a name, the median over the rows.

    Args:
      tallies: (rows, width) the counters.
      votes: (rows,) scratch.
      name: 64 bits.
    """
    rows, width = tallies.shape
    for row in range(rows):
        place = mixed(name ^ mixed(np.uint64(row) + _ONE))
        count = tallies[row, np.int64((place >> _ONE) % np.uint64(width))]
        vote = float(count if place & _ONE != np.uint64(0) else -count)
        at = row
        while at > 0 and votes[at - 1] > vote:
            votes[at] = votes[at - 1]
            at -= 1
        votes[at] = vote
    half = rows >> 1
    return float(votes[half]) if rows & 1 else (votes[half - 1] + votes[half]) / 2.0


@kernel
def count_names(tallies: Ints, names: Words) -> None:
    """Count each of some names once; see `count_name`."""
    for name in names:
        count_name(tallies, name)


@kernel
def estimates_of(tallies: Ints, votes: Votes, names: Words, out: Votes) -> None:
    """Write the estimated count of each of some names; see `estimate_of`."""
    for i in range(len(names)):
        out[i] = estimate_of(tallies, votes, names[i])


# -- the heap -------------------------------------------------------------------------------------


@inlined
def _is_rarer(memory: Memory, entry: Int, other: Int) -> bool:
    """Return whether an entry is to be forgotten before another."""
    rank, other_rank = memory.ranks[entry], memory.ranks[other]
    return bool(
        rank < other_rank or (rank == other_rank and memory.names[entry] < memory.names[other])
    )


@inlined
def sift(memory: Memory, at: Int) -> None:
    """Move the entry at a place of the heap to where its rank belongs."""
    heap, places, count = memory.heap, memory.places, memory.traits[HEAPED]
    entry = heap[at]
    while at > 0 and _is_rarer(memory, entry, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        places[heap[at]] = at
        at = (at - 1) >> 1
    while 2 * at + 1 < count:
        child = 2 * at + 1
        child += child + 1 < count and _is_rarer(memory, heap[child + 1], heap[child])
        if not _is_rarer(memory, heap[child], entry):
            break
        heap[at] = heap[child]
        places[heap[at]] = at
        at = child
    heap[at] = entry
    places[entry] = at


@inlined
def put_in_heap(memory: Memory, entry: Int, name: np.uint64, rank: float) -> None:
    """Add an entry."""
    at = memory.traits[HEAPED]
    memory.traits[HEAPED] = at + 1
    memory.names[entry], memory.ranks[entry], memory.heap[at] = name, rank, entry
    sift(memory, at)


@inlined
def take_from_heap(memory: Memory, entry: Int) -> None:
    """Remove an entry."""
    at, last = memory.places[entry], memory.traits[HEAPED] - 1
    memory.traits[HEAPED] = last
    if at < last:
        memory.heap[at] = memory.heap[last]
        sift(memory, at)


@inlined
def rename_in_heap(memory: Memory, entry: Int, other: Int) -> None:
    """Give an entry's place to another number."""
    at = memory.places[entry]
    memory.names[other], memory.ranks[other] = memory.names[entry], memory.ranks[entry]
    memory.heap[at], memory.places[other] = other, at


@inlined
def rarest(memory: Memory) -> Int:
    """Return the entry with the lowest estimate; -1 if there is none."""
    while memory.traits[HEAPED] > 0:
        entry: np.int64 = memory.heap[0]
        now = estimate_of(memory.tallies, memory.votes, memory.names[entry])
        if now <= memory.ranks[entry]:
            return entry
        memory.ranks[entry] = now
        sift(memory, np.int64(0))
    return np.int64(-1)
