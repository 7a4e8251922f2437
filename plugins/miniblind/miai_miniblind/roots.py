"""Roots for searches, drawn from a seed in three classes.

- *Random*: a random public part with a random selection of the states consistent with it.
- *Hard*: a random public part with 3 to 12 of the states that are each, alone, a win within d. The
  belief may still be lost, because the player does not know which state it is.
- *Won*: hard roots whose belief is a win within d.

The same problem, seed and depth give the same roots, and a shorter list is the beginning of a
longer one. One `random.Random(seed)` makes the draws; docs/miniblind.md states them step by step.
`RootProver` proves wins without any other search, so that roots do not depend on what is measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Generic, Protocol

from miai.beliefs.problem import BeliefProblem, Public, Root

Belief = tuple[int, ...]
"""Distinct hidden parts in increasing order."""

MAX_RESULTS = 1_000_000
"""Maximum results that a prover remembers; then it forgets all of them."""


class RootProver(Generic[Public]):
    """Proves whether V_d of a belief is the greatest value of the problem: a win within d.

    Results are remembered by belief and depth. A belief is lost if one of its states is lost alone
    (B4 of docs/belief-search.md).
    """

    def __init__(self, problem: BeliefProblem[Public]) -> None:
        self.problem = problem
        self._results: dict[tuple[Public, int, Belief], bool] = {}

    def wins(self, public: Public, hidden: Sequence[int], depth: int) -> bool:
        """Return whether V_depth(hidden) under `public` is the greatest value."""
        return self._wins(public, tuple(sorted(set(hidden))), depth)

    def _wins(self, public: Public, belief: Belief, depth: int) -> bool:
        if depth <= 0:
            least = min(self.problem.evaluate(public, state) for state in belief)
            return least >= self.problem.greatest
        key = (public, depth, belief)
        result = self._results.get(key)
        if result is None:
            result = self._prove(public, belief, depth)
            if len(self._results) >= MAX_RESULTS:
                self._results.clear()
            self._results[key] = result
        return result

    def _prove(self, public: Public, belief: Belief, depth: int) -> bool:
        if len(belief) > 1 and not all(self._wins(public, (s,), depth) for s in belief):
            return False
        actions = self.problem.actions(public)
        return any(self._action_wins(public, belief, action, depth) for action in actions)

    def _action_wins(self, public: Public, belief: Belief, action: int, depth: int) -> bool:
        parts: dict[Hashable, set[int]] = {}
        for state in belief:
            for reply in self.problem.replies(public, state, action):
                if not reply.ends:
                    parts.setdefault(reply.observation, set()).add(reply.hidden)
                elif reply.value < self.problem.greatest:
                    return False
        remaining = depth - self.problem.cost(public, action)
        if remaining <= 0 and self.problem.reachability and parts:
            return False  # not proved
        return all(
            self._wins(self.problem.after(public, action, reply), tuple(sorted(part)), remaining)
            for reply, part in sorted(parts.items(), key=lambda item: len(item[1]))
        )


HARD_SIZES = (3, 12)
"""Minimum and maximum number of states of a hard root."""
MAX_DRAWS = 1000
"""Maximum draws in a row without a root."""


class RootProblem(BeliefProblem[Public], Protocol[Public]):
    """A problem with random roots."""

    def random_public(self, rng: random.Random) -> Public:
        """Return the public part of a random root, before a sense."""

    def consistent(self, public: Public) -> Sequence[int]:
        """Return the hidden parts that a root may contain, in increasing order."""

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return a random selection of the consistent states, in any order."""


ROOT_CLASSES = ("random", "hard", "won")


class DrawsRoots:
    """A problem whose roots are drawn from a seed."""

    root_classes = ROOT_CLASSES

    def roots(
        self: RootProblem[Public], kind: str, count: int, *, depth: int, seed: int
    ) -> list[Root[Public]]:
        """Return `count` roots of a class of `ROOT_CLASSES`; random ones ignore the depth.

        Raises `ValueError` if the class is unknown or has too few roots.
        """
        try:
            if kind == "random":
                return random_roots(self, count, seed=seed)
            if kind in ROOT_CLASSES:
                draw = hard_roots if kind == "hard" else won_roots
                return draw(self, count, depth=depth, seed=seed)
        except RecursionError as error:
            raise ValueError(
                f"roots of depth {depth} need a proof beyond Python's recursion limit; "
                "choose a smaller depth"
            ) from error
        choices = ", ".join(ROOT_CLASSES)
        raise ValueError(f"unknown class of roots {kind[:40]!r}: choose from {choices}")


def random_roots(problem: RootProblem[Public], count: int, *, seed: int) -> list[Root[Public]]:
    """Return `count` random roots."""
    rng = random.Random(seed)
    roots = []
    for _ in range(count):
        public = problem.random_public(rng)
        part = problem.random_part(problem.consistent(public), rng)
        roots.append(Root(public, tuple(sorted(part))))
    return roots


def hard_roots(
    problem: RootProblem[Public], count: int, *, depth: int, seed: int
) -> list[Root[Public]]:
    """Return `count` roots of 3 to 12 states, each of which alone is a win within `depth`.

    Raises `ValueError` if none of 1000 public parts has three such states.
    """
    draws = _hard_draws(problem, RootProver(problem), random.Random(seed), depth)
    return list(islice(draws, count))


def won_roots(
    problem: RootProblem[Public], count: int, *, depth: int, seed: int
) -> list[Root[Public]]:
    """Return `count` hard roots that are won within `depth`; the rest as for `hard_roots`."""
    prover = RootProver(problem)
    draws = _hard_draws(problem, prover, random.Random(seed), depth)
    roots: list[Root[Public]] = []
    misses = 0
    while len(roots) < count:
        root = next(draws)
        if prover.wins(root.public, root.hidden, depth):
            roots.append(root)
            misses = 0
        else:
            misses += 1
            if misses == MAX_DRAWS:
                raise _too_few("is won", depth)
    return roots


def nearest(
    states: Sequence[int], distance: Callable[[int, int], int], rng: random.Random
) -> list[int]:
    """Return the states nearest to a random one, ties at random: from a tenth to all of them."""
    centre = rng.choice(states)
    order = list(states)
    rng.shuffle(order)
    order.sort(key=lambda state: distance(centre, state))  # stable, so that ties stay shuffled
    return order[: rng.randint(-(-len(order) // 10), len(order))]


def _hard_draws(
    problem: RootProblem[Public], prover: RootProver[Public], rng: random.Random, depth: int
) -> Iterator[Root[Public]]:
    least, largest = HARD_SIZES
    misses = 0
    while misses < MAX_DRAWS:
        public = problem.random_public(rng)
        wins = [s for s in problem.consistent(public) if prover.wins(public, (s,), depth)]
        if len(wins) < least:
            misses += 1
            continue
        misses = 0
        size = rng.randint(least, min(largest, len(wins)))
        yield Root(public, tuple(sorted(rng.sample(wins, size))))
    raise _too_few(f"has {least} states that are won alone", depth)


def _too_few(what: str, depth: int) -> ValueError:
    return ValueError(
        f"none of {MAX_DRAWS} draws {what} within depth {depth}; choose a greater depth"
    )
