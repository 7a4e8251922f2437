"""Beliefs as sets of states: bit masks of states that a `Universe` numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.problem import BeliefProblem, Public, leaf_value
from miai.beliefs.protocol import Mask


def bytes_of(belief: Mask) -> int:
    """Return the approximate size in bytes of an entry with this belief."""
    return 120 + belief.bit_length() // 8


_MASK = (1 << 64) - 1


def hashed(part: int) -> int:
    """Return the hash of a number by the finaliser of splitmix64 (Steele et al. 2014)."""
    x = (part + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


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
