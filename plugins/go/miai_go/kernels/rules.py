"""Layout of a board in memory, and the rules of Go on it.

A board is one flat `uint32` array: a header of 16 words, then a record of 8 words for every point
of the board and of a border around it. Rows follow each other and share their border column, so
that a row has `size + 1` records. Inside kernels a point *is* the index of its record's first word:
its neighbours are at `-8`, `+8`, `-stride` and `+stride`. Index 0 is the header and stands for "no
point".

Words of a point's record:

    CHAIN   what is on the point. 0: empty; 3: border; otherwise the chain's number, which is the
            index of one of its points plus the stone's colour (1 black, 2 white), so that one load
            gives both chain and colour
    NEXT    next stone of the same chain, in a circle
    AROUND  packed counts of the four neighbours, see below
    ACTION  the point's number outside kernels, row * size + column
    4, 5    of the point that names a black (4) or white (5) chain: pseudo-liberties * LIBERTY +
            stones. Pseudo-liberties count every pair of a stone and an empty neighbour. The word
            of chain `c` is at `c + CHAIN_INFO`; for empty and border points that falls on header
            words 3 and 6, which are never read: updates need no check of what a neighbour is
    LISTED  the list of empty points of `playouts`, entry i in the i-th record
    WHERE   the entry of that list that an empty point is, in `tactical`; word 6, before LISTED

AROUND packs, from the lowest bits: black neighbours (3 bits, border included), a spare bit, white
neighbours (3 bits, border included), a spare bit, empty neighbours (3 bits).

Colours are 1 (black) and 2 (white) everywhere in kernels; the opponent of `c` is `3 - c`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import inlined, kernel, part

Words = NDArray[np.uint32]
Hashes = NDArray[np.uint64]
Int = int | np.signedinteger[Any] | np.unsignedinteger[Any]

# Powers of two: the number of a record is its index shifted.
HEADER = 16
RECORD = 8

SIZE = 0
STRIDE = 1
KO = 2  # point that may not be retaken, plus the colour that may not; 0 if none
PRISONERS = 3  # PRISONERS + c: stones of colour c captured so far, so words 4 and 5
HASH_LOW = 7
HASH_HIGH = 8

CHAIN = 0
NEXT = 1
AROUND = 2
ACTION = 3
CHAIN_INFO = 3
LISTED = 7

BORDER = 3
LIBERTY = 1 << 16
UNREAD = 1 << 30  # middle of the range: header words 3 and 6 drift as stones are placed and removed

ONE_BLACK = 1
ONE_WHITE = 1 << 4
ONE_EMPTY = 1 << 8

# Zobrist keys are the outputs of SplitMix64 (Steele, Lea, Flood 2014), seeded with the first 64
# bits of pi's fraction: output number 2 * action + (0 black, 1 white). The 64 bits that
# follow the seed in pi mark White to move.
ZOBRIST_SEED = np.uint64(0x243F6A8885A308D3)
GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27 = np.uint64(27)
_30 = np.uint64(30)
_31 = np.uint64(31)
_32 = np.uint64(32)
WHITE_TO_MOVE = np.uint64(0x13198A2E03707344)


def board_words(size: int) -> int:
    """Return the length of a board's array."""
    return HEADER + RECORD * ((size + 2) * (size + 1) + 1)


def empty_board(size: int) -> Words:
    """Return the array of an empty board."""
    b = np.zeros(board_words(size), np.uint32)
    b[SIZE] = size
    b[STRIDE] = RECORD * (size + 1)
    b[[CHAIN_INFO, CHAIN_INFO + BORDER]] = UNREAD
    records = b[HEADER:].reshape(-1, RECORD)
    records[:, CHAIN] = BORDER
    row, column = np.divmod(np.arange(size * size), size)
    place = (row + 1) * (size + 1) + column + 1
    border = (row == 0).astype(int) + (row == size - 1) + (column == 0) + (column == size - 1)
    records[place, CHAIN] = 0
    records[place, ACTION] = row * size + column
    # The border counts as a neighbour of both colours: a point at the edge is surrounded by a
    # colour when its other neighbours are.
    records[place, AROUND] = border * (ONE_BLACK + ONE_WHITE) + (4 - border) * ONE_EMPTY
    return b


@part
def scramble(z: np.uint64) -> np.uint64:
    """Return the output of SplitMix64 for a state; the next state is `z + GAMMA`."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@part
def zobrist(b: Words, p: Int, c: Int) -> np.uint64:
    """Return the key of a stone of colour `c` on point `p`."""
    # Computed rather than looked up, so that kernels need no table of keys.
    return scramble(ZOBRIST_SEED + np.uint64(2 * b[p + ACTION] + c) * GAMMA)


@part
def point_of(b: Words, action: Int) -> Int:
    """Return the point numbered `action` outside kernels."""
    size = np.int64(b[SIZE])
    row = np.int64(action) // size
    p: Int = HEADER + RECORD * ((row + 1) * (size + 1) + action - row * size + 1)
    return p


@inlined
def chains_beside(b: Words, p: Int) -> tuple[np.int64, np.int64, np.int64, np.int64]:
    """Return what is on the four neighbours of a point."""
    stride = b[STRIDE]
    return (
        np.int64(b[np.uint32(p - stride)]),
        np.int64(b[np.uint32(p - 8)]),
        np.int64(b[np.uint32(p + 8)]),
        np.int64(b[np.uint32(p + stride)]),
    )


@part
def debit(b: Words, c0: Int, c1: Int, c2: Int, c3: Int) -> None:
    """Subtract one pseudo-liberty from each of four chains, which may be the same."""
    b[c0 + CHAIN_INFO] -= LIBERTY
    b[c1 + CHAIN_INFO] -= LIBERTY
    b[c2 + CHAIN_INFO] -= LIBERTY
    b[c3 + CHAIN_INFO] -= LIBERTY


@part
def credit(b: Words, c0: Int, c1: Int, c2: Int, c3: Int) -> None:
    """Add one pseudo-liberty to each of four chains, which may be the same."""
    b[c0 + CHAIN_INFO] += LIBERTY
    b[c1 + CHAIN_INFO] += LIBERTY
    b[c2 + CHAIN_INFO] += LIBERTY
    b[c3 + CHAIN_INFO] += LIBERTY


@part
def recount(b: Words, n0: Int, n1: Int, n2: Int, n3: Int, change: Int) -> None:
    """Change the packed counts of neighbours of four points."""
    b[n0 + AROUND] += change
    b[n1 + AROUND] += change
    b[n2 + AROUND] += change
    b[n3 + AROUND] += change


@part
def dead(b: Words, c: Int, chain: Int) -> bool:
    """Return whether `chain` is of colour `c` and has no liberty."""
    return bool((chain & 3 == c) & (b[chain + CHAIN_INFO] < LIBERTY))


@part
def alive(b: Words, c: Int, chain: Int) -> bool:
    """Return whether `chain` is of colour `c` and has a liberty."""
    return bool((chain & 3 == c) & (b[chain + CHAIN_INFO] >= LIBERTY))


@part
def lift(b: Words, chain: Int, n: Int) -> Int:
    """Remove the stones of `chain`; return `n` plus their number.

    Their points become the entries from `n` on of the list in the LISTED words.
    """
    stride = b[STRIDE]
    c = chain & 3
    # For each neighbour one stone fewer of that colour, and one empty point more, in one addition.
    leaves = ONE_EMPTY - (1 << (4 * c - 4))
    first = chain - c
    s = first
    while True:
        # Stones of the chain that are still there are credited too, which does no harm: the word of
        # a lifted chain is not read again.
        b[s] = 0
        n0 = np.uint32(s - stride)
        n1 = np.uint32(s - 8)
        n2 = np.uint32(s + 8)
        n3 = np.uint32(s + stride)
        recount(b, n0, n1, n2, n3, leaves)
        credit(b, np.int64(b[n0]), np.int64(b[n1]), np.int64(b[n2]), np.int64(b[n3]))
        b[HEADER + LISTED + RECORD * n] = s
        n += 1
        s = np.int64(b[s + NEXT])
        if s == first:
            return n


@part
def merge(b: Words, chain: Int, other: Int) -> Int:
    """Join two chains of the same colour; return the one whose number remains."""
    # Renumber the smaller chain.
    if b[other + CHAIN_INFO] & (LIBERTY - 1) > b[chain + CHAIN_INFO] & (LIBERTY - 1):
        chain, other = other, chain
    a = chain - (chain & 3)
    z = other - (chain & 3)
    s = z
    while True:
        b[s] = chain
        s = b[s + NEXT]
        if s == z:
            break
    # Exchanging two successors joins two circles.
    after = b[a + NEXT]
    b[a + NEXT] = b[z + NEXT]
    b[z + NEXT] = after
    b[chain + CHAIN_INFO] += b[other + CHAIN_INFO]
    return chain


@inlined
def settle(
    b: Words, p: Int, c: Int, n0: Int, n1: Int, n2: Int, n3: Int, c0: Int, c1: Int, c2: Int, c3: Int
) -> Int:
    """Put a stone of colour `c` on `p` and join it with its own neighbours; return its chain.

    `n0` to `n3` are the neighbours, `c0` to `c3` what is on them, already debited. Choosing an own
    chain without a branch, and joining others only if there are any, avoids most of the branches
    that a plain loop would mispredict.
    """
    # A chain of its own first, with the stone's empty neighbours as pseudo-liberties.
    free = (b[p + AROUND] >> 8) & 7
    comes = (1 << (4 * c - 4)) - ONE_EMPTY
    recount(b, n0, n1, n2, n3, comes)
    chain = p + c
    # The word may still have the counts of an earlier chain with this number.
    b[chain + CHAIN_INFO] = 0
    b[p + NEXT] = p

    # Join the last own neighbour; the others, if they are other chains, are merged afterwards.
    chain = c0 if c0 & 3 == c else chain
    chain = c1 if c1 & 3 == c else chain
    chain = c2 if c2 & 3 == c else chain
    chain = c3 if c3 & 3 == c else chain
    after = b[chain - c + NEXT]
    b[chain - c + NEXT] = p
    b[p + NEXT] = after
    b[p] = chain
    b[chain + CHAIN_INFO] += free * LIBERTY + 1
    if (
        ((c0 & 3 == c) & (c0 != chain))
        | ((c1 & 3 == c) & (c1 != chain))
        | ((c2 & 3 == c) & (c2 != chain))
    ):
        for q in (n0, n1, n2):
            if b[q] & 3 == c and b[q] != chain:
                chain = merge(b, chain, np.int64(b[q]))
    return chain


@inlined
def capture(b: Words, o: Int, n: Int, n0: Int, n1: Int, n2: Int, n3: Int) -> Int:
    """Lift the chains of colour `o` without liberties among four neighbours; see `lift`."""
    for q in (n0, n1, n2, n3):
        chain = np.int64(b[q])
        if dead(b, o, chain):
            n = lift(b, chain, n)
    return n


@part
def put(b: Words, p: Int, c: Int) -> Int:
    """Put a stone of colour `c` on the empty point `p`, with captures; return stones removed.

    The move must be legal; a suicide removes the mover's own stones. Updates ko and prisoners, but
    not the hash.
    """
    stride = b[STRIDE]
    o = 3 - c
    around = b[p + AROUND]
    n0 = np.uint32(p - stride)
    n1 = np.uint32(p - 8)
    n2 = np.uint32(p + 8)
    n3 = np.uint32(p + stride)
    c0 = np.int64(b[n0])
    c1 = np.int64(b[n1])
    c2 = np.int64(b[n2])
    c3 = np.int64(b[n3])
    debit(b, c0, c1, c2, c3)
    chain = settle(b, p, c, n0, n1, n2, n3, c0, c1, c2, c3)
    removed = capture(b, o, np.int64(0), n0, n1, n2, n3)
    # Captures come before suicide: a stone that takes others has their points as liberties.
    b[PRISONERS + o] += removed
    b[KO] = 0
    # Ko: a single stone taken by one that stood among hostile stones alone.
    if removed == 1 and (around >> (8 - 4 * c)) & 7 == 4:
        b[KO] = b[HEADER + LISTED] + o
    if removed == 0 and dead(b, c, chain):
        removed = lift(b, chain, np.int64(0))
        b[PRISONERS + c] += removed
    return removed


@part
def legal(b: Words, p: Int, c: Int, suicide: bool) -> bool:
    """Return whether `c` may play at `p` under simple ko."""
    if b[p] != 0 or b[KO] == p + c:
        return False
    if suicide or b[p + AROUND] >= ONE_EMPTY:
        return True
    # Take the point from its neighbours' liberties for the test, and give it back.
    c0, c1, c2, c3 = chains_beside(b, p)
    debit(b, c0, c1, c2, c3)
    o = 3 - c
    takes = dead(b, o, c0) | dead(b, o, c1) | dead(b, o, c2) | dead(b, o, c3)
    lives = alive(b, c, c0) | alive(b, c, c1) | alive(b, c, c2) | alive(b, c, c3)
    credit(b, c0, c1, c2, c3)
    return takes | lives


@part
def chain_key(b: Words, chain: Int) -> np.uint64:
    """Return the exclusive or of the keys of a chain's stones."""
    c = chain & 3
    first = chain - c
    key = zobrist(b, first, c)
    s = np.int64(b[first + NEXT])
    while s != first:
        key ^= zobrist(b, s, c)
        s = np.int64(b[s + NEXT])
    return key


@part
def move_key(b: Words, p: Int, c: Int) -> np.uint64:
    """Return the exclusive or of the board's hash before and after `c` plays at `p`."""
    key = zobrist(b, p, c)
    around = b[p + AROUND]
    if (around >> (8 - 4 * c)) & 7 == 0 and around >= ONE_EMPTY:
        return key  # no neighbour is hostile
    c0, c1, c2, c3 = chains_beside(b, p)
    debit(b, c0, c1, c2, c3)
    # With the point taken from all of them, chains without liberties are those that the move
    # captures, or in a suicide its own.
    safe = bool(around >= ONE_EMPTY)
    lost = np.uint64(0)  # own stones, which a suicide removes
    near = (c0, c1, c2, c3)
    for i in range(4):
        n = near[i]
        for j in range(i):
            if near[j] == n:
                n = np.int64(0)  # counted already
        safe |= alive(b, c, n)
        if dead(b, 3 - c, n):
            key ^= chain_key(b, n)
            safe = True
        elif dead(b, c, n):
            lost ^= chain_key(b, n)
    credit(b, c0, c1, c2, c3)
    return key if safe else lost


@part
def get_hash(b: Words) -> np.uint64:
    """Return the board's Zobrist hash."""
    return np.uint64(b[HASH_HIGH]) << _32 | np.uint64(b[HASH_LOW])


@part
def set_hash(b: Words, key: np.uint64) -> None:
    """Store the board's Zobrist hash."""
    b[HASH_LOW] = np.uint32(key)
    b[HASH_HIGH] = np.uint32(key >> _32)


@part
def reset_unread(b: Words) -> None:
    """Reset the header words that updates of empty and border points change."""
    b[CHAIN_INFO] = UNREAD
    b[CHAIN_INFO + BORDER] = UNREAD


@kernel
def play(b: Words, action: Int, c: Int) -> Int:
    """Play a legal move, hash included; return the number of stones removed."""
    p = point_of(b, action)
    set_hash(b, get_hash(b) ^ move_key(b, p, c))
    reset_unread(b)
    return put(b, p, c)


@kernel
def is_legal(b: Words, action: Int, c: Int, suicide: bool) -> bool:
    """Return whether `c` may play at `action` under simple ko."""
    return legal(b, point_of(b, action), c, suicide)


@kernel
def hash_after(b: Words, action: Int, c: Int) -> np.uint64:
    """Return the Zobrist hash after `c` plays at `action`."""
    return get_hash(b) ^ move_key(b, point_of(b, action), c)


@kernel
def legal_points(b: Words, c: Int, suicide: bool, ko: bool, out: NDArray[np.int16]) -> int:
    """Write the legal points in ascending order into `out`; return their number."""
    size = b[SIZE]
    ban = b[KO]
    if not ko:  # lifted for the call: `legal` reads it from the board
        b[KO] = 0
    count = 0
    p = point_of(b, np.int64(0))
    action = 0
    for _row in range(size):
        for _column in range(size):
            if legal(b, p, c, suicide):
                out[count] = action
                count += 1
            p += RECORD
            action += 1
        p += RECORD
    b[KO] = ban
    return count


@kernel
def drop_repeats(
    b: Words, c: Int, points: NDArray[np.int16], count: int, history: Hashes, mark: np.uint64
) -> int:
    """Drop from `points[:count]` the moves whose hash, with `mark`, is in `history`.

    Works in place and keeps the order. Returns the number of moves that remain.
    """
    kept = 0
    before = get_hash(b) ^ mark
    for i in range(count):
        key = before ^ move_key(b, point_of(b, np.int64(points[i])), c)
        repeated = False
        for h in range(len(history)):
            # Without an early exit the loop becomes vectors.
            repeated |= history[h] == key
        if not repeated:
            points[kept] = points[i]
            kept += 1
    return kept


@kernel
def set_up(b: Words, stones: NDArray[np.int8]) -> int:
    """Put `stones` (row by row; 0, 1 or 2) on an empty board.

    Returns the action of the first stone that leaves a chain without a liberty, or -1.
    """
    key = np.uint64(0)
    for action in range(len(stones)):
        c = np.int64(stones[action])
        if c != 0:
            p = point_of(b, action)
            key ^= zobrist(b, p, c)
            if put(b, p, c) != 0:
                return action
    set_hash(b, key)
    return -1


@kernel
def read_stones(b: Words, out: NDArray[np.int8]) -> None:
    """Write 0 (empty), 1 (black) or 2 (white) for every point, row by row."""
    for action in range(len(out)):
        out[action] = b[point_of(b, action)] & 3


@kernel
def chain_at(b: Words, action: Int, stones: NDArray[np.int16], free: NDArray[np.int16]) -> int:
    """List the chain on `action` and its liberties, both in no particular order.

    Returns stones * LIBERTY + liberties. `free` needs room for the whole board.
    """
    stride = b[STRIDE]
    first = point_of(b, action)
    s = first
    count = 0
    liberties = 0
    while True:
        stones[count] = b[s + ACTION]
        count += 1
        for q in (np.uint32(s - stride), np.uint32(s - 8), np.uint32(s + 8), np.uint32(s + stride)):
            if b[q] == 0:
                # A liberty of several stones is listed once; the list is short, so it is searched.
                point = b[q + ACTION]
                repeated = False
                for i in range(liberties):
                    repeated |= free[i] == point
                if not repeated:
                    free[liberties] = point
                    liberties += 1
        s = b[s + NEXT]
        if s == first:
            return count * LIBERTY + liberties


@kernel
def area(  # noqa: C901  kernels read from top to bottom
    b: Words, owner: NDArray[np.int8], stack: NDArray[np.int32]
) -> int:
    """Fill `owner` (1 black, -1 white, 0 neither; row by row) and return black minus white points.

    A region of empty points belongs to a colour if it touches no stone of the other (Tromp-Taylor,
    Logical Rules of Go, 9). `stack` needs room for the whole board.
    """
    size = np.int64(b[SIZE])
    stride = b[STRIDE]
    # Stones belong to their colour; empty points are marked as unseen.
    total = 0
    unseen = 2
    for action in range(size * size):
        colour = b[point_of(b, action)] & 3
        owner[action] = unseen if colour == 0 else 3 - 2 * colour
    for action in range(size * size):
        if owner[action] != unseen:
            continue

        # Flood the region, noting the colours that it touches: 1, 2, or 3 for both.
        top = 1
        stack[0] = point_of(b, action)
        owner[action] = 0
        seen = 0
        done = 0
        while done < top:
            p = stack[done]
            done += 1
            for q in (p - stride, p - 8, p + 8, p + stride):
                colour = b[q] & 3
                if colour == 0:
                    if owner[b[q + ACTION]] == unseen:
                        owner[b[q + ACTION]] = 0
                        stack[top] = q
                        top += 1
                elif colour != BORDER:
                    seen |= colour
        if seen == 1 or seen == 2:
            for i in range(top):
                owner[b[stack[i] + ACTION]] = 3 - 2 * seen
    for action in range(size * size):
        total += owner[action]
    return total
