"""A transposition table of bounded size."""

from __future__ import annotations

from collections.abc import Hashable
from enum import IntEnum
from typing import NamedTuple


class Bound(IntEnum):
    """What the value of an entry says of the true one."""

    EXACT = 0
    LOWER = 1
    UPPER = 2


class Entry(NamedTuple):
    """What a search found out about a state.

    Attributes:
      depth: plies that it looked ahead; infinite when the horizon played no part.
      bound: whether the value is exact or bounds the true one.
      value: utility for the player to move.
      action: the best action, or the one that caused the cut-off; None when none stood out.
    """

    depth: float
    bound: Bound
    value: float
    action: int | None


class TranspositionTable:
    """Entries by `State.key`, in two generations: when the young one is full, the old one goes.

    An entry that is used moves to the young generation, so what goes was not used for at least
    half a table's worth of stores. Which entries are kept depends on the order of use alone, not
    on hash values, which differ from process to process.

    Args:
      size: most entries, 2 or more.

    Attributes:
      hits: look-ups that found an entry.
    """

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._young: dict[Hashable, Entry] = {}
        self._old: dict[Hashable, Entry] = {}
        self.hits = 0

    def get(self, key: Hashable) -> Entry | None:
        """Return the entry of the key, or None."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.pop(key, None)
            if entry is None:
                return None
            self.store(key, entry)
        self.hits += 1
        return entry

    def store(self, key: Hashable, entry: Entry) -> None:
        """Keep the entry, in place of an older one of the key."""
        if len(self._young) >= self._half and key not in self._young:
            self._old, self._young = self._young, {}
        self._old.pop(key, None)
        self._young[key] = entry

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
