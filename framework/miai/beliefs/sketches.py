"""The bounds `minhash`: subsets and supersets found by the resemblance of sketches.

Each recorded belief leaves a bottom-k sketch. A probe compares the sketch of its belief with all of
them at once. *Verified* bounds keep the sets and test candidates exactly, without errors. The
others drop the sets, and some of them are false; docs/belief-search.md says how many.

`reference-minhash` uses datasketch's MinHash, which keeps the minimum of each of k permutations
instead of the k smallest hashes. It is an oracle, slower by orders of magnitude.

Numba and datasketch are imported when bounds that need them are made.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.bounds import BoundsParameters, NoBounds, limited
from miai.beliefs.protocol import UNKNOWN, BoundEntry, Bounds, Mask, ProbeResult
from miai.beliefs.sets import Universe, bytes_of
from miai.parameters import parameter

Hashes = NDArray[np.uint64]
_INFINITE = float("inf")
_FIRST_ROOM = 16


def short_key(belief: Mask) -> int:
    """Return a 128-bit key to store in place of a belief."""
    content = belief.to_bytes(belief.bit_length() // 8 + 1, "little")
    return int.from_bytes(blake2b(content, digest_size=16).digest(), "little")


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
        self.keys: list[Mask] = []
        self._rows: dict[Mask, int] = {}
        self._count = 0

    def add(self, key: Mask, sketch: Hashes, size: int, total: int, value: float) -> bool:
        """Add a belief or update its value; return whether it is new."""
        if key in self._rows:
            self._values[self._rows[key]] = value
            return False
        if self._count == len(self._sizes):
            for name in ("_sketches", "_sizes", "_totals", "_values"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        row = self._rows[key] = self._count
        self._sketches[row], self._sizes[row] = sketch, size
        self._totals[row], self._values[row] = total, value
        self.keys.append(key)
        self._count += 1
        return True

    def value(self, key: Mask) -> float | None:
        """Return the bound of a belief on the shelf."""
        row = self._rows.get(key)
        return None if row is None else float(self._values[row])

    def remove(self, key: Mask) -> bool:
        """Remove a belief; return whether it was there."""
        row = self._rows.pop(key, None)
        if row is None:
            return False
        self._count -= 1
        last = self.keys.pop()
        if row < self._count:
            self.keys[row], self._rows[last] = last, row
        for array in (self._sketches, self._sizes, self._totals, self._values):
            array[row] = array[self._count]
        return True

    def rows(self) -> tuple[Hashes, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the sketches (m, k), their lengths, the numbers of states and the bounds (m,)."""
        m = self._count
        return self._sketches[:m], self._sizes[:m], self._totals[:m], self._values[:m]


class MinHashBounds(NoBounds):
    """Subset and superset bounds, from the share of one set in another that sketches estimate.

    Args:
      universe: hashes the states of masks.
      k: hashes per sketch.
      verified: whether candidates are tested exactly.
      threshold: minimum estimated share of the smaller set in the larger one.
    """

    infers = True

    def __init__(
        self, universe: Universe[Any], *, k: int, verified: bool, threshold: float
    ) -> None:
        from miai.beliefs.kernels import sketching

        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if not 0 < threshold <= 1:
            raise ValueError(f"the threshold must be above 0 and at most 1, not {threshold}")
        self._kernels = sketching
        self._universe, self.k, self.verified = universe, k, verified
        self.threshold = threshold
        self.nbytes = 0
        self._lower: dict[tuple[Hashable, int], SketchShelf] = {}
        self._upper: dict[tuple[Hashable, int], SketchShelf] = {}
        self._counts = {"probes": 0, "hits": 0, "let_through": 0, "refused": 0, "entries": 0}

    def probe(self, public: Hashable, depth: int, belief: Mask) -> ProbeResult:
        """Return the best bounds of recorded supersets and subsets."""
        self._counts["probes"] += 1
        lower, upper = self._lower.get((public, depth)), self._upper.get((public, depth))
        if lower is None and upper is None:
            return UNKNOWN
        sketch, size = self._sketch(belief)
        total = belief.bit_count()
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
        if shelf.add(entry.belief, sketch, size, belief.bit_count(), value):
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

    def candidates(
        self, shelf: SketchShelf, sketch: Hashes, size: int, total: int, *, supersets: bool
    ) -> NDArray[np.int64]:
        """Return the rows that may be supersets, or subsets, of a belief."""
        sketches, sizes, totals, _ = shelf.rows()
        alike = self._resemblances(sketch, size, sketches, sizes)
        common = alike * (total + totals) / (1.0 + alike)
        return np.flatnonzero(common >= self.threshold * (total if supersets else totals))

    def _best(
        self,
        shelf: SketchShelf | None,
        sketch: Hashes,
        size: int,
        total: int,
        belief: Mask,
        *,
        supersets: bool,
    ) -> tuple[float, Mask]:
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
            if self.verified and (belief & ~other if supersets else other & ~belief):
                self._counts["refused"] += 1
                continue
            best, which = value, other
        return best, which

    def _bytes(self, belief: Mask) -> int:
        """Return the bytes of an entry: its hashes, four numbers, and its set if verified."""
        return 8 * (self.k + 4) + (bytes_of(belief) if self.verified else 0)

    def _sketch(self, belief: Mask) -> tuple[Hashes, int]:
        """Return the sketch of a belief and its length."""
        sketch = np.zeros(self.k, np.uint64)
        return sketch, int(self._kernels.bottom(self._universe.hashes(belief), sketch))

    def _resemblances(
        self, sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the estimated Jaccard resemblance with each of many sets."""
        alike = np.empty(len(sizes))
        self._kernels.resemblances(sketch, size, sketches, sizes, alike)
        return alike


_LOW = np.uint64(0xFFFFFFFF)  # datasketch permutes hashes of 32 bits


class ReferenceBounds(MinHashBounds):
    """Bounds by datasketch's MinHash; see `MinHashBounds`."""

    def __init__(
        self, universe: Universe[Any], *, k: int, verified: bool, threshold: float
    ) -> None:
        from datasketch import MinHash

        super().__init__(universe, k=k, verified=verified, threshold=threshold)
        self._empty = MinHash(num_perm=k, seed=1, hashfunc=int)

    def _sketch(self, belief: Mask) -> tuple[Hashes, int]:
        """Return the minimum of each permutation."""
        minhash = self._empty.copy()
        minhash.update_batch((self._universe.hashes(belief) & _LOW).tolist())
        return np.asarray(minhash.hashvalues, np.uint64), self.k

    def _resemblances(
        self, sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        return np.asarray((sketches == sketch).mean(axis=1))


# -- components -----------------------------------------------------------------------------------


class MinHashParameters(BoundsParameters):
    """Parameters of `minhash` and `reference-minhash`."""

    k: int = parameter(64, ge=1, le=65_536, unit="hashes", help="Hashes per sketch")
    threshold: float = parameter(
        0.9, gt=0, le=1, help="Minimum estimated share of the smaller belief in the larger one"
    )
    verified: bool = parameter(
        True, help="Test candidates exactly; otherwise beliefs are dropped, some bounds false"
    )


def minhash(universe: Universe[Any], parameters: MinHashParameters) -> Bounds:
    """Bound beliefs by subsets and supersets of estimated resemblance."""
    return _built(MinHashBounds, universe, parameters)


def reference_minhash(universe: Universe[Any], parameters: MinHashParameters) -> Bounds:
    """Bound beliefs by datasketch's MinHash, as an oracle."""
    return _built(ReferenceBounds, universe, parameters)


def _built(
    bounds: type[MinHashBounds], universe: Universe[Any], parameters: MinHashParameters
) -> Bounds:
    k, threshold, verified = parameters.k, parameters.threshold, parameters.verified
    return limited(bounds(universe, k=k, verified=verified, threshold=threshold), parameters)
