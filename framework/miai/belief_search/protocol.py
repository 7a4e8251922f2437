"""What comparisons and agents ask of searches over beliefs, and of problems with roots.

Both are components: kind ``belief-search`` is a `BeliefSearcher`, kind ``belief-problem`` a
`RootedProblem`. `miai.belief_search.driver.BeliefSearch` searches every `BeliefProblem`; a plugin
may bring a problem of another form together with the search that knows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from miai.belief_search.search import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefResult:
    """What a search found.

    Attributes:
      value: of the root at `depth`, to the player who searches; exact, but for `approx-` bounds.
        The least value when not even depth 1 was done.
      action: the best one; -1 when not even depth 1 was done.
      depth: the depth that was searched to its end; where that wins, no greater one is searched.
      line: the best action and the worst observation after it, and so on.
      complete: whether the depth asked for was reached, or a win before.
      statistics: counts: nodes, leaves, singles, and those of the bounds, ``bounds_entries`` and
        ``bounds_bytes`` among them where the bounds hold any.
    """

    value: float
    action: int
    depth: int
    line: Line
    complete: bool
    statistics: Mapping[str, int]


class BeliefSearcher(Protocol):
    """Values roots of one problem; what it learns of one serves the next.

    Attributes:
      prepares: whether `prepare` computes all that the problem keeps, so that a search takes as
        long with a problem that others have searched.
    """

    prepares: bool

    def prepare(self, root: Any, depth: int) -> None:
        """Do whatever can be done before a search, as enumerating a game; nothing is learnt."""

    def search(
        self,
        root: Any,
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a root at a depth, and the best action; see `BeliefSearch.search`."""

    def guarantees(self, root: Any, action: int, depth: int) -> float:
        """Return what an action guarantees at a root, the best being played after it."""


class SizedRoot(Protocol):
    """Where a search begins.

    Attributes:
      size: the states of its belief.
    """

    @property
    def size(self) -> int:
        """The states of the belief."""


class RootedProblem(Protocol):
    """A problem that draws roots of its own.

    Attributes:
      root_classes: the names of the classes of roots.
    """

    root_classes: Sequence[str]

    def roots(self, kind: str, count: int, *, depth: int, seed: int) -> Sequence[SizedRoot]:
        """Return roots of a class, the same for the same arguments; fewer are the first of more.

        Raises:
          ValueError: there is no such class, or it has too few roots.
        """
