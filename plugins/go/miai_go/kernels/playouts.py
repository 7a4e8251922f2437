"""Light playouts: uniformly random moves that fill no own eye, until both players pass.

Moves are drawn uniformly from the legal ones (simple ko, no suicide) that do not fill an eye of the
mover; if there is none, the player passes. At the end every empty point has only neighbours of one
colour, or is shared, so counting is one look at each point.

Two tricks make it fast: neighbours are updated without branches on their kind (see `rules.settle`),
and the next random number is computed before the current candidate is tested, so that it is ready
if the processor mispredicts the test. On 9x9 each is worth a tenth or more.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part, spelt_out
from miai_go.kernels.rules import (
    AROUND,
    BORDER,
    GAMMA,
    HEADER,
    KO,
    LISTED,
    ONE_EMPTY,
    RECORD,
    SIZE,
    STRIDE,
    Int,
    Words,
    alive,
    area,
    capture,
    credit,
    dead,
    debit,
    scramble,
    settle,
)

_32 = np.uint64(32)
LISTED_0 = HEADER + LISTED


class PlayoutSpace(NamedTuple):
    """What a playout changes.

    Attributes:
      board: a position, which becomes the last one.
      record: moves, whose number its length limits.
      owner: the owner of each point at the end, as in `rules.area`.
      stack: room for the whole board.
    """

    board: Words
    record: Words
    owner: NDArray[np.int8]
    stack: NDArray[np.int32]


@part
def upper_half(state: np.uint64) -> Int:
    """Return the 32 random bits of a state of the generator."""
    return np.int64(scramble(state) >> _32)


@part
def list_empty(b: Words) -> int:
    """List the empty points in the LISTED words; return their number."""
    size = b[SIZE]
    n = 0
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            b[LISTED_0 + RECORD * n] = p  # overwritten by the next unless the point is empty
            n += b[p] == 0
            p += RECORD
        p += RECORD
    return n


@part
def true_eye(b: Words, p: Int, c: Int) -> bool:
    """Return whether `p`, all of whose neighbours are stones of `c` or border, is a true eye.

    At most one of the diagonal points may be hostile, and none at the edge.
    """
    stride = b[STRIDE]
    hostile = 0
    edge = 0
    for q in (
        np.uint32(p - stride - 8),
        np.uint32(p - stride + 8),
        np.uint32(p + stride - 8),
        np.uint32(p + stride + 8),
    ):
        # At the edge two of the diagonal points are off the board, in a corner three; together they
        # count as one hostile point.
        hostile += b[q] & 3 == 3 - c
        edge |= b[q] & 3 == BORDER
    return hostile + edge < 2


@part
def fills_eye(b: Words, p: Int, c: Int) -> bool:
    """Return whether a move of `c` at `p` fills an eye of his own."""
    return bool((b[p + AROUND] >> (4 * c - 4)) & 7 == 4) and true_eye(b, p, c)


@part
def light_playout(b: Words, c: Int, passes: int, record: Words, rng: NDArray[np.uint64]) -> int:
    """Play on `b` from `c` to move until two passes in a row; return the number of moves.

    `passes` is the number of passes before. Move i goes into `record[i]` as point plus colour, or
    colour alone for a pass; the playout stops at the length of `record`. Prisoners and hash are not
    updated, and ko only during the playout.
    """
    stride = b[STRIDE]
    ko = b[KO]
    n: Int = list_empty(b)
    moves = 0
    state = rng[0] + GAMMA
    bits = upper_half(state)
    while passes < 2 and moves < len(record):
        record[moves] = c
        passes += 1
        o = 3 - c
        mine = 4 * c - 4
        # Draw without replacement: a candidate that is refused goes behind the remaining ones.
        candidates = n
        while candidates > 0:
            # A multiplication instead of a division; its bias is below a millionth on any board.
            slot = LISTED_0 + RECORD * ((bits * candidates) >> 32)
            state += GAMMA
            bits = upper_half(state)
            candidates -= 1
            top = LISTED_0 + RECORD * candidates
            p = np.int64(b[slot])
            b[slot] = b[top]
            around = b[p + AROUND]
            if p + c == ko or ((around >> mine) & 7 == 4 and true_eye(b, p, c)):
                b[top] = p
                continue

            # Take the point from its neighbours' liberties: what is left of them tells whether the
            # move captures and whether it would be suicide.
            n0 = np.uint32(p - stride)
            n1 = np.uint32(p - 8)
            n2 = np.uint32(p + 8)
            n3 = np.uint32(p + stride)
            c0 = np.int64(b[n0])
            c1 = np.int64(b[n1])
            c2 = np.int64(b[n2])
            c3 = np.int64(b[n3])
            debit(b, c0, c1, c2, c3)
            takes = dead(b, o, c0) | dead(b, o, c1) | dead(b, o, c2) | dead(b, o, c3)
            if around < ONE_EMPTY and not (
                takes | alive(b, c, c0) | alive(b, c, c1) | alive(b, c, c2) | alive(b, c, c3)
            ):
                credit(b, c0, c1, c2, c3)
                b[top] = p
                continue

            # Play it: the last empty point fills the gap in the list.
            n -= 1
            b[top] = b[LISTED_0 + RECORD * n]
            settle(b, p, c, n0, n1, n2, n3, c0, c1, c2, c3)
            ko = 0
            if takes:
                listed = n
                n = capture(b, o, n, n0, n1, n2, n3)
                # Ko: a single stone was taken by one with only hostile stones or the border around
                # it.
                if n == listed + 1 and (around >> (4 * o - 4)) & 7 == 4:
                    ko = b[LISTED_0 + RECORD * listed] + o
            record[moves] = p + c
            passes = 0
            break
        moves += 1
        if passes > 0:
            ko = 0
        c = o
    rng[0] = state
    return moves


@part
def copy_words(b: Words, start: Words) -> None:
    """Make `b` equal to `start`, of the same length."""
    for i in range(len(start)):
        b[i] = start[i]


@part
def own_finished(b: Words, owner: NDArray[np.int8]) -> int:
    """As `rules.area`, for a board whose empty points have only stones as neighbours."""
    size = b[SIZE]
    total = 0
    i = 0
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            what = b[p] & 3
            if what == 0:
                around = b[p + AROUND]
                what = (around & 7 == 4) + 2 * ((around >> 4) & 7 == 4)
            owns = (what == 1) - (what == 2)
            owner[i] = owns
            total += owns
            i += 1
            p += RECORD
        p += RECORD
    return total


@part
def count_area(moves: Int, space: PlayoutSpace) -> int:
    """Return Black's area minus White's after a playout, and write `owner`.

    After none, or when the playout stopped at its limit, empty regions are searched.
    """
    if moves == 0 or moves == len(space.record):
        return area(space.board, space.owner, space.stack)
    return own_finished(space.board, space.owner)


@spelt_out
def playout_score(
    c: Int, passes: int, rng: NDArray[np.uint64], space: PlayoutSpace
) -> tuple[int, int]:
    """Play a light playout; return Black's area minus White's, and the number of moves.

    After two passes there is no move, and the present area counts.
    """
    moves = light_playout(space.board, c, passes, space.record, rng) if passes < 2 else 0
    return count_area(moves, space), moves


@kernel
def playouts(
    start: Words,
    c: Int,
    passes: int,
    count: int,
    komi: float,
    rng: NDArray[np.uint64],
    space: PlayoutSpace,
    owned: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Play `count` light playouts from the position `start`, with `c` to move.

    Adds to `owned` how often Black minus how often White owned each point. Returns Black's wins,
    draws, the sum of Black's area minus White's without komi, and the sum of moves. `space` holds
    the last playout's final position and its moves.
    """
    wins = 0
    draws = 0
    total = 0
    length = 0
    for _ in range(count):
        copy_words(space.board, start)
        score, moves = playout_score(c, passes, rng, space)
        for i in range(len(owned)):
            owned[i] += space.owner[i]
        wins += score > komi
        draws += score == komi
        total += score
        length += moves
    return wins, draws, total, length
