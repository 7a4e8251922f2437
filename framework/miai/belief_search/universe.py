"""Numbering the hidden parts that a search meets, so that a belief is the bits of one integer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from miai.belief_search.hashing import hashed
from miai.belief_search.problem import BeliefProblem, Public, leaf_value

Mask = int
"""A belief: bit i is set when the hidden part of number i is in it."""


class Outcomes:
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
        self._outcomes: dict[tuple[Public, int, int], Outcomes] = {}
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

    def outcomes(self, public: Public, number: int, action: int) -> Outcomes:
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

    def _ask(self, public: Public, hidden: int, action: int) -> Outcomes:
        worst, after = float("inf"), dict[Hashable, Mask]()
        for reply in self.problem.replies(public, hidden, action):
            if reply.ends:
                worst = min(worst, reply.value)
            else:
                bit = 1 << self._number(reply.hidden)
                after[reply.observation] = after.get(reply.observation, 0) | bit
        return Outcomes(worst, tuple(after.items()))

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
