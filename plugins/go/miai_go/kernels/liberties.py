"""Liberties as sets of points, and what a move does to them.

A set is `width` words of `uint64`, bits by action. `masks` has a row for each record of the board,
found by the record of a chain's number, then one row for unions and one that stays empty. `counts`
holds the size of each chain's set by record; entry 0, for empty and border points, is 0.
"""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import inlined, part
from miai_go.kernels.rules import (
    ACTION,
    AROUND,
    BORDER,
    CHAIN_INFO,
    HEADER,
    KO,
    LIBERTY,
    NEXT,
    ONE_EMPTY,
    RECORD,
    SIZE,
    STRIDE,
    Int,
    Words,
)

Masks = NDArray[np.uint64]
Numbers = NDArray[np.int32]
Grid = NDArray[np.uint8]

_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


@part
def count_bits(x: np.uint64) -> Int:
    """Return how many bits are set."""
    x = x - ((x >> _1) & _PAIRS)
    x = (x & _FOURS) + ((x >> _2) & _FOURS)
    x = (x + (x >> _4)) & _BYTES
    return np.int64((x * _SUM) >> _56)


@part
def bit_of(action: Int) -> np.uint64:
    """Return the bit of a point within its word of a mask."""
    return _1 << np.uint64(action & 63)


@inlined
def sides_of(p: Int, stride: Int) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return the neighbours of a point; unsigned, as an index need not be seen to be positive."""
    return np.uint32(p - stride), np.uint32(p - 8), np.uint32(p + 8), np.uint32(p + stride)


@inlined
def row_of(b: Words, q: np.uint32) -> Int:
    """Return the row of masks for what is on a point.

    For empty and border points it is their own row, which is never read. One row for them all would
    be slow: each change would wait for the one before.
    """
    what = np.int64(b[q])
    return (what if what > BORDER else np.int64(q)) >> 3


@part
def read_liberties(b: Words, width: Int, masks: Masks, roots: Numbers, grid: Grid) -> Int:
    """Fill in the liberties of each chain, the chains' numbers and the grid; return the chains."""
    size = np.int64(b[SIZE])
    stride = np.int64(b[STRIDE])
    chains = np.int64(0)
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            what = np.int64(b[p])
            grid[p >> 3] = what & 3
            if what & ~3 == p:
                roots[chains] = what
                chains += 1
                for w in range(width):
                    masks[(what >> 3) * width + w] = 0
            p += RECORD
        p += RECORD
    action = np.int64(0)
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            if b[p] == 0:
                word = action >> 6
                bit = bit_of(action)
                n0, n1, n2, n3 = sides_of(p, stride)
                masks[np.uint32(row_of(b, n0) * width + word)] |= bit
                masks[np.uint32(row_of(b, n1) * width + word)] |= bit
                masks[np.uint32(row_of(b, n2) * width + word)] |= bit
                masks[np.uint32(row_of(b, n3) * width + word)] |= bit
            action += 1
            p += RECORD
        p += RECORD
    return chains


@part
def count_liberties(width: Int, masks: Masks, roots: Numbers, chains: Int, counts: Numbers) -> None:
    """Write the liberties of each chain to its record's entry of `counts`; entry 0 is 0."""
    counts[0] = 0
    for i in range(chains):
        r = np.int64(roots[i]) >> 3
        total = np.int64(0)
        for w in range(width):
            total += count_bits(masks[r * width + w])
        counts[r] = total


@part
def unite(b: Words, p: Int, c: Int, width: Int, masks: Masks, union: Masks) -> None:
    """Write to `union` the liberties that a stone of `c` on `p` has, captures left out."""
    size = np.int64(b[SIZE])
    stride = np.int64(b[STRIDE])
    none = len(masks) - width
    c0 = np.int64(b[np.uint32(p - stride)])
    c1 = np.int64(b[np.uint32(p - 8)])
    c2 = np.int64(b[np.uint32(p + 8)])
    c3 = np.int64(b[np.uint32(p + stride)])
    r0 = (c0 >> 3) * width if c0 & 3 == c else none
    r1 = (c1 >> 3) * width if c1 & 3 == c else none
    r2 = (c2 >> 3) * width if c2 & 3 == c else none
    r3 = (c3 >> 3) * width if c3 & 3 == c else none
    for w in range(width):
        union[w] = (
            masks[np.uint32(r0 + w)]
            | masks[np.uint32(r1 + w)]
            | masks[np.uint32(r2 + w)]
            | masks[np.uint32(r3 + w)]
        )
    action = np.int64(b[p + ACTION])
    if c0 == 0:
        union[(action - size) >> 6] |= bit_of(action - size)
    if c1 == 0:
        union[(action - 1) >> 6] |= bit_of(action - 1)
    if c2 == 0:
        union[(action + 1) >> 6] |= bit_of(action + 1)
    if c3 == 0:
        union[(action + size) >> 6] |= bit_of(action + size)
    union[action >> 6] &= ~bit_of(action)


@part
def united(width: Int, union: Masks) -> Int:
    """Return how many points are in a union."""
    total = np.int64(0)
    for w in range(width):
        total += count_bits(union[w])
    return total


@part
def reaches(b: Words, s: Int, p: Int, c: Int) -> bool:
    """Return whether `s` is next to `p` or to a chain of `c` that is next to `p`."""
    stride = np.int64(b[STRIDE])
    for t in sides_of(s, stride):
        if t == p:
            return True
        chain = np.int64(b[t])
        if chain & 3 == c:
            for q in sides_of(p, stride):
                if np.int64(b[q]) == chain:
                    return True
    return False


@part
def take_into(b: Words, p: Int, c: Int, counts: Numbers, union: Masks) -> Int:
    """Add to `union` what captures at `p` set free beside the new chain; return stones taken."""
    stride = np.int64(b[STRIDE])
    taken = np.int64(0)
    near = (
        np.int64(b[np.uint32(p - stride)]),
        np.int64(b[np.uint32(p - 8)]),
        np.int64(b[np.uint32(p + 8)]),
        np.int64(b[np.uint32(p + stride)]),
    )
    for i in range(4):
        chain = near[i]
        met = False
        for j in range(i):
            met |= near[j] == chain
        if met or chain & 3 != 3 - c or counts[np.uint32(chain >> 3)] != 1:
            continue
        first = chain & ~3
        s = first
        while True:
            taken += 1
            if reaches(b, s, p, c):
                action = np.int64(b[s + ACTION])
                union[action >> 6] |= bit_of(action)
            s = np.int64(b[s + NEXT])
            if s == first:
                break
    return taken


@part
def joined_stones(b: Words, p: Int, c: Int) -> Int:
    """Return the stones of the chain that a stone of `c` on `p` makes."""
    stride = np.int64(b[STRIDE])
    near = (
        np.int64(b[np.uint32(p - stride)]),
        np.int64(b[np.uint32(p - 8)]),
        np.int64(b[np.uint32(p + 8)]),
        np.int64(b[np.uint32(p + stride)]),
    )
    total = np.int64(1)
    for i in range(4):
        met = near[i] & 3 != c
        for j in range(i):
            met |= near[j] == near[i]
        if not met:
            total += np.int64(b[near[i] + CHAIN_INFO]) & (LIBERTY - 1)
    return total


@part
def may_play(b: Words, p: Int, c: Int, counts: Numbers) -> bool:
    """Return whether `c` may play on the empty point `p`, as `rules.legal` does without suicide."""
    if np.int64(b[KO]) == p + c:
        return False
    if b[p + AROUND] >= ONE_EMPTY:
        return True
    stride = np.int64(b[STRIDE])
    for q in sides_of(p, stride):
        chain = np.int64(b[q])
        liberties = counts[np.uint32(chain >> 3)]
        if (chain & 3 == c and liberties > 1) or (chain & 3 == 3 - c and liberties == 1):
            return True
    return False


@part
def takes_stones(b: Words, p: Int, c: Int, counts: Numbers) -> bool:
    """Return whether a stone of `c` on `p` captures."""
    stride = np.int64(b[STRIDE])
    takes = False
    for q in sides_of(p, stride):
        chain = np.int64(b[q])
        takes |= (chain & 3 == 3 - c) & (counts[np.uint32(chain >> 3)] == 1)
    return takes


@part
def member(width: Int, masks: Masks, chain: Int, skip: Int) -> Int:
    """Return a liberty of a chain as an action, the `skip`th; there must be as many."""
    for w in range(width):
        x = masks[(chain >> 3) * width + w]
        while x != 0:
            low = x & (~x + _1)
            if skip == 0:
                return w * 64 + count_bits(low - _1)
            skip -= 1
            x ^= low
    return np.int64(-1)
