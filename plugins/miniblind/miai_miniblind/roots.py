"""Where searches begin: roots of three classes, drawn from a seed.

- *Random*: a random public part with a random part of the states that are consistent with it.
- *Hard*: a random public part with 3 to 12 of the states that are each, alone, a win within d.
  Their belief may still be lost: what makes it hard is that nobody knows which state it is.
- *Won*: hard roots of which the belief is a win within d.

The same problem, seed and depth give the same roots, and fewer are the first of more. The draws
are made by one `random.Random(seed)` and are stated step by step in docs/miniblind.md.

What is certainly won: a small plain proof search over the beliefs of a problem.

It serves to draw roots and needs no other search, so that roots are the same whatever else is
measured on them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Generic, Protocol

from miai.beliefs.problem import BeliefProblem, Public, Root

Belief = tuple[int, ...]
"""Hidden parts in increasing order, none twice."""

MAX_KNOWN = 1_000_000
"""Most beliefs that a prover remembers; then it forgets all of them."""


class RootProver(Generic[Public]):
    """Says whether V_d of a belief is the greatest value of the problem: a win within d.

    What was proved is remembered by belief and depth. A belief of which one state alone is not won
    is not tried at all (B4 of docs/belief-search.md).

    Attributes:
      problem: the problem.
    """

    def __init__(self, problem: BeliefProblem[Public]) -> None:
        self.problem = problem
        self._known: dict[tuple[Public, int, Belief], bool] = {}

    def wins(self, public: Public, hidden: Sequence[int], depth: int) -> bool:
        """Return whether V_depth(hidden) under `public` is the greatest value; order is free."""
        return self._wins(public, tuple(sorted(set(hidden))), depth)

    def _wins(self, public: Public, belief: Belief, depth: int) -> bool:
        if depth <= 0:
            least = min(self.problem.evaluate(public, state) for state in belief)
            return least >= self.problem.greatest
        key = (public, depth, belief)
        known = self._known.get(key)
        if known is None:
            known = self._prove(public, belief, depth)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known

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
        left = depth - self.problem.cost(public, action)
        if left <= 0 and self.problem.reachability and parts:
            return False  # what is not won by now is not proved
        return all(
            self._wins(self.problem.after(public, action, told), tuple(sorted(part)), left)
            for told, part in sorted(parts.items(), key=lambda item: len(item[1]))
        )


HARD_SIZES = (3, 12)
"""The least and the most states of a hard root."""
MAX_DRAWS = 1000
"""Public parts drawn in a row without a root before the drawing is given up."""


class RootProblem(BeliefProblem[Public], Protocol[Public]):
    """A problem that says where it may begin."""

    def random_public(self, rng: random.Random) -> Public:
        """Return the public part of a random root, a sense to come."""

    def consistent(self, public: Public) -> Sequence[int]:
        """Return the hidden parts of which a root's belief is made, in increasing order."""

    def random_part(self, states: Sequence[int], rng: random.Random) -> list[int]:
        """Return a random part of the consistent states, in any order: that of a random root."""


ROOT_CLASSES = ("random", "hard", "won")


def draw_roots(
    problem: RootProblem[Public], kind: str, count: int, *, depth: int, seed: int
) -> list[Root[Public]]:
    """Return `count` roots of a class of `ROOT_CLASSES`; random ones ignore the depth.

    Raises:
      ValueError: there is no such class, or it has too few roots.
    """
    try:
        if kind == "random":
            return random_roots(problem, count, seed=seed)
        if kind == "hard":
            return hard_roots(problem, count, depth=depth, seed=seed)
        if kind == "won":
            return won_roots(problem, count, depth=depth, seed=seed)
    except RecursionError as error:
        raise ValueError(
            f"roots of depth {depth} take a proof that calls itself more often than Python "
            "allows; take a smaller depth"
        ) from error
    raise ValueError(f"no roots of class {kind[:40]!r}; there are {', '.join(ROOT_CLASSES)}")


class DrawsRoots:
    """A problem whose roots are drawn as `draw_roots` does."""

    root_classes = ROOT_CLASSES

    def roots(
        self: RootProblem[Public], kind: str, count: int, *, depth: int, seed: int
    ) -> list[Root[Public]]:
        """Return `count` roots of a class; see `draw_roots`."""
        return draw_roots(self, kind, count, depth=depth, seed=seed)


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
    problem: RootProblem[Public],
    count: int,
    *,
    depth: int,
    seed: int,
    prover: RootProver[Public] | None = None,
) -> list[Root[Public]]:
    """Return `count` roots of 3 to 12 states, each of which alone is a win within `depth`.

    Args:
      depth: of the wins; as the problem counts it.
      prover: one that has proved for this problem before, to go on with; the roots are the same.

    Raises:
      ValueError: among 1000 public parts none has three such states.
    """
    draws = _hard_draws(problem, prover or RootProver(problem), random.Random(seed), depth)
    return list(islice(draws, count))


def won_roots(
    problem: RootProblem[Public],
    count: int,
    *,
    depth: int,
    seed: int,
    prover: RootProver[Public] | None = None,
) -> list[Root[Public]]:
    """Return `count` roots drawn as hard ones, of which those not won within `depth` are dropped.

    Args: as of `hard_roots`.

    Raises:
      ValueError: as `hard_roots`; or 1000 hard roots in a row are not won.
    """
    prover = prover or RootProver(problem)
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
                raise _found_none("is won as a whole", depth)
    return roots


def nearest(
    states: Sequence[int], distance: Callable[[int, int], int], rng: random.Random
) -> list[int]:
    """Return the k states nearest to a random one, ties at random, k from a tenth to all of them.

    Args:
      distance: between two hidden parts.
    """
    centre = rng.choice(states)
    order = list(states)
    rng.shuffle(order)
    order.sort(key=lambda state: distance(centre, state))  # stable, so that ties stay shuffled
    return order[: rng.randint(-(-len(order) // 10), len(order))]


def _hard_draws(
    problem: RootProblem[Public], prover: RootProver[Public], rng: random.Random, depth: int
) -> Iterator[Root[Public]]:
    least, most = HARD_SIZES
    misses = 0
    while misses < MAX_DRAWS:
        public = problem.random_public(rng)
        wins = [s for s in problem.consistent(public) if prover.wins(public, (s,), depth)]
        if len(wins) < least:
            misses += 1
            continue
        misses = 0
        size = rng.randint(least, min(most, len(wins)))
        yield Root(public, tuple(sorted(rng.sample(wins, size))))
    raise _found_none(f"has {least} states that are won alone", depth)


def _found_none(what: str, depth: int) -> ValueError:
    return ValueError(
        f"of {MAX_DRAWS} roots drawn none {what} within depth {depth}; take a greater depth"
    )
