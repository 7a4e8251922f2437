"""Beliefs as sets: bit masks where few states can be numbered, hash-sorted arrays otherwise.

A `Mask` is an integer with a bit for each state of a `miai.belief_search.universe.Universe`. A
`HashedSet` needs no numbering: it holds a 64-bit hash of each state. Bounds take both; a search
hands in beliefs of one kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


class HashedSet:
    """States by their 64-bit hashes. Nothing in it changes.

    Two states with one hash would be taken for one: of n states that happens with a probability of
    about n * n / 2**65, once in thirty million sets of a million states. Sets are equal when their
    128-bit keys are.

    Attributes:
      hashes: uint64 (n,), distinct, in increasing order. Not marked as read-only, for compiled
        code tells the types of such arrays slowly.
      size: their number.
    """

    __slots__ = ("_key", "hashes", "size")

    def __init__(self, hashes: Hashes) -> None:
        self.hashes, self.size = hashes, len(hashes)
        self._key: int | None = None

    @classmethod
    def of(cls, hashes: Hashes) -> HashedSet:
        """Return the set of hashes in any order, repetitions allowed.

        Raises:
          ValueError: they are no array (n,) of uint64.
        """
        if hashes.ndim != 1 or hashes.dtype != np.uint64:
            raise ValueError(f"hashes are uint64 (n,), not {hashes.dtype} {hashes.shape}")
        return cls(np.unique(hashes))

    @property
    def key(self) -> int:
        """128 bits that stand for the set, the same in every process."""
        if self._key is None:
            digest = blake2b(np.ascontiguousarray(self.hashes).data, digest_size=16).digest()
            self._key = int.from_bytes(digest, "little")
        return self._key

    @property
    def nbytes(self) -> int:
        """Bytes of the hashes."""
        return self.hashes.nbytes

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, HashedSet) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"HashedSet({self.key:032x}, {len(self)})"


Belief: TypeAlias = int | HashedSet
"""A `Mask` or a `HashedSet`."""


def is_subset(inner: Belief, outer: Belief) -> bool:
    """Return whether every state of one belief is in another; both are of one kind.

    Raises:
      TypeError: they are not.
    """
    if isinstance(inner, int) and isinstance(outer, int):
        return not inner & ~outer
    if isinstance(inner, HashedSet) and isinstance(outer, HashedSet):
        return inner.size <= outer.size and subset_test()(outer.hashes, inner.hashes)
    raise TypeError("a mask and a set of hashes cannot be compared")


def size_of(belief: Belief) -> int:
    """Return the number of states of a belief."""
    return belief.bit_count() if isinstance(belief, int) else belief.size


def bytes_of(belief: Belief) -> int:
    """Return about how many bytes an entry takes that keeps its belief."""
    return 120 + (belief.bit_length() // 8 if isinstance(belief, int) else belief.nbytes)


def short_key(belief: Belief) -> int:
    """Return 128 bits that stand for a belief where the belief itself is not kept."""
    if not isinstance(belief, int):
        return belief.key
    held = belief.to_bytes(belief.bit_length() // 8 + 1, "little")
    return int.from_bytes(blake2b(held, digest_size=16).digest(), "little")


@cache
def subset_test() -> Callable[[Hashes, Hashes], bool]:
    """Return the compiled test, called with the larger and the smaller set. Needs numba."""
    from miai.belief_search.kernels.sets import contains  # compiles; masks do without

    return contains
