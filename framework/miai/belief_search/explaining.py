"""Why a belief fails or wins: cores and closures, traced back through one action.

A *core* is a part of a belief that fails by itself (B5); a *closure* all states among which a
strategy wins (B6). An action that leads to a belief with a core that failed is refuted without a
search, as the actions of a sense often are: their windows leave the same states together.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from miai.belief_search.universe import Mask, Universe, numbers


class Refutation(NamedTuple):
    """What refuted an action at a node.

    Attributes:
      public, depth: of the belief that it led to.
      core: states of that belief that fail by themselves.
      value: what they are worth at most.
    """

    public: Hashable
    depth: int
    core: Mask
    value: float

    def holds(self, public: Hashable, depth: int, belief: Mask, alpha: float) -> bool:
        """Return whether it refutes another action, which leads to a belief."""
        return (
            not self.core & ~belief
            and self.value <= alpha
            and self.depth == depth
            and self.public == public
        )


def sources(
    universe: Universe[Any],
    public: Hashable,
    belief: Mask,
    action: int,
    observation: Hashable,
    targets: Mask,
    core: Mask,
) -> Mask:
    """Return states of a belief that lead to all targets; those of the core at hand first."""
    if not targets:
        return belief
    chosen = 0
    for some in (core & belief, belief & ~core):
        for number in numbers(some):
            for told, after in universe.outcomes(public, number, action).after:
                if told == observation and after & targets:
                    chosen |= 1 << number
                    targets &= ~after
            if not targets:
                return chosen
    return belief


def going_on(
    universe: Universe[Any], public: Hashable, belief: Mask, action: int, core: Mask
) -> Mask:
    """Return a state that an action need not end the game in; of the core at hand, if it can be."""
    for some in (core & belief, belief & ~core):
        for number in numbers(some):
            if universe.outcomes(public, number, action).after:
                return 1 << number
    return 0


def closure_of(
    universe: Universe[Any],
    public: Hashable,
    belief: Mask,
    action: int,
    solved: dict[Hashable, Mask],
    beta: float,
) -> Mask:
    """Return the states of which an action leads into what is solved, whatever happens."""
    every = universe.all_of(public)
    if every is None:
        return belief
    closure = belief
    for number in numbers(every & ~belief):
        outcomes = universe.outcomes(public, number, action)
        if outcomes.worst >= beta and all(
            not after & ~solved.get(observation, 0) for observation, after in outcomes.after
        ):
            closure |= 1 << number
    return closure
