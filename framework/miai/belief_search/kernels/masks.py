"""Beliefs as rows of 64-bit words."""

from __future__ import annotations

import numpy as np

from miai.belief_search.kernels.layout import Int, Words
from miai.kernels import inlined

ONE, ZERO = np.uint64(1), np.uint64(0)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_FIVES, _THREES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_FIFTEENS, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_SHIFT_1, _SHIFT_2, _SHIFT_4, _SHIFT_56 = (np.uint64(n) for n in (1, 2, 4, 56))
_SHIFT_58 = np.uint64(58)


def _places() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    table = np.zeros(64, np.int64)
    for place in range(64):
        table[(int(_DE_BRUIJN) << place & 0xFFFFFFFFFFFFFFFF) >> 58] = place
    return table


_PLACES = _places()


@inlined
def lowest(word: np.uint64) -> Int:
    """Return the place of the lowest bit of a word that has one."""
    low = word & (ZERO - word)
    place: np.int64 = _PLACES[np.int64((low * _DE_BRUIJN) >> _SHIFT_58)]
    return place


@inlined
def bits_of(word: np.uint64) -> Int:
    """Return the number of bits that are set."""
    word = word - ((word >> _SHIFT_1) & _FIVES)
    word = (word & _THREES) + ((word >> _SHIFT_2) & _THREES)
    word = (word + (word >> _SHIFT_4)) & _FIFTEENS
    return np.int64((word * _BYTES) >> _SHIFT_56)


@inlined
def size(mask: Words) -> Int:
    """Return the number of states."""
    count = np.int64(0)
    for i in range(len(mask)):
        count += bits_of(mask[i])
    return count


@inlined
def clear(mask: Words) -> None:
    """Make it empty."""
    for i in range(len(mask)):
        mask[i] = ZERO


@inlined
def put(mask: Words, out: Words) -> None:
    """Copy it."""
    for i in range(len(mask)):
        out[i] = mask[i]


@inlined
def add(mask: Words, out: Words) -> None:
    """Unite it with another."""
    for i in range(len(mask)):
        out[i] |= mask[i]


@inlined
def leave(mask: Words, out: Words) -> None:
    """Take its states out of another."""
    for i in range(len(mask)):
        out[i] &= ~mask[i]


@inlined
def put_state(state: Int, out: Words) -> None:
    """Make it the belief of one state."""
    clear(out)
    out[state >> 6] = ONE << np.uint64(state & 63)


@inlined
def is_empty(mask: Words) -> bool:
    """Return whether no state is in it."""
    found = ZERO
    for i in range(len(mask)):
        found |= mask[i]
    return bool(found == ZERO)


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
