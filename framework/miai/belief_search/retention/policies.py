"""`none` keeps what came first, `lru` what was used last, `space-saving` what was used most."""

from __future__ import annotations

from collections import OrderedDict


class KeepFirst:
    """Forgets nothing: when there is no more room, what comes is not remembered."""

    def added(self, name: int) -> None:
        """Note nothing."""

    def used(self, name: int) -> None:
        """Note nothing."""

    def victim(self) -> int | None:
        """Return None."""
        return None


class LeastRecentlyUsed:
    """Forgets what was not used for longest."""

    def __init__(self) -> None:
        self._names: OrderedDict[int, None] = OrderedDict()

    def added(self, name: int) -> None:
        """Count it as used now."""
        self._names[name] = None
        self._names.move_to_end(name)

    def used(self, name: int) -> None:
        """Move it to the end of the queue."""
        if name in self._names:
            self._names.move_to_end(name)

    def victim(self) -> int | None:
        """Return the first of the queue."""
        return self._names.popitem(last=False)[0] if self._names else None


class SpaceSaving:
    """Forgets what was used least; what takes its place inherits its count.

    A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in
    data streams" (2005): with m counters a name that was used more than n/m times of n is among
    them, and its count is too high by at most the least count.

    Attributes:
      inherited: the count of the last that was forgotten: the error of those that came after it.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._levels: dict[int, OrderedDict[int, None]] = {}  # names by count, oldest first
        self._least = 1
        self.inherited = 0

    def added(self, name: int) -> None:
        """Count it as used once, on top of what it inherits."""
        if name in self._counts:
            self.used(name)
            return
        self._put(name, self.inherited + 1)

    def used(self, name: int) -> None:
        """Count one more."""
        count = self._counts.get(name)
        if count is None:
            return
        self._drop(name, count)
        self._put(name, count + 1)

    def count(self, name: int) -> int:
        """Return how often a name was used, at most; 0 when it is not held."""
        return self._counts.get(name, 0)

    def victim(self) -> int | None:
        """Return the oldest of those with the least count."""
        if not self._counts:
            return None
        while self._least not in self._levels:
            self._least += 1
        name = next(iter(self._levels[self._least]))
        self.inherited = self._least
        self._drop(name, self._least)
        del self._counts[name]
        return name

    def _put(self, name: int, count: int) -> None:
        self._counts[name] = count
        self._levels.setdefault(count, OrderedDict())[name] = None
        self._least = min(self._least, count)

    def _drop(self, name: int, count: int) -> None:
        level = self._levels[count]
        del level[name]
        if not level:
            del self._levels[count]
