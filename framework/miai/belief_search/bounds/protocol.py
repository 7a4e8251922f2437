"""What a search asks of bounds: `Bounds`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol

from miai.belief_search.universe import Mask

_INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the value of a belief, to the player who searches.

    Attributes:
      lower, upper: it lies between them; infinite where nothing is known.
      closure: a belief that contains the one asked for and is worth at least `lower`.
      core: a belief that is contained in the one asked for and is worth at most `upper`.
    """

    lower: float = -_INFINITE
    upper: float = _INFINITE
    closure: Mask = 0
    core: Mask = 0


UNKNOWN = Known()


class Bounds(Protocol):
    """Remembers values of beliefs and bounds those of others by them.

    Attributes:
      explains: whether it is worth to find, for every result, the fewest states that refute and
        the most states that are won by the same strategy; a search then hands in those.
      singles: whether a belief's states should each be tried alone before the belief is searched.
    """

    explains: bool
    singles: bool

    def probe(self, public: Hashable, depth: int, belief: Mask) -> Known:
        """Return what follows for a belief from all that was recorded."""

    def record_lower(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Take in that a belief is worth at least `value`."""

    def record_upper(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Take in that a belief is worth at most `value`."""

    def statistics(self) -> Mapping[str, int]:
        """Return counts for the record: probes, hits, entries, bytes."""
