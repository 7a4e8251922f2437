"""Liberties as sets of points, and the effect of moves on them.

A set is `width` words of `uint64`, one bit per action.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
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
    chains_beside,
)

Masks = NDArray[np.uint64]
Numbers = NDArray[np.int32]
Grid = NDArray[np.uint8]

_1 = np.uint64(1)


class LibertySpace(NamedTuple):
    """The liberties of all chains of a position.

    Attributes:
      masks: a row for each record of the board, indexed by the record of a chain's number, then one
        row for unions and one that stays empty; flat.
      counts: the size of each chain's set by record; entry 0, for empty and border points, is 0.
      roots: the numbers of the chains.
      grid: what is on each point, as in `ladders`.
    """

    masks: Masks
    counts: Numbers
    roots: Numbers
    grid: Grid


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

    Empty and border points have their own rows, which are never read. A row shared by all of them
    would be slow: each write would wait for the one before.
    """
    what = np.int64(b[q])
    return (what if what > BORDER else np.int64(q)) >> 3


@part
def read_liberties(b: Words, width: Int, masks: Masks, roots: Numbers, grid: Grid) -> Int:
    """Write the liberties of all chains, their numbers and the grid; return how many chains."""
    # Collect the chains and clear their rows.
    size = np.int64(b[SIZE])
    stride = np.int64(b[STRIDE])
    chains = np.int64(0)
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            what = np.int64(b[p])
            grid[p >> 3] = what & 3
            # A chain is collected once: at the point that names it.
            if what & ~3 == p:
                roots[chains] = what
                chains += 1
                for w in range(width):
                    masks[(what >> 3) * width + w] = 0
            p += RECORD
        p += RECORD

    # Each empty point adds itself to whatever is beside it, without a branch on what that is.
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
            total += popcount(masks[r * width + w])
        counts[r] = total


@part
def unite(b: Words, p: Int, c: Int, width: Int, masks: Masks, union: Masks) -> None:
    """Write to `union` the liberties of a stone of `c` on `p`, captures not counted."""
    size = np.int64(b[SIZE])
    none = len(masks) - width  # the row that stays empty, so that there is no branch
    c0, c1, c2, c3 = chains_beside(b, p)
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
    # The stone takes a liberty from the chains that it joins.
    union[action >> 6] &= ~bit_of(action)


@part
def united(width: Int, union: Masks) -> Int:
    """Return the number of points in a union."""
    total = np.int64(0)
    for w in range(width):
        total += popcount(union[w])
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
    """Add to `union` the points beside the new chain that a move at `p` captures.

    Returns the number of captured stones.
    """
    taken = np.int64(0)
    near = chains_beside(b, p)
    for i in range(4):
        chain = near[i]
        repeated = False
        for j in range(i):
            repeated |= near[j] == chain
        # Several sides of a point may touch the same chain, which is taken once.
        if repeated or chain & 3 != 3 - c or counts[np.uint32(chain >> 3)] != 1:
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
    """Return the number of stones of the chain of a new stone of `c` on `p`."""
    near = chains_beside(b, p)
    total = np.int64(1)
    for i in range(4):
        skipped = near[i] & 3 != c
        for j in range(i):
            skipped |= near[j] == near[i]
        if not skipped:
            total += np.int64(b[near[i] + CHAIN_INFO]) & (LIBERTY - 1)
    return total


@part
def may_play(b: Words, p: Int, c: Int, counts: Numbers) -> bool:
    """Return whether `c` may play on the empty point `p` under simple ko, without suicide."""
    if np.int64(b[KO]) == p + c:
        return False
    if b[p + AROUND] >= ONE_EMPTY:
        return True
    stride = np.int64(b[STRIDE])
    for q in sides_of(p, stride):
        chain = np.int64(b[q])
        liberties = counts[np.uint32(chain >> 3)]
        # Saved by an own chain with another liberty, or by a capture.
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
    """Return the liberty number `skip` of a chain, from 0, as an action; -1 if there is none."""
    for w in range(width):
        x = masks[(chain >> 3) * width + w]
        while x != 0:
            if skip == 0:
                action: Int = w * 64 + lowest(x)
                return action
            skip -= 1
            x &= x - _1
    return np.int64(-1)
