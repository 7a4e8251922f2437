"""What kernels of several families share: hashes, tables that are found by them, orders of actions.

The parts are here, and not in one of the families: a family compiles them into its kernels, and
its cache is keyed by its own sources and those of this package alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.kernels import inlined

Words = NDArray[np.uint64]
Int = int | np.signedinteger[Any]

NUMBER_0, NUMBER_1 = np.int64(0), np.int64(1)
"""For arguments: a literal 0 or 1 has a type of its own, which would compile the callee again."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 by the golden ratio: its multiples are spread evenly, as salts of hashes should be."""

_ZERO = np.uint64(0)


@inlined
def mixed(number: np.uint64) -> np.uint64:
    """Return 64 well-mixed bits of a number (splitmix64, Steele et al. 2014).

    The same as `miai.beliefs.sets.hashed`. One to one: different numbers never meet.
    """
    x = number + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def hash_of(words: Words, salt: np.uint64) -> np.uint64:
    """Return 64 well-mixed bits of some words, their order and a number."""
    key = salt
    for i in range(len(words)):
        key = mixed(key ^ words[i])
    return key


@inlined
def slot_of(keys: Words, key: np.uint64, start: Int) -> np.int64:
    """Return the slot of a key in a table with open addressing, or the empty slot for it.

    Args:
      keys: (n,) n a power of two; 0 is empty, and at least one slot is.
      key: not 0.
      start: a number made from the key, whose lower bits are the slot to look at first.
    """
    # Linear probing: a key that is not in its slot is most likely in the same line of the cache.
    last = len(keys) - 1
    slot = np.int64(start) & last
    while keys[slot] != _ZERO and keys[slot] != key:
        slot = (slot + 1) & last
    return slot


@inlined
def in_order(turn: Int, favourite: Int) -> Int:
    """Return the place of the action to try in a turn, where a favourite comes first.

    Args:
      favourite: its place; negative for none.
    """
    if favourite < 0:
        return turn
    if turn == 0:
        return favourite
    return turn - 1 if turn <= favourite else turn
