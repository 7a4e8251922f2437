"""Which of the remembered beliefs are kept when there is no room for all: see `protocol`.

What bounds with a byte limit ask of a retention policy: `Retention`.

`none` keeps what came first, `lru` what was used last, `space-saving` what was used most.

`count-sketch`: keeps what a Count-Sketch finds most frequent, forgotten names counted on.

M. Charikar, K. Chen, M. Farach-Colton, "Finding frequent items in data streams" (2002): each row
adds a sign, drawn by a hash, to one counter, chosen by another; the median over the rows estimates
the count, without bias, to within about the norm of the counts by the root of the width.

The retention policies that the framework registers, with their parameters.
"""

from __future__ import annotations

import heapq
import statistics
from collections import OrderedDict
from typing import Protocol, runtime_checkable

from miai.beliefs.sets import hashed
from miai.parameters import Parameters, parameter


@runtime_checkable
class Retention(Protocol):
    """Chooses what to forget. Entries are 64-bit names, the same whenever the same belief comes.

    It holds the names of what is remembered now, and may hold more about names that were.
    """

    def added(self, name: int) -> None:
        """Be told that an entry is remembered now."""

    def used(self, name: int) -> None:
        """Be told that an entry gave a bound, or that it was found once more."""

    def victim(self) -> int | None:
        """Return what to forget, and forget that it is remembered; None to keep all there is."""


__all__ = ["Retention"]


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


class CountSketch:
    """Counts of a stream in fixed room.

    Args:
      rows: estimates of which the median is taken; odd.
      width: counters of each.
    """

    def __init__(self, *, rows: int = 5, width: int = 4096) -> None:
        if rows < 1 or width < 1:
            raise ValueError(f"a Count-Sketch has rows and counters, not {rows} times {width}")
        self._counters = [[0] * width for _ in range(rows)]
        self._width = width

    def add(self, name: int, count: int = 1) -> None:
        """Count a name."""
        for row, counters in enumerate(self._counters):
            at, sign = self._place(name, row)
            counters[at] += sign * count

    def estimate(self, name: int) -> float:
        """Return about how often a name was counted."""
        found = []
        for row, counters in enumerate(self._counters):
            at, sign = self._place(name, row)
            found.append(sign * counters[at])
        return statistics.median(found)

    def _place(self, name: int, row: int) -> tuple[int, int]:
        mixed = hashed(name ^ hashed(row + 1))
        return (mixed >> 1) % self._width, 1 if mixed & 1 else -1


class FrequentKept:
    """Forgets what the sketch estimates to be the least frequent of all that is remembered.

    Estimates change as the stream goes on: the heap is put right where it is looked at.
    """

    def __init__(self, *, rows: int = 5, width: int = 4096) -> None:
        self.sketch = CountSketch(rows=rows, width=width)
        self._held: set[int] = set()
        self._heap: list[tuple[float, int]] = []

    def added(self, name: int) -> None:
        """Count it, and hold it."""
        self.sketch.add(name)
        if name not in self._held:
            self._held.add(name)
            heapq.heappush(self._heap, (self.sketch.estimate(name), name))

    def used(self, name: int) -> None:
        """Count it."""
        self.sketch.add(name)

    def victim(self) -> int | None:
        """Return the one with the least estimate."""
        while self._heap:
            estimate, name = self._heap[0]
            now = self.sketch.estimate(name)
            if now > estimate:
                heapq.heapreplace(self._heap, (now, name))
                continue
            heapq.heappop(self._heap)
            self._held.discard(name)
            return name
        return None


class CountSketchParameters(Parameters):
    """Parameters of `count_sketch`."""

    rows: int = parameter(5, ge=1, le=15, help="estimates of which the median counts")
    width: int = parameter(4096, ge=1, le=1 << 24, unit="counters", help="of each row")


def none(parameters: Parameters) -> Retention:
    """Keep what came first."""
    return KeepFirst()


def lru(parameters: Parameters) -> Retention:
    """Forget what was not used for longest."""
    return LeastRecentlyUsed()


def space_saving(parameters: Parameters) -> Retention:
    """Forget what was used least."""
    return SpaceSaving()


def count_sketch(parameters: CountSketchParameters) -> Retention:
    """Forget what a Count-Sketch finds least frequent."""
    return FrequentKept(rows=parameters.rows, width=parameters.width)
