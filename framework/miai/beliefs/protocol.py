"""Protocols of bounds, of searches over beliefs and of problems that draw roots; their results."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

_INFINITE = float("inf")

Line = tuple[tuple[int, Hashable], ...]
"""The expected actions, each with the observation that follows it."""

Mask = int
"""A belief: bit i is set when the state of number i is in it; see `miai.beliefs.sets.Universe`."""

# -- bounds ---------------------------------------------------------------------------------------


class BoundEntry(NamedTuple):
    """Names a bound on the value of one belief.

    Attributes:
      lower: whether it is a lower bound; else an upper one.
      public, depth, belief: what it bounds; a key in place of the belief where beliefs are dropped.
    """

    lower: bool
    public: Hashable
    depth: int
    belief: Mask


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Bounds on the value of a belief, to the player who searches.

    Attributes:
      lower, upper: the value lies between them; infinite without a bound.
      closure: a superset of the belief that is worth at least `lower`; 0 for none.
      core: a subset of the belief that is worth at most `upper`; 0 for none.
      entries: the entries that the bounds follow from.
    """

    lower: float = -_INFINITE
    upper: float = _INFINITE
    closure: Mask = 0
    core: Mask = 0
    entries: tuple[BoundEntry, ...] = ()


UNKNOWN = ProbeResult()


class Bounds(Protocol):
    """Records values of beliefs and derives bounds on other beliefs.

    Attributes:
      explains: whether the search should record cores and closures: few states that refute a
        belief, and all states that one strategy wins.
      singles: whether the search should try each state of a belief alone first.
      infers: whether one belief bounds another, which needs worst cases (B1).
    """

    explains: bool
    singles: bool
    infers: bool

    @property
    def nbytes(self) -> int:
        """Approximate size of the entries in bytes."""

    def probe(self, public: Hashable, depth: int, belief: Mask) -> ProbeResult:
        """Return the bounds on a belief that follow from the entries."""

    def record(self, entry: BoundEntry, value: float) -> BoundEntry | None:
        """Record a bound: the entry's belief is worth at least, or at most, `value`.

        Returns:
          The entry as stored; None if it is not stored.
        """

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still stored."""

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return the entries that stronger ones replaced since the last call."""

    def statistics(self) -> Mapping[str, int]:
        """Return counts: probes, hits, entries, bytes."""


# -- searches and problems ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefResult:
    """The result of a search.

    Attributes:
      value: the root's value at `depth` to the player who searches; exact, unless
        bounds are false. The lowest possible value if depth 1 was not completed.
      action: the best action; -1 if depth 1 was not completed.
      depth: the last completed depth. A win ends the search.
      line: the best action, the worst observation after it, and so on.
      complete: whether the requested depth, or a win, was reached.
      statistics: counts of nodes, leaves and singles, and those of the bounds, such as
        ``bounds_entries`` and ``bounds_bytes``.
      enumeration_seconds: the part of the search's wall time in which states were enumerated that
        later searches of the problem need not enumerate.
    """

    value: float
    action: int
    depth: int
    line: Line
    complete: bool
    statistics: Mapping[str, int]
    enumeration_seconds: float = field(default=0.0, compare=False)


class BeliefSearcher(Protocol):
    """Searches roots of one problem; bounds recorded at one root serve the next.

    Component kind ``belief-search``.

    Attributes:
      shares: whether searches of one problem share what it caches, and
        `BeliefResult.enumeration_seconds` accounts for it, so that timings do not depend on earlier
        searches.
    """

    shares: bool

    def search(
        self,
        root: Any,
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Search a root; see `DeepeningSearch.search`."""

    def guarantees(self, root: Any, action: int, depth: int) -> float:
        """Return the value that an action guarantees at a root, with best play after it."""


class SizedRoot(Protocol):
    """The belief that a search begins with."""

    @property
    def size(self) -> int:
        """The number of states in the belief."""


class RootedProblem(Protocol):
    """A problem that draws its own roots. Component kind ``belief-problem``.

    Attributes:
      root_classes: the names of the classes of roots.
    """

    root_classes: Sequence[str]

    def roots(self, kind: str, count: int, *, depth: int, seed: int) -> Sequence[SizedRoot]:
        """Return roots of a class.

        The same arguments give the same roots, and a smaller count gives the first of them.

        Raises:
          ValueError: the class is unknown or has too few roots.
        """
