"""Replaying recorded games, to check them and to reach many of their positions at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.playouts import copy_words
from miai_go.kernels.rules import KO, SIZE, Int, Words, legal, point_of, put, reset_unread
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
    """Make `b` the empty board with turned stones; return whether they could be placed."""
    copy_words(b, empty)
    for action in range(len(stones)):
        c = np.int64(stones[action])
        if c != 0:
            if c < 0 or c > 2:
                return False
            # A set-up in which a stone is captured is not a position.
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
    """Return the number of legal moves of a game (simple ko, no suicide); -1: illegal set-up.

    Args:
      b: a board to work on.
      empty: an empty board of the size.
      stones: the set-up, (points,): 0, 1 black or 2 white; of length 0 for none.
      first: the first player, 1 black or 2 white.
      moves: actions, int16 of shape (moves,).
      table: the identity of `miai_go.rules.symmetry.point_tables`.
    """
    size = np.int64(empty[SIZE])
    if not lay_out(b, empty, stones, table, size):
        return -1
    reset_unread(b)
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
    """Play turned moves on a board whose trail has begun; return whether all could be played.

    The result is that of `trail.play_on` move by move, but positions and moves that the trail would
    have forgotten at the end are not written.
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
        if t + POSITIONS >= count:  # the trail remembers the last positions alone
            keep_position(b, trail)
    for i in range(REMEMBERED):
        trail[LAST + i] = NO_MOVE if i >= count else np.int64(table[moves[count - 1 - i]])
    return True


class RecordedGames(NamedTuple):
    """Games as they were recorded.

    Attributes:
      moves, offsets: actions of all games, and the start of each game's, (games + 1,).
      half_komi: of each game.
      stones: set-ups, (games, points), or of shape (0, 0) if no game has one.
      firsts: the first players, 1 black or 2 white, (games,), or of length 0 for Black in all.
    """

    moves: NDArray[np.int16]
    offsets: NDArray[np.int64]
    half_komi: NDArray[np.int16]
    stones: NDArray[np.int8]
    firsts: NDArray[np.int8]


class Entries(NamedTuple):
    """Positions to reach; all of shape (entries,).

    Attributes:
      games, plies: the position of a game before one of its moves.
      symmetries: by which it is turned.
      rows: where it goes.
    """

    games: NDArray[np.int64]
    plies: NDArray[np.int64]
    symmetries: NDArray[np.uint8]
    rows: NDArray[np.int64]


@kernel
def reach(
    empty: Words,
    recorded: RecordedGames,
    entries: Entries,
    tables: NDArray[np.int16],
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
) -> Int:
    """Write positions of recorded games, turned; return the first impossible entry, or -1.

    Offsets must lie within the moves. A move off the board or on a stone makes its entry
    impossible. Ko is not checked.

    Args:
      empty: an empty board of the size.
      tables: see `miai_go.rules.symmetry.point_tables`.
      words, trails: see `miai_go.nets.encoder.Positions`.
    """
    offsets, stones, firsts = recorded.offsets, recorded.stones, recorded.firsts
    size = np.int64(empty[SIZE])
    for i in range(len(entries.games)):
        game = entries.games[i]
        ply = entries.plies[i]
        b = words[entries.rows[i]]
        trail = trails[entries.rows[i]]
        table = tables[entries.symmetries[i]]
        if ply < 0 or ply > offsets[game + 1] - offsets[game]:
            return i

        # Set up the board, turned.
        copy_words(b, empty)
        if len(stones) > 0 and not lay_out(b, empty, stones[game], table, size):
            return i
        first = np.int64(1)
        if len(firsts) > 0:
            first = np.int64(firsts[game])
            if first < 1 or first > 2:
                return i
        reset_unread(b)
        begin(b, trail, first, np.int64(recorded.half_komi[game]))

        # Play the moves, turned, up to the position.
        start = offsets[game]
        if not replay(b, trail, recorded.moves[start : start + ply], table, size):
            return i
    return -1
