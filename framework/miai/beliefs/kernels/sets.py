"""Exact subset tests, of sorted 64-bit hashes and of bitmaps in rows.

All values are uint64: an operation with a signed number would turn both into floats.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels import inlined, kernel

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


@kernel
def find_bitmap_supersets(query: Hashes, rows: NDArray[np.uint64], found: NDArray[np.int64]) -> int:
    """Write the indices of the sets that contain a set, in increasing order; return their number.

    One, two and four words are tested without a branch per set.

    Args:
      query: (w,) the set, one bit per element.
      rows: (m, w) the sets to test.
      found: (m,) output.
    """
    words, count = len(query), 0
    if words == 1:
        a = query[0]
        for i in range(len(rows)):
            found[count] = i
            count += (a & ~rows[i, 0]) == 0
    elif words == 2:
        a, b = query[0], query[1]
        for i in range(len(rows)):
            found[count] = i
            count += ((a & ~rows[i, 0]) | (b & ~rows[i, 1])) == 0
    elif words == 4:
        a, b, c, d = query[0], query[1], query[2], query[3]
        for i in range(len(rows)):
            lacks = (a & ~rows[i, 0]) | (b & ~rows[i, 1])
            found[count] = i
            count += (lacks | (c & ~rows[i, 2]) | (d & ~rows[i, 3])) == 0
    else:
        for i in range(len(rows)):
            found[count] = i
            count += _contains_words(rows[i], query)
    return count


@kernel
def find_bitmap_subsets(query: Hashes, rows: NDArray[np.uint64], found: NDArray[np.int64]) -> int:
    """Write the indices of the sets that a set contains; see `find_bitmap_supersets`."""
    words, count = len(query), 0
    if words == 1:
        a = ~query[0]
        for i in range(len(rows)):
            found[count] = i
            count += (a & rows[i, 0]) == 0
    elif words == 2:
        a, b = ~query[0], ~query[1]
        for i in range(len(rows)):
            found[count] = i
            count += ((a & rows[i, 0]) | (b & rows[i, 1])) == 0
    elif words == 4:
        a, b, c, d = ~query[0], ~query[1], ~query[2], ~query[3]
        for i in range(len(rows)):
            more = (a & rows[i, 0]) | (b & rows[i, 1])
            found[count] = i
            count += (more | (c & rows[i, 2]) | (d & rows[i, 3])) == 0
    else:
        for i in range(len(rows)):
            found[count] = i
            count += _contains_words(query, rows[i])
    return count


@inlined
def _contains_words(larger: Hashes, smaller: Hashes) -> bool:
    at = 0
    while at < len(smaller) and smaller[at] & ~larger[at] == 0:
        at += 1
    return at == len(smaller)
