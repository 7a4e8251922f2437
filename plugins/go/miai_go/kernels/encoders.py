"""Planes of many positions in one call, for the encoders of `miai_go.nets`.

Rows of `words` and `trails` are positions (`miai_go.kernels.trail`), which are not changed; rows of
`out` are their planes, flat. `miai_go.kernels.liberties` describes how liberties are stored.
"""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.ladders import FRONT, SAFE, Room, escape_works, ladder_works
from miai_go.kernels.liberties import (
    LibertySpace,
    Masks,
    bit_of,
    count_liberties,
    joined_stones,
    may_play,
    member,
    read_liberties,
    sides_of,
    take_into,
    takes_stones,
    unite,
    united,
)
from miai_go.kernels.playouts import fills_eye
from miai_go.kernels.rules import (
    ACTION,
    AROUND,
    HEADER,
    KO,
    NEXT,
    RECORD,
    SIZE,
    STRIDE,
    Int,
    Words,
    point_of,
)
from miai_go.kernels.trail import AGES, COLOR, HALF_KOMI, PLY, POSITIONS, Trail, past

Planes = NDArray[np.uint8]

OWN, THEIRS, EMPTY, ONES = 0, 1, 2, 3
SINCE = 4
CHAIN_LIBERTIES = 12
CAPTURES = 20
SELF_ATARI = 28
LIBERTIES_AFTER = 36
LADDER_CAPTURE = 44
LADDER_ESCAPE = 45
SENSIBLE = 46
BLACK_MOVES = 47
ALPHAGO_PLANES = 48
STEPS = 8

KOMI_SHIFT = 64
WITH_KOMI = 1
WITH_LEGAL = 2
WITH_KO = 4


@part
def at_most(number: Int, limit: Int) -> Int:
    """Return the lesser of two."""
    return number if number < limit else limit


@part
def turns_since(trail: Trail, action: Int) -> Int:
    """Return how many turns ago a stone was placed: 1 for the last move, at most `STEPS`."""
    placed = np.int64(trail[AGES + action])
    turns = np.int64(trail[PLY]) - placed + 1
    return turns if placed > 0 and turns < STEPS else np.int64(STEPS)


@part
def fill(out: Planes, plane: Int, points: Int, value: Int) -> None:
    """Set a whole plane."""
    for i in range(plane * points, (plane + 1) * points):
        out[i] = value


@part
def komi_of_mover(trail: Trail) -> Int:
    """Return the mover's komi in half points plus `KOMI_SHIFT`, from 0 to twice the shift."""
    komi = np.int64(trail[HALF_KOMI]) * (2 * np.int64(trail[COLOR]) - 3)  # White's, so Black's is -
    shifted = at_most(komi + KOMI_SHIFT, 2 * KOMI_SHIFT)
    return shifted if shifted > 0 else np.int64(0)


@part
def mark_move(
    b: Words, p: Int, action: Int, c: Int, width: Int, masks: Masks, counts: Room, out: Planes
) -> Int:
    """Set the planes of a legal move; return the liberties of its chain."""
    points = np.int64(b[SIZE]) * np.int64(b[SIZE])
    around = np.int64(b[p + AROUND])
    hostile = (around >> (8 - 4 * c)) & 7
    friendly = (around >> (4 * c - 4)) & 7
    free = around >> 8
    # A stone without company and captures has the empty points beside it, the common case.
    if free + hostile == 4 and not (hostile > 0 and takes_stones(b, p, c, counts)):
        liberties: Int = free  # alone; at the edge the border counts among both colours
    else:
        union = masks[len(masks) - 2 * width : len(masks) - width]
        unite(b, p, c, width, masks, union)
        if hostile > 0 and takes_stones(b, p, c, counts):
            taken = take_into(b, p, c, counts, union)
            out[(CAPTURES + at_most(taken, STEPS) - 1) * points + action] = 1
        liberties = united(width, union)
    if liberties == 1:
        stones = joined_stones(b, p, c)
        out[(SELF_ATARI + at_most(stones, STEPS) - 1) * points + action] = 1
    out[(LIBERTIES_AFTER + at_most(liberties, STEPS) - 1) * points + action] = 1
    if not (friendly == 4 and fills_eye(b, p, c)):
        out[SENSIBLE * points + action] = 1
    return liberties


@part
def slips_out(b: Words, chain: Int, x: Int, y: Int, width: Int, masks: Masks) -> bool:
    """Return whether a chain attacked at its liberty `x` gets three liberties at the other, `y`.

    A quick test that saves reading a ladder if the attack captures nothing.
    """
    union = masks[len(masks) - 2 * width : len(masks) - width]
    unite(b, point_of(b, y), chain & 3, width, masks, union)
    union[x >> 6] &= ~bit_of(x)
    return bool(united(width, union) >= 3)


@part
def mark_ladders(  # noqa: C901  kernels read from top to bottom
    b: Words,
    c: Int,
    width: Int,
    space: LibertySpace,
    chains: Int,
    after: Room,
    room: Room,
    out: Planes,
) -> None:
    """Set the planes of the moves that capture in a ladder and of those that escape from one.

    `after` holds the liberties of a chain after a legal move on each action, and 0 for others.
    """
    masks, counts, roots, grid = space.masks, space.counts, space.roots, space.grid
    points = np.int64(b[SIZE]) * np.int64(b[SIZE])
    stride = np.int64(b[STRIDE])
    capture = LADDER_CAPTURE * points
    escape = LADDER_ESCAPE * points
    for i in range(chains):
        chain = np.int64(roots[i])
        liberties = counts[np.uint32(chain >> 3)]
        # Captures: either liberty may start a ladder. A chain that gets three liberties at once
        # needs no reading.
        if chain & 3 != c and liberties == 2:
            for k in range(2):
                x = member(width, masks, chain, np.int64(k))
                y = member(width, masks, chain, np.int64(1 - k))
                p = point_of(b, x)
                # Illegal, or known already to capture another chain.
                if after[x] == 0 or out[capture + x] == 1:
                    continue
                if slips_out(b, chain, x, y, width, masks) and not takes_stones(b, p, c, counts):
                    continue
                other = point_of(b, y) >> 3
                out[capture + x] = ladder_works(grid, stride >> 3, chain >> 3, p >> 3, other, room)
        # Escapes: extend the chain, or capture attackers beside it that are in atari.
        elif chain & 3 == c and liberties == 1:
            x = member(width, masks, chain, np.int64(0))
            # Three liberties after the move escape without reading, as in `ladders`.
            if after[x] >= 3:
                out[escape + x] = 1
            elif after[x] == 2 and out[escape + x] == 0:
                r = point_of(b, x) >> 3
                out[escape + x] = escape_works(grid, stride >> 3, chain >> 3, r, room)
            s = chain & ~3
            while True:
                for q in sides_of(s, stride):
                    other = np.int64(b[q])
                    if other & 3 == 3 - c and counts[other >> 3] == 1:
                        x = member(width, masks, other, np.int64(0))
                        if after[x] > 0 and out[escape + x] == 0:
                            r = point_of(b, x) >> 3
                            out[escape + x] = escape_works(grid, stride >> 3, chain >> 3, r, room)
                s = np.int64(b[s + NEXT])
                if s == chain & ~3:
                    break


@part
def alphago_planes(
    b: Words,
    trail: Trail,
    width: Int,
    space: LibertySpace,
    after: Room,
    room: Room,
    out: Planes,
) -> None:
    """Write the planes of one position."""
    masks, counts, roots, grid = space.masks, space.counts, space.roots, space.grid
    size = np.int64(b[SIZE])
    points = size * size
    c = np.int64(trail[COLOR])
    out[:] = 0
    chains = read_liberties(b, width, masks, roots, grid)
    count_liberties(width, masks, roots, chains, counts)
    safe = FRONT + SAFE * len(grid)
    fill(out, ONES, points, 1)
    if c == 1:
        fill(out, BLACK_MOVES, points, 1)

    # One pass over the board writes all other planes but those of ladders, which need the
    # liberties after every move.
    action = np.int64(0)
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            what = np.int64(b[p])
            if what != 0:
                out[(OWN if what & 3 == c else THEIRS) * points + action] = 1
                out[(SINCE + turns_since(trail, action) - 1) * points + action] = 1
                liberties = np.int64(counts[what >> 3])
                # For the ladder reader; see SAFE in `ladders`.
                room[safe + (p >> 3)] = liberties
                out[(CHAIN_LIBERTIES + at_most(liberties, STEPS) - 1) * points + action] = 1
            else:
                out[EMPTY * points + action] = 1
                room[safe + (p >> 3)] = 0
                after[action] = 0
                if may_play(b, p, c, counts):
                    after[action] = mark_move(b, p, action, c, width, masks, counts, out)
            action += 1
            p += RECORD
        p += RECORD
    mark_ladders(b, c, width, space, chains, after, room, out)


@kernel
def encode_alphago(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    extra: Int,
    work: LibertySpace,
    after: Room,
    room: Room,
    out: NDArray[np.uint8],
) -> None:
    """Write the planes of AlphaGo, and of `extra`, which is 0 or WITH_KOMI.

    `after` is work space with an entry for each point, `room` that of `ladders`.
    """
    space = LibertySpace(*work)
    width = len(space.masks) // (len(space.grid) + 2)
    for i in range(len(words)):
        alphago_planes(words[i], trails[i], width, space, after, room, out[i])
        if extra & WITH_KOMI:
            size = np.int64(words[i][SIZE])
            fill(out[i], np.int64(ALPHAGO_PLANES), size * size, komi_of_mover(trails[i]))


@kernel
def encode_zero(  # noqa: C901  kernels read from top to bottom
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    history: Int,
    extra: Int,
    work: LibertySpace,
    out: NDArray[np.uint8],
) -> None:
    """Write the planes of AlphaGo Zero; `extra` is the sum of the WITH flags of what follows."""
    masks, counts, roots, grid = work
    width = len(masks) // (len(grid) + 2)
    for i in range(len(words)):
        b = words[i]
        trail = trails[i]
        planes = out[i]
        size = np.int64(b[SIZE])
        points = size * size
        c = np.int64(trail[COLOR])
        ply = np.int64(trail[PLY])
        for t in range(history):
            own = 2 * t * points
            if t > ply or t >= POSITIONS:
                fill(planes, np.int64(2 * t), points, 0)
                fill(planes, np.int64(2 * t + 1), points, 0)
                continue
            # Positions are kept as stones: whose they are depends on who moves now, not then.
            here = past(size, ply - t)
            for action in range(points):
                stone = trail[here + action]
                planes[own + action] = stone == c
                planes[own + points + action] = stone == 3 - c
        plane = 2 * history
        fill(planes, plane, points, c == 1)
        fill(planes, plane + 1, points, c == 2)
        plane += 2
        if extra & WITH_KOMI:
            fill(planes, plane, points, komi_of_mover(trail))
            plane += 1
        if extra & WITH_LEGAL:
            chains = read_liberties(b, width, masks, roots, grid)
            count_liberties(width, masks, roots, chains, counts)
            p = HEADER + RECORD * (size + 2)
            where = plane * points
            for _row in range(size):
                for _column in range(size):
                    planes[where] = b[p] == 0 and may_play(b, p, c, counts)
                    where += 1
                    p += RECORD
                p += RECORD
            plane += 1
        if extra & WITH_KO:
            fill(planes, plane, points, 0)
            ko = np.int64(b[KO])
            if ko & 3 == c:
                planes[plane * points + np.int64(b[(ko & ~3) + ACTION])] = 1
