"""Retention policies: which entries bounds forget at their memory limit.

`none` keeps the first entries, `lru` the most recently used, `space-saving` the most used, and
`count-sketch` those that a Count-Sketch, which counts forgotten entries too, estimates as the most
frequent.
"""

from __future__ import annotations

import heapq
import statistics
from collections import OrderedDict
from typing import Protocol

from miai.beliefs.sets import hashed


class Retention(Protocol):
    """Chooses the entries to forget. An entry's 64-bit name is the same in every process."""

    def added(self, name: int) -> None:
        """Called after an entry is stored."""

    def used(self, name: int) -> None:
        """Called after a bound was derived from an entry."""

    def victim(self) -> int | None:
        """Remove and return the entry to forget; None to reject the newest one."""


class KeepFirst:
    """Forgets nothing: at the limit, new entries are rejected."""

    def __init__(self, parameters: object = None) -> None:
        pass

    def added(self, name: int) -> None:
        """Do nothing."""

    def used(self, name: int) -> None:
        """Do nothing."""

    def victim(self) -> int | None:
        """Return None."""
        return None


class LeastRecentlyUsed:
    """Forgets the least recently used entry."""

    def __init__(self, parameters: object = None) -> None:
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
    """Forgets the entry with the lowest count; the next new entry inherits that count.

    A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in
    data streams" (2005): with m counters, a name that makes up more than 1/m of all uses is among
    them, and its count is too high by at most the lowest count.

    Attributes:
      inherited: the count of the last forgotten entry, which new entries inherit.
    """

    def __init__(self, parameters: object = None) -> None:
        self._counts: dict[int, int] = {}
        self._levels: dict[int, OrderedDict[int, None]] = {}  # names by count, oldest first
        self._least = 1
        self.inherited = 0

    def added(self, name: int) -> None:
        """Count one use on top of the inherited count."""
        if name in self._counts:
            self.used(name)
        else:
            self._put(name, self.inherited + 1)

    def used(self, name: int) -> None:
        """Count one use."""
        if (count := self._counts.get(name)) is not None:
            self._drop(name, count)
            self._put(name, count + 1)

    def count(self, name: int) -> int:
        """Return an upper bound on the uses of a name; 0 if it has no counter."""
        return self._counts.get(name, 0)

    def victim(self) -> int | None:
        """Return the oldest entry with the lowest count."""
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


ROWS, WIDTH = 5, 4096
"""Rows of a Count-Sketch, an odd number, of which the median counts; and counters per row."""


class CountSketch:
    """Estimates how often names occur in a stream, in fixed memory.

    M. Charikar, K. Chen, M. Farach-Colton, "Finding frequent items in data streams" (2002): each
    row adds a hashed sign to a hashed counter. The median over the rows is an unbiased estimate,
    with an error of about the norm of the counts divided by the square root of the width.

    Args:
      rows: number of estimates; odd.
      width: counters per row.
    """

    def __init__(self, *, rows: int = ROWS, width: int = WIDTH) -> None:
        if rows < 1 or width < 1:
            raise ValueError(
                f"a Count-Sketch needs at least one row and one counter, not {rows} x {width}"
            )
        self._counters = [[0] * width for _ in range(rows)]
        self._width = width

    def add(self, name: int) -> None:
        """Count a name once."""
        for row, counters in enumerate(self._counters):
            index, sign = self._place(name, row)
            counters[index] += sign

    def estimate(self, name: int) -> float:
        """Return the estimated count of a name."""
        places = [self._place(name, row) for row in range(len(self._counters))]
        return statistics.median(
            sign * counters[index]
            for (index, sign), counters in zip(places, self._counters, strict=True)
        )

    def _place(self, name: int, row: int) -> tuple[int, int]:
        mixed = hashed(name ^ hashed(row + 1))
        return (mixed >> 1) % self._width, 1 if mixed & 1 else -1


class MostFrequent:
    """Forgets the stored entry that the sketch estimates to be least frequent.

    Estimates change with the stream, so only the top of the heap is brought up to date.
    """

    def __init__(self, parameters: object = None) -> None:
        self.sketch = CountSketch()
        self._names: set[int] = set()
        self._heap: list[tuple[float, int]] = []

    def added(self, name: int) -> None:
        """Count it, and add it to the heap."""
        self.sketch.add(name)
        if name not in self._names:
            self._names.add(name)
            heapq.heappush(self._heap, (self.sketch.estimate(name), name))

    def used(self, name: int) -> None:
        """Count it."""
        self.sketch.add(name)

    def victim(self) -> int | None:
        """Return the entry with the lowest estimate."""
        while self._heap:
            estimate, name = self._heap[0]
            now = self.sketch.estimate(name)
            if now > estimate:
                heapq.heapreplace(self._heap, (now, name))
                continue
            heapq.heappop(self._heap)
            self._names.discard(name)
            return name
        return None
