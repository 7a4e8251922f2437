"""Bounds with a limit in bytes: a retention policy says what is forgotten."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from hashlib import blake2b

from miai.belief_search.bounds.protocol import AnyBelief, Bounds, Entry, Known
from miai.belief_search.retention.protocol import Retention


class LimitedBounds:
    """Other bounds, kept below a limit.

    Args:
      bounds: what remembers.
      retention: what chooses what to forget.
      limit: bytes that the entries may take, about.

    Raises:
      ValueError: the limit is less than one entry takes.
    """

    def __init__(self, bounds: Bounds, retention: Retention, *, limit: int) -> None:
        if limit < LEAST_LIMIT:
            raise ValueError(f"a limit of {limit} bytes has no room for one entry; {LEAST_LIMIT}")
        self.explains, self.singles = bounds.explains, bounds.singles
        self.infers = bounds.infers
        self._bounds, self._retention, self._limit = bounds, retention, limit
        self._entries: dict[int, Entry] = {}
        self._forgotten = 0

    @property
    def held(self) -> int:
        """Bytes that the entries take, about."""
        return self._bounds.held

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return what follows from what is remembered; what it follows from was used."""
        known = self._bounds.probe(public, depth, belief)
        for entry in known.used:
            self._retention.used(_name(entry))
        return known

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Take it in, and forget as much as it takes."""
        return self._kept(self._bounds.record_lower(public, depth, belief, value))

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """As `record_lower`."""
        return self._kept(self._bounds.record_upper(public, depth, belief, value))

    def forget(self, entry: Entry) -> None:
        """Forget an entry."""
        self._bounds.forget(entry)
        self._entries.pop(_name(entry), None)

    def take_replaced(self) -> Sequence[Entry]:
        """Return nothing: who asks this does not forget."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return those of the bounds, and how many entries were forgotten."""
        return {**self._bounds.statistics(), "forgotten": self._forgotten}

    def _kept(self, entry: Entry | None) -> Entry | None:
        for replaced in self._bounds.take_replaced():
            self._entries.pop(_name(replaced), None)
        if entry is None:
            return None
        name = _name(entry)
        self._entries[name] = entry
        self._retention.added(name)
        while self._bounds.held > self._limit:
            victim = self._retention.victim()
            forgotten = self._entries.pop(name if victim is None else victim, None)
            if forgotten is None:
                continue  # it gave way to another before
            self._bounds.forget(forgotten)
            self._forgotten += 1
            if victim is None:
                return None
        return entry


LEAST_LIMIT = 4096
"""Bytes; one entry of a large belief takes hundreds."""


def _name(entry: Entry) -> int:
    """Return a name of 64 bits that is the same in every process."""
    return int.from_bytes(blake2b(repr(entry).encode(), digest_size=8).digest(), "little")
