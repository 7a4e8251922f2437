"""Tactical playouts: light playouts in which atari is answered.

The reply to a stone captures its chain if possible; otherwise it saves an own chain beside it that
is in atari, by extending the chain or by capturing stones beside it; otherwise it is drawn as in
`playouts.light_playout`. Answering atari first is from MoGo (Gelly, Wang, Munos and Teytaud,
Modification of UCT with Patterns in Monte-Carlo Go, 2006). One time in `CARELESS` the reply is
drawn anyway, so that no line of play is excluded.

The list of empty points is that of `playouts`. The WHERE word of an empty point holds its place in
the list, so that a point that was not drawn can be removed too.
"""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part, spelt_out
from miai_go.kernels.playouts import (
    LISTED_0,
    PlayoutSpace,
    copy_words,
    count_area,
    list_empty,
    true_eye,
    upper_half,
)
from miai_go.kernels.rules import (
    AROUND,
    CHAIN_INFO,
    GAMMA,
    KO,
    LIBERTY,
    NEXT,
    ONE_EMPTY,
    RECORD,
    STRIDE,
    Int,
    Words,
    alive,
    capture,
    credit,
    dead,
    debit,
    settle,
)

WHERE = 6
CARELESS = 16


@part
def only_liberty(b: Words, chain: Int) -> Int:
    """Return the liberty of a chain in atari, 0 for any other chain."""
    # Pseudo-liberties exclude most chains without a look at their stones.
    info = b[chain + CHAIN_INFO]
    if info >= 5 * LIBERTY or (info >= 2 * LIBERTY and info & (LIBERTY - 1) < 3):
        return np.int64(0)  # a point touches at most four stones, and only one of two
    stride = np.int64(b[STRIDE])
    first = chain & ~3
    s = first
    liberty: Int = np.int64(0)
    while True:
        if b[s + AROUND] >= ONE_EMPTY:
            for q in (s - stride, s - 8, s + 8, s + stride):
                if b[np.uint32(q)] == 0:
                    if liberty != 0 and liberty != q:
                        return np.int64(0)
                    liberty = q
        s = np.int64(b[s + NEXT])
        if s == first:
            return liberty


@part
def escapes(b: Words, p: Int, c: Int, chain: Int) -> bool:
    """Return whether a stone on `p`, the only liberty of `chain` of `c`, seems to give it two."""
    free = np.int64(b[p + AROUND]) >> 8
    if free >= 2:
        return True
    stride = np.int64(b[STRIDE])
    for q in (p - stride, p - 8, p + 8, p + stride):
        other = np.int64(b[np.uint32(q)])
        if other & 3 == c:
            # The other chain loses a pseudo-liberty for each side of the point that it touches,
            # fewer than 4 - free as `chain` touches one, so at least one remains.
            if other != chain and b[other + CHAIN_INFO] >= (4 - free) * LIBERTY:
                return True
        elif other & 3 == 3 - c and only_liberty(b, other) == p:
            return True
    return False


@part
def rescue(b: Words, c: Int, chain: Int, ko: Int) -> Int:
    """Return a point whose capture saves a chain of `c` in atari, or 0."""
    stride = np.int64(b[STRIDE])
    first = chain & ~3
    s = first
    while True:
        for q in (s - stride, s - 8, s + 8, s + stride):
            other = np.int64(b[np.uint32(q)])
            if other & 3 == 3 - c:
                p = only_liberty(b, other)
                if p != 0 and p + c != ko:
                    return p
        s = np.int64(b[s + NEXT])
        if s == first:
            return np.int64(0)


@part
def reply(b: Words, last: Int, c: Int, ko: Int) -> Int:
    """Return the answer of `c` to the opponent's stone on `last`, 0 if nothing is in atari."""
    if b[last] != 0:  # a suicide leaves no stone
        p = only_liberty(b, np.int64(b[last]))
        if p != 0 and p + c != ko:
            return p
    stride = np.int64(b[STRIDE])
    for q in (last - stride, last - 8, last + 8, last + stride):  # only these can be in new atari
        chain = np.int64(b[np.uint32(q)])
        if chain & 3 == c:
            p = only_liberty(b, chain)
            if p != 0:
                if escapes(b, p, c, chain):
                    return p
                p = rescue(b, c, chain, ko)
                if p != 0:
                    return p
    return np.int64(0)


@part
def enlist(b: Words, i: Int, p: Int) -> None:
    """Make the empty point `p` entry `i` of the list."""
    b[LISTED_0 + RECORD * i] = p
    b[p + WHERE] = i


@part
def tactical_playout(  # noqa: C901  kernels read from top to bottom
    b: Words, c: Int, passes: int, last: Int, record: Words, rng: NDArray[np.uint64]
) -> int:
    """Play on `b` until two passes in a row, as `light_playout` does; return the number of moves.

    `last` is the point of the last stone, 0 for none.
    """
    stride = b[STRIDE]
    ko = np.int64(b[KO])
    n: Int = list_empty(b)
    for i in range(n):
        b[b[LISTED_0 + RECORD * i] + WHERE] = i
    moves = 0
    state = rng[0] + GAMMA
    bits = upper_half(state)
    while passes < 2 and moves < len(record):
        record[moves] = c
        passes += 1
        o = 3 - c
        mine = 4 * c - 4
        candidates = n
        p: Int = np.int64(0)
        # The low bits decide this, the high ones the draw below.
        if last != 0 and bits & (CARELESS - 1) != 0:
            p = reply(b, last, c, ko)
        last = np.int64(0)
        forced = p != 0

        # Try the answer, then draw without replacement, as in `light_playout`.
        while forced or candidates > 0:
            if not forced:
                p = np.int64(b[LISTED_0 + RECORD * ((bits * candidates) >> 32)])
                state += GAMMA
                bits = upper_half(state)
                candidates -= 1
            around = b[p + AROUND]
            n0 = np.uint32(p - stride)
            n1 = np.uint32(p - 8)
            n2 = np.uint32(p + 8)
            n3 = np.uint32(p + stride)
            c0 = np.int64(b[n0])
            c1 = np.int64(b[n1])
            c2 = np.int64(b[n2])
            c3 = np.int64(b[n3])
            takes = False
            playable = not (p + c == ko or ((around >> mine) & 7 == 4 and true_eye(b, p, c)))
            if playable:
                debit(b, c0, c1, c2, c3)
                takes = dead(b, o, c0) | dead(b, o, c1) | dead(b, o, c2) | dead(b, o, c3)
                if around < ONE_EMPTY and not (
                    takes | alive(b, c, c0) | alive(b, c, c1) | alive(b, c, c2) | alive(b, c, c3)
                ):
                    credit(b, c0, c1, c2, c3)
                    playable = False
            # A refused candidate goes behind the remaining ones; a refused answer is listed still.
            if not playable:
                if not forced:
                    other = np.int64(b[LISTED_0 + RECORD * candidates])
                    enlist(b, np.int64(b[p + WHERE]), other)
                    enlist(b, np.int64(candidates), p)
                forced = False
                continue

            # Play it: the last empty point fills the gap in the list.
            n -= 1
            enlist(b, np.int64(b[p + WHERE]), np.int64(b[LISTED_0 + RECORD * n]))
            settle(b, p, c, n0, n1, n2, n3, c0, c1, c2, c3)
            ko = np.int64(0)
            if takes:
                listed = n
                n = capture(b, o, n, n0, n1, n2, n3)
                for i in range(listed, n):
                    b[b[LISTED_0 + RECORD * i] + WHERE] = i
                if n == listed + 1 and (around >> (4 * o - 4)) & 7 == 4:
                    ko = np.int64(b[LISTED_0 + RECORD * listed]) + o
            record[moves] = p + c
            passes = 0
            last = p
            break
        moves += 1
        if passes > 0:
            ko = np.int64(0)
        c = o
        state += GAMMA
        bits = upper_half(state)
    rng[0] = state
    return moves


@spelt_out
def tactical_score(
    c: Int, passes: int, last: Int, rng: NDArray[np.uint64], space: PlayoutSpace
) -> tuple[int, int]:
    """Play a tactical playout; return what `playouts.playout_score` returns."""
    moves = tactical_playout(space.board, c, passes, last, space.record, rng) if passes < 2 else 0
    return count_area(moves, space), moves


@kernel
def tactical_playouts(
    start: Words,
    c: Int,
    passes: int,
    count: int,
    komi: float,
    rng: NDArray[np.uint64],
    space: PlayoutSpace,
    owned: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Play tactical playouts; see `playouts.playouts`."""
    wins = 0
    draws = 0
    total = 0
    length = 0
    for _ in range(count):
        copy_words(space.board, start)
        score, moves = tactical_score(c, passes, np.int64(0), rng, space)
        for i in range(len(owned)):
            owned[i] += space.owner[i]
        wins += score > komi
        draws += score == komi
        total += score
        length += moves
    return wins, draws, total, length
