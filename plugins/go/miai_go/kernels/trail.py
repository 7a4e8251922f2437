"""The trail of a game: what encoders read in addition to the board, one flat `int16` array.

A trail accompanies a board and is updated after every move. Words:

    PLY         moves since the trail began
    COLOR       the colour to move, 1 black or 2 white
    HALF_KOMI   komi in half points
    LAST        LAST + i: the move made i + 1 moves ago, as an action: row * size + column, or
                size * size for a pass; NO_MOVE for none. There are `REMEMBERED` of them
    AGES        AGES + action: the ply that put the stone there, counted from 1; 0 for empty points
                and set-up stones
    the rest    the last `POSITIONS` positions of stones (0, 1 or 2, row by row), the present one
                included; the one after ply t is at `past(size, t)`
"""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.rules import (
    HEADER,
    KO,
    RECORD,
    SIZE,
    Int,
    Words,
    legal,
    point_of,
    put,
    reset_unread,
)

Trail = NDArray[np.int16]

PLY = 0
COLOR = 1
HALF_KOMI = 2
LAST = 4
REMEMBERED = 8
AGES = 16
POSITIONS = 8
NO_MOVE = -1


def trail_words(size: int) -> int:
    """Return the length of a trail's array."""
    return AGES + size * size * (1 + POSITIONS)


@part
def past(size: Int, ply: Int) -> Int:
    """Return where in the trail the position after `ply` begins."""
    points = size * size
    # A ring: a new position overwrites the oldest, and none is moved.
    where: Int = AGES + points * (1 + ply % POSITIONS)
    return where


@part
def keep_position(b: Words, trail: Trail) -> None:
    """Write the stones of `b` as the position after the present ply; clear the ages of others."""
    size = np.int64(b[SIZE])
    here = past(size, np.int64(trail[PLY]))
    action = 0
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            stone = b[p] & 3
            trail[here + action] = stone
            if stone == 0:
                trail[AGES + action] = 0
            action += 1
            p += RECORD
        p += RECORD


@part
def begin(b: Words, trail: Trail, c: Int, half_komi: Int) -> None:
    """Begin a trail at the board `b` with `c` to move."""
    size = np.int64(b[SIZE])
    trail[PLY] = 0
    trail[COLOR] = c
    trail[HALF_KOMI] = half_komi
    for i in range(REMEMBERED):
        trail[LAST + i] = NO_MOVE
    for action in range(size * size):
        trail[AGES + action] = 0
    keep_position(b, trail)


@part
def follow(b: Words, trail: Trail, action: Int) -> None:
    """Update the trail after the player to move played `action` on `b`."""
    size = np.int64(b[SIZE])
    trail[PLY] += 1
    trail[COLOR] = 3 - trail[COLOR]
    for i in range(REMEMBERED - 1, 0, -1):  # a shift of eight words costs less than a ring's index
        trail[LAST + i] = trail[LAST + i - 1]
    trail[LAST] = action
    if action < size * size:
        trail[AGES + action] = trail[PLY]
    keep_position(b, trail)


@part
def play_on(b: Words, trail: Trail, action: Int) -> None:
    """Play a legal action of the player to move, and update the trail but not the hash."""
    size = np.int64(b[SIZE])
    if action == size * size:
        b[KO] = 0
    else:
        put(b, point_of(b, action), np.int64(trail[COLOR]))
    follow(b, trail, action)


@kernel
def begin_trail(b: Words, trail: Trail, c: Int, half_komi: Int) -> None:
    """Begin a trail at the board `b` with `c` to move."""
    begin(b, trail, c, half_komi)


@kernel
def extend_trail(b: Words, trail: Trail, actions: NDArray[np.int16], suicide: bool) -> Int:
    """Play actions on `b` under simple ko up to the first illegal one; return their number."""
    size = np.int64(b[SIZE])
    reset_unread(b)
    for i in range(len(actions)):
        action = np.int64(actions[i])
        if action > size * size:
            return i
        if action < size * size:
            c = np.int64(trail[COLOR])
            if not legal(b, point_of(b, action), c, suicide):
                return i
        play_on(b, trail, action)
    return len(actions)
