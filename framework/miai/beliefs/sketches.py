"""Bounds that find subsets and supersets by sketches: `dominance` and `minhash`.

Each recorded belief leaves a bottom-k sketch. A probe compares the sketch of its belief with all of
them at once. *Verified* bounds keep the sets and test candidates exactly: no errors, and fewer
exact tests. *Approximate* bounds drop the sets, and some of them are false; docs/belief-search.md
says how many.

`reference-minhash` uses datasketch's MinHash, which keeps the minimum of each of k permutations
instead of the k smallest hashes. It is an oracle, slower by orders of magnitude.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

from miai.beliefs.bounds import NoBounds
from miai.beliefs.kernels.hashes import bottom, find_subsets, find_supersets, resemblances
from miai.beliefs.protocol import UNKNOWN, AnyBelief, BoundEntry, ProbeResult
from miai.beliefs.sets import Belief, HashedSet, Universe, bytes_of, is_subset, short_key, size_of

Hashes = NDArray[np.uint64]
_INFINITE = float("inf")
_FIRST_ROOM = 16


class SketchShelf:
    """The sketches of the beliefs of one public part and depth, in arrays of m rows that grow.

    Attributes:
      keys: the belief of each row, or a hash of it if sets are dropped.
    """

    def __init__(self, k: int) -> None:
        self._sketches = np.zeros((_FIRST_ROOM, k), np.uint64)
        self._sizes = np.zeros(_FIRST_ROOM, np.int64)
        self._totals = np.zeros(_FIRST_ROOM, np.int64)
        self._values = np.zeros(_FIRST_ROOM)
        self.keys: list[Belief] = []
        self._rows: dict[Belief, int] = {}
        self._count = 0

    def add(self, key: Belief, sketch: Hashes, size: int, total: int, value: float) -> bool:
        """Add a belief or update its value; return whether it is new."""
        if key in self._rows:
            self._values[self._rows[key]] = value
            return False
        if self._count == len(self._sizes):
            for name in ("_sketches", "_sizes", "_totals", "_values"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        at = self._rows[key] = self._count
        self._sketches[at], self._sizes[at] = sketch, size
        self._totals[at], self._values[at] = total, value
        self.keys.append(key)
        self._count += 1
        return True

    def value(self, key: Belief) -> float | None:
        """Return the bound of a belief on the shelf."""
        at = self._rows.get(key)
        return None if at is None else float(self._values[at])

    def remove(self, key: Belief) -> bool:
        """Remove a belief; return whether it was there."""
        at = self._rows.pop(key, None)
        if at is None:
            return False
        self._count -= 1
        last = self.keys.pop()
        if at < self._count:
            self.keys[at], self._rows[last] = last, at
        for array in (self._sketches, self._sizes, self._totals, self._values):
            array[at] = array[self._count]
        return True

    def rows(self) -> tuple[Hashes, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the sketches (m, k), their lengths, the numbers of states and the bounds (m,)."""
        m = self._count
        return self._sketches[:m], self._sizes[:m], self._totals[:m], self._values[:m]


class SketchBounds(NoBounds, ABC):
    """Subset and superset bounds by sketches.

    Args:
      universe: hashes the states of masks.
      k: hashes per sketch.
      verified: whether candidates are tested exactly.
    """

    infers = True

    def __init__(self, universe: Universe[Any], *, k: int, verified: bool) -> None:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        self._universe, self.k, self.verified = universe, k, verified
        self.nbytes = 0
        self._lower: dict[tuple[Hashable, int], SketchShelf] = {}
        self._upper: dict[tuple[Hashable, int], SketchShelf] = {}
        self._counts = {"probes": 0, "hits": 0, "let_through": 0, "refused": 0, "entries": 0}

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> ProbeResult:
        """Return the best bounds of recorded supersets and subsets."""
        self._counts["probes"] += 1
        lower, upper = self._lower.get((public, depth)), self._upper.get((public, depth))
        if lower is None and upper is None:
            return UNKNOWN
        sketch, size = self._sketch(belief)
        total = size_of(belief)
        below, key_below = self._best(lower, sketch, size, total, belief, supersets=True)
        above, key_above = self._best(upper, sketch, size, total, belief, supersets=False)
        self._counts["hits"] += below > -_INFINITE or above < _INFINITE
        if below > above:  # one of them is false: use neither
            return UNKNOWN
        entries = [BoundEntry(True, public, depth, key_below)] if below > -_INFINITE else []
        entries += [BoundEntry(False, public, depth, key_above)] if above < _INFINITE else []
        if not self.verified:  # sets are dropped: the belief stands for its match
            key_below = key_above = belief
        return ProbeResult(below, above, key_below, key_above, tuple(entries))

    def record(self, entry: BoundEntry, value: float) -> BoundEntry | None:
        """Store the sketch, the size and the value; the set too if bounds are verified.

        Otherwise the stored entry has a key in place of the set.
        """
        belief = entry.belief
        if not self.verified:
            entry = entry._replace(belief=short_key(belief))
        shelves = self._lower if entry.lower else self._upper
        shelf = shelves.setdefault((entry.public, entry.depth), SketchShelf(self.k))
        before = shelf.value(entry.belief)
        if before is not None and (value <= before if entry.lower else value >= before):
            return None
        sketch, size = self._sketch(belief)
        if shelf.add(entry.belief, sketch, size, size_of(belief), value):
            self._counts["entries"] += 1
            self.nbytes += self._bytes(entry.belief)
        return entry

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still stored."""
        shelves = self._lower if entry.lower else self._upper
        shelf = shelves.get((entry.public, entry.depth))
        if shelf is not None and shelf.remove(entry.belief):
            self._counts["entries"] -= 1
            self.nbytes -= self._bytes(entry.belief)

    @property
    def entry_bytes(self) -> int:
        """Bytes of the smallest entry."""
        return self._bytes(1)

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, candidates, refused candidates, entries and bytes."""
        return {**self._counts, "bytes": self.nbytes}

    @abstractmethod
    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the rows that may be supersets, or subsets, of a belief."""

    def _best(
        self,
        shelf: SketchShelf | None,
        sketch: Hashes,
        size: int,
        total: int,
        belief: AnyBelief,
        *,
        supersets: bool,
    ) -> tuple[float, AnyBelief]:
        """Return the best bound of a shelf and the belief behind it."""
        best, which = (-_INFINITE if supersets else _INFINITE), belief
        if shelf is None:
            return best, which
        values = shelf.rows()[3]
        for i in self.candidates(shelf, sketch, size, total, supersets=supersets).tolist():
            value = float(values[i])
            if value <= best if supersets else value >= best:
                continue
            self._counts["let_through"] += 1
            other = shelf.keys[i]
            if self.verified:
                inner, outer = (belief, other) if supersets else (other, belief)
                if not is_subset(inner, outer):
                    self._counts["refused"] += 1
                    continue
            best, which = value, other
        return best, which

    def _bytes(self, belief: AnyBelief) -> int:
        """Return the bytes of an entry: its hashes, four numbers, and its set if verified."""
        return 8 * (self.k + 4) + (bytes_of(belief) if self.verified else 0)

    def _sketch(self, belief: AnyBelief) -> tuple[Hashes, int]:
        sketch = np.zeros(self.k, np.uint64)
        if isinstance(belief, HashedSet):
            size = min(self.k, len(belief))
            sketch[:size] = belief.hashes[:size]
            return sketch, size
        return sketch, int(bottom(self._universe.hashes(belief), sketch))


class DominanceBounds(SketchBounds):
    """Excludes a subset when one of its hashes is missing; never misses a subset."""

    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the rows that no hash excludes."""
        find = find_supersets if supersets else find_subsets
        sketches, sizes, totals, _ = shelf.rows()
        rows = np.empty(len(sizes), np.int64)
        rows = rows[: find(sketch, size, sketches, sizes, rows)]
        return rows[totals[rows] >= total if supersets else totals[rows] <= total]


class MinHashBounds(SketchBounds):
    """Estimates the share of one set in another from their Jaccard resemblance.

    Args:
      threshold: minimum estimated share of the smaller set in the larger one.
    """

    def __init__(
        self, universe: Universe[Any], *, k: int, verified: bool, threshold: float
    ) -> None:
        super().__init__(universe, k=k, verified=verified)
        if not 0 < threshold <= 1:
            raise ValueError(f"the threshold must be above 0 and at most 1, not {threshold}")
        self.threshold = threshold

    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the rows whose estimated share reaches the threshold."""
        sketches, sizes, totals, _ = shelf.rows()
        alike = self._resemblances(sketch, size, sketches, sizes)
        common = alike * (total + totals) / (1.0 + alike)
        return np.flatnonzero(common >= self.threshold * (total if supersets else totals))

    def _resemblances(
        self, sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        alike = np.empty(len(sizes))
        resemblances(sketch, size, sketches, sizes, alike)
        return alike


_LOW = np.uint64(0xFFFFFFFF)  # datasketch permutes hashes of 32 bits


class ReferenceBounds(MinHashBounds):
    """Bounds by datasketch's MinHash; see `MinHashBounds`."""

    def __init__(
        self, universe: Universe[Any], *, k: int, verified: bool, threshold: float
    ) -> None:
        super().__init__(universe, k=k, verified=verified, threshold=threshold)
        self._empty = MinHash(num_perm=k, seed=1, hashfunc=int)

    def _resemblances(
        self, sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        return np.asarray((sketches == sketch).mean(axis=1))

    def _sketch(self, belief: AnyBelief) -> tuple[Hashes, int]:
        """Return the minimum of each permutation."""
        own = belief.hashes if isinstance(belief, HashedSet) else self._universe.hashes(belief)
        minhash = self._empty.copy()
        minhash.update_batch((own & _LOW).tolist())
        return np.asarray(minhash.hashvalues, np.uint64), self.k
