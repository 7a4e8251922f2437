"""`count-sketch`: keeps what a Count-Sketch finds most frequent, forgotten names counted on.

M. Charikar, K. Chen, M. Farach-Colton, "Finding frequent items in data streams" (2002): each row
adds a sign, drawn by a hash, to one counter, chosen by another; the median over the rows estimates
the count, without bias, to within about the norm of the counts by the root of the width.
"""

from __future__ import annotations

import heapq
import statistics

from miai.belief_search.hashing import hashed


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
