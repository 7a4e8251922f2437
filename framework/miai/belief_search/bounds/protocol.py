"""What a search asks of bounds: `Bounds`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

_INFINITE = float("inf")

AnyBelief: TypeAlias = Any
"""A `miai.belief_search.sets.Belief`. A search hands in beliefs of one kind, and gets back beliefs
of that kind, which these annotations do not follow."""


class Entry(NamedTuple):
    """The name of something remembered: a bound on the value of one belief.

    Attributes:
      lower: whether the value is at least so much; else at most.
      public, depth, belief: of which it is a bound; where beliefs are not kept, a key of it.
    """

    lower: bool
    public: Hashable
    depth: int
    belief: AnyBelief


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the value of a belief, to the player who searches.

    Attributes:
      lower, upper: it lies between them; infinite where nothing is known.
      closure: a belief that contains the one asked for and is worth at least `lower`; 0 for none.
      core: a belief that is contained in the one asked for and is worth at most `upper`; 0 for
        none.
      used: what it follows from.
    """

    lower: float = -_INFINITE
    upper: float = _INFINITE
    closure: AnyBelief = 0
    core: AnyBelief = 0
    used: tuple[Entry, ...] = ()


UNKNOWN = Known()


class Bounds(Protocol):
    """Remembers values of beliefs and bounds those of others by them.

    Attributes:
      explains: whether it is worth to find, for every result, the fewest states that refute and
        the most states that are won by the same strategy; a search then hands in those.
      singles: whether a belief's states should each be tried alone before the belief is searched.
      infers: whether it bounds beliefs by others: that needs worst cases (B1).
    """

    explains: bool
    singles: bool
    infers: bool

    @property
    def held(self) -> int:
        """Bytes that the entries take, about."""

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return what follows for a belief from all that was recorded."""

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Take in that a belief is worth at least `value`; return the entry if there is one."""

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Take in that a belief is worth at most `value`; return the entry if there is one."""

    def forget(self, entry: Entry) -> None:
        """Forget an entry, if it is still there."""

    def take_replaced(self) -> Sequence[Entry]:
        """Return the entries that gave way to others since it was last asked."""

    def statistics(self) -> Mapping[str, int]:
        """Return counts for the record: probes, hits, entries, bytes."""
