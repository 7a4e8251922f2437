"""Bottom-k sketches of sets of 64-bit hashes.

The sketch of a set is its k smallest hashes in increasing order (A. Broder, "On the resemblance and
containment of documents", 1997); one that is not full is its whole set. The lengths of sketches in
an array are separate; elements beyond them are undefined. All values are uint64: an operation with
a signed number would turn both into floats.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels import inlined, kernel

Hashes = NDArray[np.uint64]

_BLOCK = 128  # hashes tested together: most blocks have none that is small enough
_GREATEST = 2**64 - 1


@kernel
def bottom(hashes: Hashes, out: Hashes) -> int:
    """Write the smallest distinct hashes in increasing order; return their number.

    Args:
      hashes: (n,) in any order; fast if uniform and mostly distinct.
      out: (k,) output.
    """
    n, k = len(hashes), len(out)
    wanted = int(k + 5 * math.sqrt(k) + 5)  # uniform hashes hardly ever have fewer below wanted / n
    # Try with a ceiling first: with few hashes below it, most blocks are rejected by one
    # comparison. Hashes that are not uniform may leave too few, and are read again without it.
    if 2 * wanted < n:
        count = _gather(hashes, out, np.uint64(_GREATEST) // np.uint64(n) * np.uint64(wanted))
        if count == k:
            return count
    return _gather(hashes, out, np.uint64(_GREATEST))


@inlined
def _gather(hashes: Hashes, out: Hashes, ceiling: np.uint64) -> int:
    """Write the smallest distinct hashes up to `ceiling`; return their number."""
    n, k, count = len(hashes), len(out), 0
    if k == 0:
        return 0
    whole = n - n % _BLOCK
    for begin in range(0, whole, _BLOCK):
        block = hashes[begin : begin + _BLOCK]
        least = block[0]
        for i in range(_BLOCK):  # a constant number: compiled without branches
            least = block[i] if block[i] < least else least
        # The ceiling falls to the largest hash of a full sketch: ever fewer blocks are looked at.
        if least <= ceiling:
            for value in block:
                if value <= ceiling:
                    count = put_hash(value, out, count)
                    ceiling = out[k - 1] if count == k else ceiling
    for value in hashes[whole:]:
        if value <= ceiling:
            count = put_hash(value, out, count)
    return count


@inlined
def put_hash(value: np.uint64, out: Hashes, count: int) -> int:
    """Insert a hash into a sketch unless it is present or too large; return the sketch's length.

    Args:
      out, count: (k,) the sketch, k at least 1, and its length before.
    """
    if count == len(out) and value >= out[count - 1]:
        return count
    # Binary search for the place, then one shift: 64 hashes are eight lines of the cache.
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if out[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < count and out[low] == value:
        return count
    # A full sketch loses its largest hash.
    grown = min(count + 1, len(out))
    for index in range(grown - 1, low, -1):
        out[index] = out[index - 1]
    out[low] = value
    return grown


@kernel
def resemblances(
    sketch: Hashes,
    size: int,
    sketches: Hashes,
    sizes: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write estimates of a set's Jaccard resemblance with each of many sets.

    The estimate is the share of the k smallest hashes of the union that are in both sketches.

    Args:
      sketch, size: (k,) the sketch and its length.
      sketches, sizes: (m, k), (m,) the sketches to compare and their lengths.
      out: (m,) output.
    """
    for i in range(len(sketches)):
        out[i] = resemblance(sketch, size, sketches, i, sizes[i])


@inlined
def resemblance(sketch: Hashes, size: int, sketches: Hashes, row: int, row_size: int) -> float:
    """Return the estimate for one set; see `resemblances`. Its sketch has `row_size` hashes."""
    a = b = count = both = 0
    while count < len(sketch) and (a < size or b < row_size):
        if b == row_size or (a < size and sketch[a] < sketches[row, b]):
            a += 1
        elif a == size or sketches[row, b] < sketch[a]:
            b += 1
        else:
            a += 1
            b += 1
            both += 1
        count += 1
    return both / count if count else 1.0
