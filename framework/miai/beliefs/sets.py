"""Beliefs as sets of states: bit masks, or sorted arrays of hashes.

A `Mask` is an integer with a bit for each state, numbered by a `Universe`. A `HashedSet` needs no
numbering: it holds a 64-bit hash of each state, the same in every process. Bounds accept both; one
search uses one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from typing import Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.problem import BeliefProblem, Public, leaf_value

Hashes = NDArray[np.uint64]


class HashedSet:
    """An immutable set of states, by their 64-bit hashes.

    A collision merges two states. Among n states its probability is about n * n / 2**65: one in
    thirty million sets of a million states. Sets with equal 128-bit keys count as equal.

    Attributes:
      hashes: uint64 (n,), distinct, in increasing order; not marked read-only, which would slow
        down numba's dispatch.
      size: the number of states.
    """

    __slots__ = ("_key", "hashes", "size")

    def __init__(self, hashes: Hashes) -> None:
        self.hashes, self.size = hashes, len(hashes)
        self._key: int | None = None

    @classmethod
    def of(cls, hashes: Hashes) -> HashedSet:
        """Return the set of some hashes, in any order and with repetitions.

        Raises:
          ValueError: the array is not uint64 of shape (n,).
        """
        if hashes.ndim != 1 or hashes.dtype != np.uint64:
            raise ValueError(f"hashes must be uint64 (n,), not {hashes.dtype} {hashes.shape}")
        return cls(np.unique(hashes))

    @property
    def key(self) -> int:
        """The 128-bit key of the set, the same in every process."""
        if self._key is None:
            digest = blake2b(np.ascontiguousarray(self.hashes).data, digest_size=16).digest()
            self._key = int.from_bytes(digest, "little")
        return self._key

    @property
    def nbytes(self) -> int:
        """The size of the hashes in bytes."""
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
    """Return whether every state of one belief is in another.

    Raises:
      TypeError: the beliefs are of different kinds.
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
    """Return the approximate size in bytes of an entry with this belief."""
    return 120 + (belief.bit_length() // 8 if isinstance(belief, int) else belief.nbytes)


def short_key(belief: Belief) -> int:
    """Return a 128-bit key to store in place of a belief."""
    if not isinstance(belief, int):
        return belief.key
    content = belief.to_bytes(belief.bit_length() // 8 + 1, "little")
    return int.from_bytes(blake2b(content, digest_size=16).digest(), "little")


@cache
def subset_test() -> Callable[[Hashes, Hashes], bool]:
    """Return the compiled test whether a larger set contains a smaller one; imports numba."""
    from miai.beliefs.kernels.hashes import contains

    return contains


_MASK = (1 << 64) - 1


def hashed(part: int) -> int:
    """Return the hash of a number by the finaliser of splitmix64 (Steele et al. 2014)."""
    x = (part + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


Mask = int
"""A belief: bit i is set when the hidden part of number i is in it."""


class ActionOutcomes:
    """The outcomes of one action in one state.

    Attributes:
      worst: the lowest terminal value; infinity if the action cannot end the game.
      after: each observation with the possible next states.
    """

    __slots__ = ("after", "worst")

    def __init__(self, worst: float, after: tuple[tuple[Hashable, Mask], ...]) -> None:
        self.worst, self.after = worst, after


class Universe(Generic[Public]):
    """Numbers the hidden parts that a search visits and caches the outcomes of actions.

    Attributes:
      problem: the problem of the hidden parts.
      hidden: the hidden part of each number.
    """

    def __init__(self, problem: BeliefProblem[Public]) -> None:
        self.problem = problem
        self.hidden: list[int] = []
        self._numbers: dict[int, int] = {}
        self._outcomes: dict[tuple[Public, int, int], ActionOutcomes] = {}
        self._values: dict[tuple[Public, int], float] = {}
        self._all: dict[Public, Mask | None] = {}
        self._hashes = np.zeros(0, np.uint64)

    def mask(self, hidden: Iterable[int]) -> Mask:
        """Return the mask of hidden parts."""
        mask = 0
        for part in hidden:
            mask |= 1 << self._number(part)
        return mask

    def parts(self, belief: Mask) -> list[int]:
        """Return the hidden parts of a belief, in increasing order."""
        return sorted(self.hidden[number] for number in numbers(belief))

    def hashes(self, belief: Mask) -> NDArray[np.uint64]:
        """Return 64-bit hashes of a belief's hidden parts, unordered: (n,) uint64."""
        bits = np.frombuffer(belief.to_bytes(belief.bit_length() // 8 + 1, "little"), np.uint8)
        positions = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        if len(self._hashes) < len(self.hidden):
            fresh = [hashed(part) for part in self.hidden[len(self._hashes) :]]
            self._hashes = np.concatenate([self._hashes, np.array(fresh, np.uint64)])
        return self._hashes[positions]

    def all_of(self, public: Public) -> Mask | None:
        """Return all states of a public part; None if the problem does not list them."""
        if public not in self._all:
            parts = self.problem.universe(public)
            self._all[public] = None if parts is None else self.mask(parts)
        return self._all[public]

    def outcomes(self, public: Public, number: int, action: int) -> ActionOutcomes:
        """Return the outcomes of an action in a state."""
        key = (public, number, action)
        outcomes = self._outcomes.get(key)
        if outcomes is None:
            outcomes = self._outcomes[key] = self._ask(public, self.hidden[number], action)
        return outcomes

    def value(self, public: Public, number: int) -> float:
        """Return the value of a state where the depth ends."""
        key = (public, number)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = leaf_value(self.problem, public, self.hidden[number])
        return value

    def _ask(self, public: Public, hidden: int, action: int) -> ActionOutcomes:
        worst, after = float("inf"), dict[Hashable, Mask]()
        for reply in self.problem.replies(public, hidden, action):
            if reply.ends:
                worst = min(worst, reply.value)
            else:
                bit = 1 << self._number(reply.hidden)
                after[reply.observation] = after.get(reply.observation, 0) | bit
        return ActionOutcomes(worst, tuple(after.items()))

    def _number(self, hidden: int) -> int:
        number = self._numbers.get(hidden)
        if number is None:
            number = self._numbers[hidden] = len(self.hidden)
            self.hidden.append(hidden)
        return number


def numbers(belief: Mask) -> Iterator[int]:
    """Yield the numbers of a mask's states in increasing order."""
    while belief:
        low = belief & -belief
        yield low.bit_length() - 1
        belief ^= low
