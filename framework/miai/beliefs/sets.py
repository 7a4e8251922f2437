"""Beliefs as sets: bit masks where few states can be numbered, hash-sorted arrays otherwise.

A `Mask` is an integer with a bit for each state of a `miai.beliefs.sets.Universe`. A
`HashedSet` needs no numbering: it holds a 64-bit hash of each state. Bounds take both; a search
hands in beliefs of one kind.

Numbering the hidden parts that a search meets, so that a belief is the bits of one integer.

64-bit hashes of hidden parts, the same in every process.
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
    from miai.beliefs.kernels.sets import contains

    return contains


_MASK = (1 << 64) - 1


def hashed(part: int) -> int:
    """Return a hash of a number: the finaliser of splitmix64 (Steele et al. 2014), a bijection."""
    x = (part + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


Mask = int
"""A belief: bit i is set when the hidden part of number i is in it."""


class ActionOutcomes:
    """What one action does to one state.

    Attributes:
      worst: the least terminal value it can lead to; infinity when it cannot end the game.
      after: for each observation the hidden parts it can lead to.
    """

    __slots__ = ("after", "worst")

    def __init__(self, worst: float, after: tuple[tuple[Hashable, Mask], ...]) -> None:
        self.worst, self.after = worst, after


class Universe(Generic[Public]):
    """The hidden parts met so far, and what actions do to them; each is asked of the problem once.

    Attributes:
      problem: whose they are.
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
        """Return the belief of some hidden parts."""
        mask = 0
        for part in hidden:
            mask |= 1 << self._number(part)
        return mask

    def parts(self, belief: Mask) -> list[int]:
        """Return the hidden parts of a belief, in increasing order."""
        return sorted(self.hidden[number] for number in numbers(belief))

    def hashes(self, belief: Mask) -> NDArray[np.uint64]:
        """Return 64-bit hashes of a belief's hidden parts, in no order: (n,) uint64."""
        bits = np.frombuffer(belief.to_bytes(belief.bit_length() // 8 + 1, "little"), np.uint8)
        chosen = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        if len(self._hashes) < len(self.hidden):
            fresh = [hashed(part) for part in self.hidden[len(self._hashes) :]]
            self._hashes = np.concatenate([self._hashes, np.array(fresh, np.uint64)])
        return self._hashes[chosen]

    def all_of(self, public: Public) -> Mask | None:
        """Return all that a public part allows; None where the problem does not say."""
        if public not in self._all:
            parts = self.problem.universe(public)
            self._all[public] = None if parts is None else self.mask(parts)
        return self._all[public]

    def outcomes(self, public: Public, number: int, action: int) -> ActionOutcomes:
        """Return what an action does to the hidden part of a number."""
        key = (public, number, action)
        found = self._outcomes.get(key)
        if found is None:
            found = self._outcomes[key] = self._ask(public, self.hidden[number], action)
        return found

    def value(self, public: Public, number: int) -> float:
        """Return what a state is worth where the depth ends."""
        key = (public, number)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = leaf_value(self.problem, public, self.hidden[number])
        return found

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
    """Return the numbers of a belief's states, the least first."""
    while belief:
        low = belief & -belief
        yield low.bit_length() - 1
        belief ^= low
