"""`reference-minhash`: the rule of `minhash` with the sketches of datasketch, to compare with.

Its MinHash has k permutations, of each of which the least value is kept, where a bottom-k sketch
keeps the k least values of one. Slower by orders of magnitude; an oracle, not an arm to win.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

from miai.belief_search.bounds.protocol import AnyBelief
from miai.belief_search.bounds.sketched import Hashes, MinHashBounds, SketchShelf
from miai.belief_search.sets import HashedSet
from miai.belief_search.universe import Universe

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
        """Return the least values of all permutations."""
        own = belief.hashes if isinstance(belief, HashedSet) else self._universe.hashes(belief)
        minhash = self._empty.copy()
        minhash.update_batch((own & _LOW).tolist())
        return np.asarray(minhash.hashvalues, np.uint64), self.k
