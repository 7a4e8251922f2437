"""`none` remembers nothing; `table` remembers beliefs and knows them again when they are equal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from miai.belief_search.bounds.protocol import UNKNOWN, Known
from miai.belief_search.universe import Mask

_Key = tuple[Hashable, int, Mask]


class NoBounds:
    """Knows nothing."""

    explains = singles = False

    def probe(self, public: Hashable, depth: int, belief: Mask) -> Known:
        """Return that nothing is known."""
        return UNKNOWN

    def record_lower(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Forget it."""

    def record_upper(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Forget it."""

    def statistics(self) -> Mapping[str, int]:
        """Return nothing."""
        return {}


class TableBounds:
    """A transposition table of beliefs."""

    explains = singles = False

    def __init__(self) -> None:
        self._table: dict[_Key, Known] = {}
        self._probes = self._hits = 0

    def probe(self, public: Hashable, depth: int, belief: Mask) -> Known:
        """Return what was recorded of this very belief."""
        self._probes += 1
        known = self._table.get((public, depth, belief), UNKNOWN)
        self._hits += known is not UNKNOWN
        return known

    def record_lower(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Keep the greatest lower bound."""
        key = (public, depth, belief)
        known = self._table.get(key, UNKNOWN)
        if value > known.lower:
            self._table[key] = Known(value, known.upper, belief, known.core)

    def record_upper(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Keep the least upper bound."""
        key = (public, depth, belief)
        known = self._table.get(key, UNKNOWN)
        if value < known.upper:
            self._table[key] = Known(known.lower, value, known.closure, belief)

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits and entries."""
        return {"probes": self._probes, "hits": self._hits, "entries": len(self._table)}
