"""A Count-Sketch, and a heap of the entries that it estimates to be rare.

As `CountSketch` and `MostFrequent` of `miai.beliefs.retention`, on arrays. An entry's rank is its
estimate when it was last looked at; an estimate that has grown since moves the entry down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels import inlined
from miai.beliefs.kernels.layout import HEAPED, Frequencies, Ints, Memory
from miai.kernels.shared import Int, mixed

Votes = NDArray[np.float64]

_ONE = np.uint64(1)


@inlined
def count_name(tallies: Ints, name: np.uint64) -> None:
    """Count a name once.

    Args:
      tallies: (rows, width) the counters.
      name: 64 bits.
    """
    rows, width = tallies.shape
    for row in range(rows):
        # One hash serves twice: its lowest bit is the sign, the others choose the counter.
        place = mixed(name ^ mixed(np.uint64(row) + _ONE))
        index = np.int64((place >> _ONE) % np.uint64(width))
        tallies[row, index] += 1 if place & _ONE != np.uint64(0) else -1


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
        # Sort as the votes come in: there are five of them.
        index = row
        while index > 0 and votes[index - 1] > vote:
            votes[index] = votes[index - 1]
            index -= 1
        votes[index] = vote
    half = rows >> 1
    return float(votes[half]) if rows & 1 else (votes[half - 1] + votes[half]) / 2.0


# -- the heap -------------------------------------------------------------------------------------


@inlined
def _is_rarer(counted: Frequencies, entry: Int, other: Int) -> bool:
    """Return whether an entry is to be forgotten before another."""
    ranks, names = counted.ranks, counted.names
    # Names break ties, so that what is forgotten does not depend on the order of the heap.
    tied = ranks[entry] == ranks[other] and names[entry] < names[other]
    return bool(ranks[entry] < ranks[other] or tied)


@inlined
def sift(memory: Memory, index: Int) -> None:
    """Move the entry at a place of the heap to where its rank belongs."""
    counted, count = memory.frequencies, memory.traits[HEAPED]
    heap, places = counted.heap, counted.places
    entry = heap[index]
    # Up while it is rarer than its parent, then down while a child is rarer; one of both does
    # nothing.
    while index > 0 and _is_rarer(counted, entry, heap[(index - 1) >> 1]):
        heap[index] = heap[(index - 1) >> 1]
        places[heap[index]] = index
        index = (index - 1) >> 1
    while 2 * index + 1 < count:
        child = 2 * index + 1
        child += child + 1 < count and _is_rarer(counted, heap[child + 1], heap[child])
        if not _is_rarer(counted, heap[child], entry):
            break
        heap[index] = heap[child]
        places[heap[index]] = index
        index = child
    heap[index] = entry
    places[entry] = index


@inlined
def put_in_heap(memory: Memory, entry: Int, name: np.uint64, rank: float) -> None:
    """Add an entry."""
    counted, index = memory.frequencies, memory.traits[HEAPED]
    memory.traits[HEAPED] = index + 1
    counted.names[entry], counted.ranks[entry], counted.heap[index] = name, rank, entry
    sift(memory, index)


@inlined
def take_from_heap(memory: Memory, entry: Int) -> None:
    """Remove an entry."""
    counted = memory.frequencies
    # The last entry of the heap takes the free place, and from there up or down.
    index, last = counted.places[entry], memory.traits[HEAPED] - 1
    memory.traits[HEAPED] = last
    if index < last:
        counted.heap[index] = counted.heap[last]
        sift(memory, index)


@inlined
def rename_in_heap(memory: Memory, entry: Int, other: Int) -> None:
    """Give an entry's place to another number."""
    counted = memory.frequencies
    index = counted.places[entry]
    counted.names[other], counted.ranks[other] = counted.names[entry], counted.ranks[entry]
    counted.heap[index], counted.places[other] = other, index


@inlined
def rarest(memory: Memory) -> Int:
    """Return the entry with the lowest estimate; -1 if there is none."""
    counted = memory.frequencies
    while memory.traits[HEAPED] > 0:
        entry: np.int64 = counted.heap[0]
        # Ranks are of the past. A counter that grew since moves the entry down; bringing all of
        # them up to date would take longer than the search.
        now = estimate_of(counted.tallies, counted.votes, counted.names[entry])
        if now <= counted.ranks[entry]:
            return entry
        counted.ranks[entry] = now
        sift(memory, np.int64(0))
    return np.int64(-1)
