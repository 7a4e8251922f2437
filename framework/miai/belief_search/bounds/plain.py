"""`none` remembers nothing; `table` remembers beliefs and knows them again when they are equal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from miai.belief_search.bounds.protocol import UNKNOWN, AnyBelief, Entry, Known
from miai.belief_search.sets import bytes_of


class NoBounds:
    """Knows nothing."""

    explains = singles = infers = False
    held = 0

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return that nothing is known."""
        return UNKNOWN

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Remember nothing."""
        return None

    record_upper = record_lower

    def forget(self, entry: Entry) -> None:
        """Have nothing to forget."""

    def take_replaced(self) -> Sequence[Entry]:
        """Return nothing."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return nothing."""
        return {}


class TableBounds:
    """A transposition table of beliefs."""

    explains = singles = infers = False

    def __init__(self) -> None:
        self.held = 0
        self._values: dict[Entry, float] = {}
        self._probes = self._hits = 0

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return what was recorded of this very belief."""
        self._probes += 1
        below = Entry(True, public, depth, belief)
        above = Entry(False, public, depth, belief)
        lower, upper = self._values.get(below), self._values.get(above)
        if lower is None and upper is None:
            return UNKNOWN
        self._hits += 1
        return Known(
            UNKNOWN.lower if lower is None else lower,
            UNKNOWN.upper if upper is None else upper,
            belief if lower is not None else 0,
            belief if upper is not None else 0,
            tuple(e for e, v in ((below, lower), (above, upper)) if v is not None),
        )

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Keep the greatest lower bound."""
        entry = Entry(True, public, depth, belief)
        return self._keep(entry, value) if value > self._values.get(entry, -1e999) else None

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Keep the least upper bound."""
        entry = Entry(False, public, depth, belief)
        return self._keep(entry, value) if value < self._values.get(entry, 1e999) else None

    def forget(self, entry: Entry) -> None:
        """Forget an entry, if it is still there."""
        if self._values.pop(entry, None) is not None:
            self.held -= bytes_of(entry.belief)

    def take_replaced(self) -> Sequence[Entry]:
        """Return nothing: no entry gives way to another."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, entries and bytes."""
        counts = {"probes": self._probes, "hits": self._hits}
        return {**counts, "entries": len(self._values), "bytes": self.held}

    def _keep(self, entry: Entry, value: float) -> Entry:
        if entry not in self._values:
            self.held += bytes_of(entry.belief)
        self._values[entry] = value
        return entry


class SinglesBounds(TableBounds):
    """A table, and every state of a belief tried alone first: most lost beliefs fail by one."""

    singles = infers = True
