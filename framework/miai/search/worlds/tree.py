"""Trees of what is known: nodes of information sets, whose actions may not all be legal at once.

Statistics follow P. Cowling, E. Powley, D. Whitehouse, "Information set Monte Carlo tree search"
(2012): an action competes only in the worlds in which it is legal, so beside its visits it counts
how often it was *available*.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Edge:
    """What is known of one action at a node.

    Attributes:
      visits: simulations that took it.
      available: simulations that came to the node in a world where it was legal.
      total: sum of the utilities of who takes it.
    """

    visits: int = 0
    available: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        """The mean utility; 0 before the first visit."""
        return self.total / self.visits if self.visits else 0.0


class Node:
    """One information set.

    Attributes:
      edges: by action, in the order in which they were first legal.
      children: by what the observer of the tree was told.
    """

    __slots__ = ("children", "edges")

    def __init__(self) -> None:
        self.edges: dict[int, Edge] = {}
        self.children: dict[Hashable, Node] = {}

    def select(
        self, legal: Sequence[int], exploration: float, rng: random.Random
    ) -> tuple[int, bool]:
        """Return an action and whether it is new: one not tried yet, else the best by UCB."""
        untried = []
        for action in legal:
            edge = self.edges.setdefault(action, Edge())
            edge.available += 1
            if edge.visits == 0:
                untried.append(action)
        if untried:
            return untried[rng.randrange(len(untried))], True
        edges = self.edges

        def promise(action: int) -> float:
            edge = edges[action]
            reach = math.sqrt(math.log(edge.available) / edge.visits)
            return edge.mean + exploration * reach

        return max(legal, key=promise), False

    def child(self, told: Hashable) -> Node:
        """Return the node after something was told; a new one the first time."""
        found = self.children.get(told)
        if found is None:
            found = self.children[told] = Node()
        return found


def most_visited(node: Node, legal: Sequence[int]) -> int:
    """Return the legal action that was visited most, the first of several."""
    return max(legal, key=lambda action: node.edges[action].visits if action in node.edges else -1)
