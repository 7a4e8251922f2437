"""What a node returns, and what a search may spend."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from miai.belief_search.search import BudgetSpentError, Line
from miai_rbc.belief_minimax.kernels.subsets import Numbers


class Found(NamedTuple):
    """What a node returned; as `miai.belief_search.search.Found`, boards by their numbers.

    Attributes:
      value: exact within the window, else a bound.
      core: boards of the belief that are worth at most `value` by themselves, where that is below
        beta; None for all.
      closure: boards of the layer among which the same strategy gets at least beta; None for the
        belief.
      line: the actions expected.
    """

    value: float
    core: Numbers | None = None
    closure: Numbers | None = None
    line: Line = ()


@dataclass(slots=True)
class Meter:
    """What a search did, and how much it may do.

    Attributes:
      nodes: beliefs looked at with a depth and a window; boards tried alone are such, and a request
        that is valued at the end is one for all its boards, or for each one tried alone.
      leaves: boards looked at where the depth ended.
      singles: of the nodes, boards tried alone.
      max_nodes, deadline: where it stops; the latter on the monotonic clock.
    """

    nodes: int = 0
    leaves: int = 0
    singles: int = 0
    max_nodes: int | None = None
    deadline: float | None = None

    def begin(self, *, max_nodes: int | None = None, seconds: float | None = None) -> None:
        """Count anew."""
        self.nodes = self.leaves = self.singles = 0
        self.max_nodes = max_nodes
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def count(self, nodes: int) -> None:
        """Count nodes.

        Raises:
          BudgetSpentError: they are too many, or the time is up.
        """
        self.nodes += nodes
        if self.max_nodes is not None and self.nodes > self.max_nodes:
            raise BudgetSpentError
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise BudgetSpentError
