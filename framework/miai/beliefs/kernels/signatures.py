"""Signatures of sketches: of many, those that may contain another, or be in it, at once.

A sketch is a row of its own, so that looking at many of them waits for memory, and mispredicts a
branch, at each. A signature is a column: the last hash, a bitmap of all hashes by nine of their
bits, the first few hashes. The same number of all signatures lies in sequence, and one hash rules
out whole vectors of them; what is left is tested by the sketches. So what is found is what
`find_supersets` and `find_subsets` of `sketches` find.

C. Faloutsos, S. Christodoulakis, "Signature files", ACM TOIS 2 (1984).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels import allocating, inlined, kernel
from miai.beliefs.kernels.sketches import within

Hashes = NDArray[np.uint64]

_WORDS = 8  # of the bitmap
_HEADS = 4  # first hashes
NUMBERS: Final = 1 + _WORDS + _HEADS
"""Numbers in a signature."""

_TRIED = 16  # hashes that rule out by bitmaps; each that is left after them costs a test
_BLOCK = 256  # signatures looked at together: what is known of them stays in the first cache
_TABLE = 4096  # places of a table of one sketch's hashes: it stays in the first cache
_GREATEST = np.uint64(2**64 - 1)
_ONE = np.uint64(1)
_BIT, _WORD, _PLACE = np.uint64(63), np.uint64(_WORDS - 1), np.uint64(_TABLE - 1)
_SIX = np.uint64(6)


@kernel
def sign(sketch: Hashes, size: int, signatures: Hashes, at: int) -> None:
    """Write the signature of a sketch.

    Args:
      sketch, size: (k,) and its length.
      signatures: (`NUMBERS`, m); column `at` is written.
    """
    signatures[0, at] = sketch[size - 1] if size == len(sketch) else _GREATEST
    for word in range(_WORDS):
        signatures[1 + word, at] = 0
    for i in range(size):
        number = 1 + np.int64((sketch[i] >> _SIX) & _WORD)
        signatures[number, at] |= _ONE << (sketch[i] & _BIT)
    for i in range(_HEADS):
        signatures[1 + _WORDS + i, at] = sketch[i] if i < size else _GREATEST


@allocating
def find_signed_supersets(
    sketch: Hashes,
    size: int,
    sketches: Hashes,
    sizes: NDArray[np.int64],
    signatures: Hashes,
    found: NDArray[np.int64],
) -> int:
    """Write which sets may contain the one of a sketch, in increasing order; return their number.

    A hash that lies below the last of a sketch, and whose bit is not set, rules it out.

    Args:
      sketch, size: (k,) and its length.
      sketches, sizes: (m, k), (m,).
      signatures: (`NUMBERS`, m).
      found: (m,) written.
    """
    query, m, count = sketch.reshape(1, -1), len(sketches), 0
    lacks = np.empty(_BLOCK, np.uint64)
    for begin in range(0, m, _BLOCK):
        n = min(_BLOCK, m - begin)
        lacks[:] = 0
        lasts = signatures[0, begin : begin + n]
        for i in range(min(size, _TRIED)):
            value = sketch[i]
            bit = value & _BIT
            words = signatures[1 + np.int64((value >> _SIX) & _WORD), begin : begin + n]
            for j in range(n):
                lacks[j] |= ~(words[j] >> bit) & np.uint64(value <= lasts[j])
        left = count
        for j in range(n):
            found[left] = begin + j
            left += (lacks[j] & _ONE) == 0
        for i in range(count, left):
            row = found[i]
            found[count] = row
            count += within(query, 0, size, sketches, row, sizes[row])
    return count


@allocating
def find_signed_subsets(
    sketch: Hashes,
    size: int,
    sketches: Hashes,
    sizes: NDArray[np.int64],
    signatures: Hashes,
    found: NDArray[np.int64],
) -> int:
    """Write which sets may be subsets of the one of a sketch.

    A hash that lies below the last of the sketch, and whose place in a table of the sketch's hashes
    is empty, rules out a set: its first hashes for many sets at once, then all of it.

    Args:
      sketch, size, sketches, sizes, signatures, found: as in `find_signed_supersets`.
    """
    query, m, count = sketch.reshape(1, -1), len(sketches), 0
    empty = np.ones(_TABLE, np.uint64)
    for i in range(size):
        empty[np.int64(sketch[i] & _PLACE)] = 0
    # The greatest number stands for no hash; one that is this number rules out nothing.
    last = min(sketch[size - 1] if size == len(sketch) else _GREATEST, _GREATEST - _ONE)
    lacks = np.empty(_BLOCK, np.uint64)
    for begin in range(0, m, _BLOCK):
        n = min(_BLOCK, m - begin)
        lacks[:] = 0
        for i in range(1 + _WORDS, NUMBERS):
            heads = signatures[i, begin : begin + n]
            for j in range(n):
                lacks[j] |= empty[np.int64(heads[j] & _PLACE)] & np.uint64(heads[j] <= last)
        left = count
        for j in range(n):
            found[left] = begin + j
            left += lacks[j] == 0
        for i in range(count, left):
            row = found[i]
            found[count] = row
            if not _meets_empty(sketches, row, sizes[row], empty, last):
                count += within(sketches, row, sizes[row], query, 0, size)
    return count


@inlined
def _meets_empty(sketches: Hashes, row: int, held: int, empty: Hashes, last: np.uint64) -> bool:
    """Return whether the place of one of a row's hashes up to `last` is empty."""
    for i in range(held):
        if sketches[row, i] > last:
            return False
        if empty[np.int64(sketches[row, i] & _PLACE)]:
            return True
    return False
