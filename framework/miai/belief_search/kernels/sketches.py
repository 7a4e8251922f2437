"""Bottom-k sketches: of a set of 64-bit hashes, the k smallest, in increasing order.

A. Broder, "On the resemblance and containment of documents" (1997). A sketch that is not full
holds its whole set. A row of an array of sketches has its length beside it; the rest is undefined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.belief_search.kernels import inlined, kernel

Hashes = NDArray[np.uint64]

_BLOCK = 64  # hashes looked at together: most blocks have none that is small enough


@kernel
def bottom(hashes: Hashes, out: Hashes) -> int:
    """Write the smallest distinct hashes in increasing order; return how many there are.

    Args:
      hashes: (n,) in any order.
      out: (k,) written.
    """
    k, count = len(out), 0
    for begin in range(0, len(hashes), _BLOCK):
        end = min(begin + _BLOCK, len(hashes))
        if count == k:
            least = hashes[begin]
            for i in range(begin + 1, end):
                least = min(least, hashes[i])
            if least >= out[k - 1]:
                continue
        for i in range(begin, end):
            count = _insert(hashes[i], out, count)
    return count


@inlined
def _insert(value: np.uint64, out: Hashes, count: int) -> int:
    if count == len(out) and value >= out[count - 1]:
        return count
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if out[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < count and out[low] == value:
        return count
    grown = min(count + 1, len(out))
    for at in range(grown - 1, low, -1):
        out[at] = out[at - 1]
    out[low] = value
    return grown


@inlined
def _within(inner: Hashes, size: int, outer: Hashes, held: int) -> bool:
    """Return whether no hash of a sketch disproves that its set is a subset of another's.

    A hash of the inner sketch that lies below the last of the outer one, and is not in it, does.

    Args:
      inner, size: the sketch, and how many of it count.
      outer, held: the other, and its length.
    """
    full = held == len(outer)
    at = 0
    for i in range(size):
        value = inner[i]
        while at < held and outer[at] < value:
            at += 1
        if at == held:
            return full
        if outer[at] != value:
            return False
    return True


@kernel
def find_supersets(
    sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64], found: NDArray[np.int64]
) -> int:
    """Write which sets may contain the one of a sketch; return their number.

    No superset is missed. One that lacks a share f of the union passes with a probability of at
    most (1 - f) ** k.

    Args:
      sketch, size: (k,) and its length.
      sketches, sizes: (m, k), (m,).
      found: (m,) written.
    """
    count = 0
    for i in range(len(sketches)):
        if _within(sketch, size, sketches[i], sizes[i]):
            found[count] = i
            count += 1
    return count


@kernel
def find_subsets(
    sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64], found: NDArray[np.int64]
) -> int:
    """Write which sets may be subsets of the one of a sketch; arguments as in `find_supersets`."""
    count = 0
    for i in range(len(sketches)):
        if _within(sketches[i], sizes[i], sketch, size):
            found[count] = i
            count += 1
    return count


@kernel
def resemblances(
    sketch: Hashes,
    size: int,
    sketches: Hashes,
    sizes: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write estimates of the Jaccard resemblance of one set with each of many.

    Of the k smallest hashes of both together, the share that is in both.

    Args:
      sketch, size, sketches, sizes: as in `find_supersets`.
      out: (m,) written.
    """
    k = len(sketch)
    for i in range(len(sketches)):
        other, held = sketches[i], sizes[i]
        a = b = seen = both = 0
        while seen < k and (a < size or b < held):
            if b == held or (a < size and sketch[a] < other[b]):
                a += 1
            elif a == size or other[b] < sketch[a]:
                b += 1
            else:
                a += 1
                b += 1
                both += 1
            seen += 1
        out[i] = both / seen if seen else 1.0
