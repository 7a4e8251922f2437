"""Beliefs as rows of 64-bit words."""

from __future__ import annotations

import numpy as np

from miai.beliefs.kernels.layout import Int, Words
from miai.kernels import inlined
from miai.kernels.bits import popcount

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
