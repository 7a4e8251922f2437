"""Playing recorded games again: to check them, and to reach many of their positions at once."""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.playouts import copy_words
from miai_go.kernels.rules import (
    BORDER,
    CHAIN_INFO,
    KO,
    SIZE,
    UNREAD,
    Int,
    Words,
    legal,
    point_of,
    put,
)
from miai_go.kernels.trail import (
    AGES,
    COLOR,
    LAST,
    NO_MOVE,
    PLY,
    POSITIONS,
    REMEMBERED,
    Trail,
    begin,
    keep_position,
)


@part
def lay_out(
    b: Words, empty: Words, stones: NDArray[np.int8], table: NDArray[np.int16], size: Int
) -> bool:
    """Make `b` a copy of the empty board with stones, turned by a table; say if they could lie."""
    copy_words(b, empty)
    for action in range(len(stones)):
        c = np.int64(stones[action])
        if c != 0:
            if c < 0 or c > 2:
                return False
            if put(b, point_of(b, np.int64(table[action])), c) != 0:
                return False
    b[KO] = 0
    return True


@kernel
def first_refused(
    b: Words,
    empty: Words,
    stones: NDArray[np.int8],
    first: Int,
    moves: NDArray[np.int16],
    table: NDArray[np.int16],
) -> Int:
    """Return how many moves of a game were legal, with simple ko and without suicide; -1: set-up.

    Args:
      b: a board to work on.
      empty: an empty board of the size.
      stones: of the set-up, (points,): 0, 1 black or 2 white; of length 0 for none.
      first: who moves first, 1 black or 2 white.
      moves: actions, int16 of shape (moves,).
      table: the identity of `miai_go.rules.symmetry.point_tables`.
    """
    size = np.int64(empty[SIZE])
    if not lay_out(b, empty, stones, table, size):
        return -1
    b[CHAIN_INFO] = UNREAD
    b[CHAIN_INFO + BORDER] = UNREAD
    c = np.int64(first)
    for i in range(len(moves)):
        action = np.int64(moves[i])
        if action < 0 or action > size * size:
            return i
        if action == size * size:
            b[KO] = 0
        else:
            p = point_of(b, action)
            if not legal(b, p, c, False):
                return i
            put(b, p, c)
        c = 3 - c
    return len(moves)


@part
def replay(
    b: Words,
    trail: Trail,
    moves: NDArray[np.int16],
    table: NDArray[np.int16],
    size: Int,
) -> bool:
    """Play turned moves on a board whose trail has begun; say whether the board could take them.

    The same as `trail.play_on` move by move, but only what is still remembered at the end is
    written: positions and moves of long ago are not.
    """
    points = size * size
    count = len(moves)
    for t in range(count):
        action = np.int64(moves[t])
        if action < 0 or action > points:
            return False
        action = np.int64(table[action])
        c = np.int64(trail[COLOR])
        trail[PLY] += 1
        trail[COLOR] = 3 - c
        if action == points:
            b[KO] = 0
        else:
            p = point_of(b, action)
            if b[p] != 0:
                return False
            put(b, p, c)
            trail[AGES + action] = trail[PLY]
        if t + POSITIONS >= count:
            keep_position(b, trail)
    for i in range(REMEMBERED):
        trail[LAST + i] = NO_MOVE if i >= count else np.int64(table[moves[count - 1 - i]])
    return True


@kernel
def reach(
    empty: Words,
    moves: NDArray[np.int16],
    offsets: NDArray[np.int64],
    half_komi: NDArray[np.int16],
    stones: NDArray[np.int8],
    firsts: NDArray[np.int8],
    games: NDArray[np.int64],
    plies: NDArray[np.int64],
    symmetries: NDArray[np.uint8],
    tables: NDArray[np.int16],
    rows: NDArray[np.int64],
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
) -> Int:
    """Write positions of recorded games, turned; return the first entry that cannot be, or -1.

    Entry i is the position of game `games[i]` before its move `plies[i]`, turned by
    `symmetries[i]`; it goes into row `rows[i]`. Nothing of the games is trusted but that offsets
    lie within the moves: a move off the board or on a stone is found. Ko is not checked.

    Args:
      empty: an empty board of the size.
      moves, offsets: actions of all games, and where each game's begin, (games + 1,).
      half_komi: of each game.
      stones: set-ups, (games, points), or of shape (0, 0) where no game has one.
      firsts: who moves first, 1 black or 2 white, (games,), or of length 0 for Black in all.
      tables: see `miai_go.rules.symmetry.point_tables`.
      words, trails: see `miai_go.nets.positions.Positions`.
    """
    size = np.int64(empty[SIZE])
    for i in range(len(games)):
        game = games[i]
        row = rows[i]
        b = words[row]
        trail = trails[row]
        table = tables[symmetries[i]]
        if plies[i] < 0 or plies[i] > offsets[game + 1] - offsets[game]:
            return i
        copy_words(b, empty)
        if len(stones) > 0 and not lay_out(b, empty, stones[game], table, size):
            return i
        first = np.int64(1)
        if len(firsts) > 0:
            first = np.int64(firsts[game])
            if first < 1 or first > 2:
                return i
        b[CHAIN_INFO] = UNREAD
        b[CHAIN_INFO + BORDER] = UNREAD
        begin(b, trail, first, np.int64(half_komi[game]))
        where = offsets[game]
        if not replay(b, trail, moves[where : where + plies[i]], table, size):
            return i
    return -1
