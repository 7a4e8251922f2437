"""Sets of 64-bit hashes: exact subset tests, and bottom-k sketches.

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

# -- exact subset tests ----------------------------------------------------------------------------

Hashes = NDArray[np.uint64]

_SKEW = 16  # ratio of sizes from which searching for each element is faster than a merge


@kernel
def contains(larger: Hashes, smaller: Hashes) -> bool:
    """Return whether `smaller` is a subset of `larger`; stop at the first missing element.

    Args:
      larger, smaller: (m,), (n,) distinct, in increasing order.
    """
    m, n = len(larger), len(smaller)
    if n == 0:
        return True
    if n > m or smaller[0] < larger[0] or smaller[n - 1] > larger[m - 1]:
        return False
    if m >= _SKEW * n:
        return _contains_few(larger, smaller)
    return _contains_many(larger, smaller)


@inlined
def _contains_many(larger: Hashes, smaller: Hashes) -> bool:
    """Merge both sets; the largest element of all is in the larger set."""
    n, at = len(smaller), 0
    for value in larger:
        target = smaller[at]
        if value > target:
            return False
        at += value == target
        if at == n:
            return True
    return False


@inlined
def _contains_few(larger: Hashes, smaller: Hashes) -> bool:
    """Search for each element from the place of the one before, in steps that double."""
    m, low = len(larger), 0
    for value in smaller:
        step = 1
        while low + step < m and larger[low + step] < value:
            low += step
            step <<= 1
        width = min(step, m - 1 - low)
        if larger[low] < value:  # the element lies in (low, low + width]
            while width > 1:
                half = width >> 1
                low += half if larger[low + half] < value else 0
                width -= half
            low += 1
        if low == m or larger[low] != value:
            return False
    return True


# -- bottom-k sketches -----------------------------------------------------------------------------


_BLOCK = 128  # hashes tested together: most blocks have none that is small enough
_LINE = 8  # hashes skipped together: a cache line
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
    if 2 * wanted < n:
        count = _gather(hashes, out, np.uint64(_GREATEST) // np.uint64(n) * np.uint64(wanted))
        if count == k:
            return count
    return _gather(hashes, out, np.uint64(_GREATEST))


@inlined
def _gather(hashes: Hashes, out: Hashes, most: np.uint64) -> int:
    """Write the smallest distinct hashes up to `most`; return their number."""
    n, k, count = len(hashes), len(out), 0
    if k == 0:
        return 0
    whole = n - n % _BLOCK
    for begin in range(0, whole, _BLOCK):
        block = hashes[begin : begin + _BLOCK]
        least = block[0]
        for i in range(_BLOCK):  # a constant number: compiled without branches
            least = block[i] if block[i] < least else least
        if least <= most:
            for value in block:
                if value <= most:
                    count = put_hash(value, out, count)
                    most = out[k - 1] if count == k else most
    for value in hashes[whole:]:
        if value <= most:
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
def within(
    inners: Hashes, row: int, size: int, outers: Hashes, outer_row: int, length: int
) -> bool:
    """Return whether by their sketches one set may be a subset of another.

    A hash of the inner sketch below the last hash of the outer one, and not in it, excludes it.

    Args:
      inners, row, size: an array of sketches, the index of the inner one, and its length.
      outers, outer_row, length: the same for the outer one.
    """
    at = 0
    for i in range(size):
        value = inners[row, i]
        if at < length and outers[outer_row, at] == value:  # the usual case for a subset
            at += 1
            continue
        while at + _LINE <= length and outers[outer_row, at + _LINE - 1] < value:
            at += _LINE
        while at < length and outers[outer_row, at] < value:
            at += 1
        if at == length:
            return bool(length == outers.shape[1])  # nothing is excluded beyond a full sketch
        if outers[outer_row, at] != value:
            return False
        at += 1
    return True


@kernel
def find_supersets(
    sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64], rows: NDArray[np.int64]
) -> int:
    """Write the indices of the sets that may contain a sketch's set; return their number.

    No superset is missed. A set that lacks a share f of the union passes with a probability of at
    most (1 - f) ** k.

    Args:
      sketch, size: (k,) the sketch and its length.
      sketches, sizes: (m, k), (m,) the sketches to test and their lengths.
      rows: (m,) output.
    """
    query, count = sketch.reshape(1, -1), 0
    for i in range(len(sketches)):
        rows[count] = i
        count += within(query, 0, size, sketches, i, sizes[i])
    return count


@kernel
def find_subsets(
    sketch: Hashes, size: int, sketches: Hashes, sizes: NDArray[np.int64], rows: NDArray[np.int64]
) -> int:
    """Write the indices of the sets that a sketch's set may contain; see `find_supersets`."""
    query, count = sketch.reshape(1, -1), 0
    for i in range(len(sketches)):
        rows[count] = i
        count += within(sketches, i, sizes[i], query, 0, size)
    return count


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
      sketch, size, sketches, sizes: as in `find_supersets`.
      out: (m,) output.
    """
    for i in range(len(sketches)):
        out[i] = resemblance(sketch, size, sketches, i, sizes[i])


@inlined
def resemblance(sketch: Hashes, size: int, sketches: Hashes, row: int, row_size: int) -> float:
    """Return the estimate for one set; see `resemblances`. its sketch has `row_size` hashes."""
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
