"""Bounds that find subsets and supersets by sketches: `dominance` and `minhash`.

Each recorded belief leaves a bottom-k sketch, and a probe compares the sketch of its belief with
all of them at once. *Verified* bounds keep the sets and test candidates exactly: no errors, and
fewer exact tests. *Approximate* bounds drop the sets, and some of them are false; how many depends
on k (docs/belief-search.md).

`reference-minhash` is the rule of `minhash` with datasketch's MinHash, which keeps the minimum of
each of k permutations instead of the k smallest hashes. It is an oracle, slower by orders of
magnitude.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

from miai.beliefs.bounds import UNKNOWN, AnyBelief, BoundEntry, Known
from miai.beliefs.kernels.sketches import bottom, find_subsets, find_supersets, resemblances
from miai.beliefs.sets import Belief, HashedSet, Universe, bytes_of, is_subset, short_key, size_of

Hashes = NDArray[np.uint64]
_INFINITE = float("inf")
_FIRST_ROOM = 16


class SketchShelf:
    """The sketches of the beliefs of one public part and depth, in arrays that grow.

    Attributes:
      keys: the belief of each row, or a hash of it where sets are dropped.
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

    @property
    def sketches(self) -> Hashes:
        """The sketches, (m, k) uint64, valid up to their lengths."""
        return self._sketches[: self._count]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The lengths of the sketches, (m,)."""
        return self._sizes[: self._count]

    @property
    def totals(self) -> NDArray[np.int64]:
        """The numbers of states, (m,)."""
        return self._totals[: self._count]

    @property
    def values(self) -> NDArray[np.float64]:
        """The bounds, (m,)."""
        return self._values[: self._count]

    def __len__(self) -> int:
        return self._count


class SketchBounds(ABC):
    """Subset and superset bounds by sketches.

    Args:
      universe: hashes the states of masks.
      k: hashes per sketch.
      verified: whether candidates are tested exactly.
    """

    explains = singles = False
    infers = True

    def __init__(self, universe: Universe[Any], *, k: int, verified: bool) -> None:
        if k < 1:
            raise ValueError(f"a sketch has at least one hash, not {k}")
        self._universe, self.k, self.verified = universe, k, verified
        self.held = 0
        self._lower: dict[tuple[Hashable, int], SketchShelf] = {}
        self._upper: dict[tuple[Hashable, int], SketchShelf] = {}
        self._counts = {"probes": 0, "hits": 0, "let_through": 0, "refused": 0, "entries": 0}

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
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
        if below > above:  # one of them is false: trust neither
            return UNKNOWN
        used = [BoundEntry(True, public, depth, key_below)] if below > -_INFINITE else []
        used += [BoundEntry(False, public, depth, key_above)] if above < _INFINITE else []
        if not self.verified:  # sets are dropped: the belief stands for its match
            return Known(below, above, belief, belief, tuple(used))
        return Known(below, above, key_below, key_above, tuple(used))

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Store the sketch, the size and the value; the set too if bounds are verified.

        Otherwise the entry has a key in place of the set.
        """
        entry = BoundEntry(True, public, depth, self._key(belief))
        shelf = self._lower.setdefault((public, depth), SketchShelf(self.k))
        before = shelf.value(entry.belief)
        new = before is None or value > before
        return self._record(shelf, entry, belief, value) if new else None

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """As `record_lower`."""
        entry = BoundEntry(False, public, depth, self._key(belief))
        shelf = self._upper.setdefault((public, depth), SketchShelf(self.k))
        before = shelf.value(entry.belief)
        new = before is None or value < before
        return self._record(shelf, entry, belief, value) if new else None

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still stored."""
        shelves = self._lower if entry.lower else self._upper
        shelf = shelves.get((entry.public, entry.depth))
        if shelf is not None and shelf.remove(entry.belief):
            self._counts["entries"] -= 1
            self.held -= self._bytes(entry.belief)

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return nothing: entries are not replaced."""
        return ()

    @property
    def entry_bytes(self) -> int:
        """Bytes of the smallest entry."""
        return self._bytes(1)

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, entries, candidates and refused candidates."""
        return {**self._counts, "bytes": self.held}

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
        for i in self.candidates(shelf, sketch, size, total, supersets=supersets).tolist():
            value = float(shelf.values[i])
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

    def _record(
        self, shelf: SketchShelf, entry: BoundEntry, belief: AnyBelief, value: float
    ) -> BoundEntry:
        sketch, size = self._sketch(belief)
        if shelf.add(entry.belief, sketch, size, size_of(belief), value):
            self._counts["entries"] += 1
            self.held += self._bytes(entry.belief)
        return entry

    def _key(self, belief: Belief) -> Belief:
        """Return the key of a belief on a shelf: itself where sets are kept."""
        return belief if self.verified else short_key(belief)

    def _bytes(self, belief: AnyBelief) -> int:
        """Return the bytes of an entry: its hashes, four numbers, and its set where it is kept."""
        return 8 * (self.k + 4) + (bytes_of(belief) if self.verified else 0)

    def _sketch(self, belief: AnyBelief) -> tuple[Hashes, int]:
        sketch = np.zeros(self.k, np.uint64)
        if isinstance(belief, HashedSet):
            size = min(self.k, len(belief))
            sketch[:size] = belief.hashes[:size]
            return sketch, size
        return sketch, int(bottom(self._universe.hashes(belief), sketch))


class DominanceBounds(SketchBounds):
    """A missing hash disproves a subset; no subset is missed."""

    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the beliefs that no hash disproves."""
        find = find_supersets if supersets else find_subsets
        found = np.empty(len(shelf), np.int64)
        found = found[: find(sketch, size, shelf.sketches, shelf.sizes, found)]
        larger = shelf.totals[found] >= total if supersets else shelf.totals[found] <= total
        return found[larger]


class MinHashBounds(SketchBounds):
    """Estimates the share of one set in another from their resemblance.

    Args:
      threshold: minimum estimated share of the smaller set in the larger one.
    """

    def __init__(
        self, universe: Universe[Any], *, k: int, verified: bool, threshold: float
    ) -> None:
        super().__init__(universe, k=k, verified=verified)
        if not 0 < threshold <= 1:
            raise ValueError(f"a threshold is above 0 and at most 1, not {threshold}")
        self.threshold = threshold

    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the beliefs whose estimated share reaches the threshold."""
        alike = np.empty(len(shelf))
        resemblances(sketch, size, shelf.sketches, shelf.sizes, alike)
        return self.similar(shelf, alike, total, supersets=supersets)

    def similar(
        self, shelf: SketchShelf, alike: NDArray[np.float64], total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the beliefs whose resemblance and size give a share at the threshold or above."""
        common = alike * (total + shelf.totals) / (1.0 + alike)
        inner = total if supersets else shelf.totals
        return np.flatnonzero(common >= self.threshold * inner)


_LOW = np.uint64(0xFFFFFFFF)  # datasketch permutes hashes of 32 bits


class ReferenceBounds(MinHashBounds):
    """Bounds by datasketch's MinHash; see `MinHashBounds`."""

    def __init__(
        self, universe: Universe[Any], *, k: int, verified: bool, threshold: float
    ) -> None:
        super().__init__(universe, k=k, verified=verified, threshold=threshold)
        self._empty = MinHash(num_perm=k, seed=1, hashfunc=int)

    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the beliefs whose estimated share reaches the threshold."""
        alike = (shelf.sketches == sketch).mean(axis=1)
        return self.similar(shelf, alike, total, supersets=supersets)

    def _sketch(self, belief: AnyBelief) -> tuple[Hashes, int]:
        """Return the minimum of each permutation."""
        own = belief.hashes if isinstance(belief, HashedSet) else self._universe.hashes(belief)
        minhash = self._empty.copy()
        minhash.update_batch((own & _LOW).tolist())
        return np.asarray(minhash.hashvalues, np.uint64), self.k
