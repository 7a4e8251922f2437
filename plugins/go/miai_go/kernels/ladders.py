"""Reading ladders: whether a chain in atari can get away, on a board of bytes with undo.

The attacker gives atari after atari; the defender extends, or captures attackers that are in atari.
A chain with three liberties has escaped; one with a single liberty after its own move is lost; with
two the attack goes on. Ko is ignored.

The reading is limited, in the defender's favour: a line ends after `LEVELS` atari per row of the
board, and when the attacker has had a choice of two atari, neither of which lets the chain reach
three liberties at once, or the defender has captured, more than `CHOICES` times. These limits do
not depend on the order of moves, so that a turned position gives the same result. Games do not
reach the limit of `MAX_MOVES` of the defender.

Points here are records of the board, its words divided by `rules.RECORD`; neighbours are at -1, +1
and a stride. A `Grid` holds 0, 1, 2 and 3 for empty, black, white and border. `room` is work space
in blocks as long as the grid: marks, two lists of stones, the log of captured stones (two blocks),
SAFE, marks of the chain; then a frame for each level, with room for the defender's captures. SAFE
holds the liberties of each stone's chain before reading, and 0 for empty points: every later stone
takes at most one of them, so that most chains need no check. A level is a move of the defender and
the attack on it; the recursion is written as a loop, because numba does not load recursive
functions from its cache on disk.
"""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import inlined, part
from miai_go.kernels.rules import BORDER, HEADER, RECORD, Int

Grid = NDArray[np.uint8]
Room = NDArray[np.int32]

LEVELS = 3
CHOICES = 1
MAX_MOVES = 5000

MOVES = 0  # moves of the defender tried
STAMP = 1  # the mark in use
LIBERTIES = 2  # the first liberties found
FRONT = 8  # where the blocks begin
MARKS = 0  # blocks
CHAIN_LIST = 1
NEAR_LIST = 2
LOG = 3
SAFE = 5
CHAIN_MARKS = 6
BLOCKS = 7

MOVE = 0  # words of a frame: the defender's move, 0 for none
BELOW = 1  # the log's top before it
OVER = 2  # and after it
ATTACK = 3  # the attacker's answer
STRETCH = 4  # the chain's last liberty then
HIGHER = 5  # the log's top after the attack
PENDING = 6  # whether an attack at STRETCH is to follow
BUDGET = 7  # remaining choices, before and after the attacker's
BUDGET_AFTER = 8
TRIED = 9  # captures tried, 0 while the chain is stretched
CAPTURES = 10  # number of captures, listed from FRAME on
STAMPED = 11  # the mark of the chain after the move, in CHAIN_MARKS
FRAME = 12


def empty_grid(size: int) -> Grid:
    """Return the grid of a board, its border in place."""
    return np.full(HEADER // RECORD + (size + 2) * (size + 1) + 1, BORDER, np.uint8)


def ladder_room(size: int) -> Room:
    """Return work space for reading on boards of one size."""
    length = len(empty_grid(size))
    return np.zeros(FRONT + length * BLOCKS + (length + FRAME) * (LEVELS * size + 2), np.int32)


@part
def frame_of(grid: Grid, level: Int) -> Int:
    """Return where the frame of a level begins."""
    length = len(grid)
    where: Int = FRONT + length * BLOCKS + (length + FRAME) * level
    return where


@part
def flood(
    grid: Grid, stride: Int, start: Int, room: Room, block: Int, marks: Int, limit: Int
) -> tuple[Int, Int]:
    """List the chain on `start` in a block, and its first liberties in the LIBERTIES words.

    Returns the number of liberties, at most `limit`, and of stones; with `limit` liberties, the
    list of stones is incomplete.
    """
    stones = FRONT + block * len(grid)
    marked = FRONT + marks * len(grid)
    # A new mark each time, so that the marks of earlier floods need not be cleared.
    room[STAMP] += 1
    stamp = room[STAMP]
    color = grid[start]
    room[stones] = start
    room[marked + start] = stamp
    count = np.int64(1)
    done = np.int64(0)
    liberties = np.int64(0)
    while done < count:
        s = np.int64(room[np.uint32(stones + done)])
        done += 1
        for q in around(s, stride):
            what = grid[q]
            if what == color:
                if room[np.uint32(marked + q)] != stamp:
                    room[np.uint32(marked + q)] = stamp
                    room[np.uint32(stones + count)] = q
                    count += 1
            elif what == 0 and room[np.uint32(marked + q)] != stamp:
                room[np.uint32(marked + q)] = stamp
                room[np.uint32(LIBERTIES + liberties)] = q
                liberties += 1
                # Whether there are one, two or three liberties is all that reading asks.
                if liberties == limit:
                    return liberties, count
    return liberties, count


@inlined
def around(r: Int, stride: Int) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return the neighbours of a point; unsigned, as an index need not be seen to be positive."""
    return np.uint32(r - stride), np.uint32(r - 1), np.uint32(r + 1), np.uint32(r + stride)


@part
def open_sides(grid: Grid, stride: Int, r: Int) -> Int:
    """Return the number of empty neighbours of a point."""
    n0, n1, n2, n3 = around(r, stride)
    sides = np.int64(grid[n0] == 0) + np.int64(grid[n1] == 0)
    return sides + np.int64(grid[n2] == 0) + np.int64(grid[n3] == 0)


@part
def lay(
    grid: Grid, stride: Int, r: Int, color: Int, room: Room, top: Int, laid: Int, living: Int
) -> Int:
    """Put a stone on an empty point; return the new top of the log, or -1 for a suicide, undone.

    At most `laid` stones of the line precede it. The chain marked `living` in CHAIN_MARKS keeps a
    liberty.
    """
    # Offsets of the blocks are computed once; a chain that had more liberties before reading than
    # stones were laid since, or an open side, cannot be captured and is not flooded.
    length = len(grid)
    log = FRONT + LOG * length
    stones = FRONT + NEAR_LIST * length
    grid[r] = color
    new = top
    free = False
    safe = FRONT + SAFE * length
    kept = FRONT + CHAIN_MARKS * length
    for q in around(r, stride):
        what = grid[q]
        if what == 0:
            free = True
        elif what == 3 - color:
            if (
                room[np.uint32(safe + q)] > laid
                or open_sides(grid, stride, q) > 0
                or room[np.uint32(kept + q)] == living
            ):
                continue
            liberties, count = flood(grid, stride, q, room, NEAR_LIST, MARKS, 1)
            if liberties == 0:
                for i in range(count):
                    grid[room[np.uint32(stones + i)]] = 0
                    room[log + new] = room[np.uint32(stones + i)]
                    new += 1
    # Without a capture or an open side, only a friendly chain can save the stone from suicide.
    if new == top and not free:
        liberties, count = flood(grid, stride, r, room, NEAR_LIST, MARKS, 1)
        if liberties == 0:
            grid[r] = 0
            return np.int64(-1)
    return new


@part
def take_back(grid: Grid, r: Int, color: Int, room: Room, bottom: Int, top: Int) -> None:
    """Undo a stone of `color` that captured the log's entries from `bottom` to `top`."""
    log = FRONT + LOG * len(grid)
    grid[r] = 0
    for i in range(bottom, top):
        grid[room[log + i]] = 3 - color


@part
def list_captures(
    grid: Grid, stride: Int, chain: Int, but: Int, room: Room, frame: Int, laid: Int
) -> Int:
    """List in a frame where a chain in atari can capture, except at `but`; return the number."""
    stones = FRONT + CHAIN_LIST * len(grid)
    options = frame + FRAME
    safe = FRONT + SAFE * len(grid)
    color = grid[chain]
    _, count = flood(grid, stride, chain, room, CHAIN_LIST, MARKS, 2)
    base = room[STAMP]  # attackers visited since have greater marks
    n = np.int64(0)
    for i in range(count):
        s = np.int64(room[np.uint32(stones + i)])
        for q in around(s, stride):
            if grid[q] != 3 - color or room[np.uint32(FRONT + q)] > base:
                continue
            # An attacker that had more liberties than stones were laid since cannot be in atari.
            if room[np.uint32(safe + q)] <= laid + 1 and open_sides(grid, stride, q) < 2:
                free, _ = flood(grid, stride, q, room, NEAR_LIST, MARKS, 2)
                if free == 1:
                    takes = room[LIBERTIES]
                    listed = takes == but
                    for k in range(n):
                        listed |= room[options + k] == takes
                    if not listed:
                        room[options + n] = takes
                        n += 1
    return n


@part
def holds(
    grid: Grid,
    stride: Int,
    chain: Int,
    x: Int,
    y: Int,
    room: Room,
    top: Int,
    laid: Int,
    stamp: Int,
) -> bool:
    """Return whether an atari at `x` keeps the chain from three liberties by a move at `y`."""
    # With three open sides the answer alone has three liberties: no stone need be laid.
    color = np.int64(grid[chain])
    grid[x] = 3 - color
    sides = open_sides(grid, stride, y)
    grid[x] = 0
    if sides > 2:
        return False
    over = lay(grid, stride, x, 3 - color, room, top, laid + 1, stamp)
    if over < 0:
        return False
    gained: Int = np.int64(0)
    higher = lay(grid, stride, y, color, room, over, laid + 2, np.int64(-1))
    if higher >= 0:
        gained, _ = flood(grid, stride, chain, room, CHAIN_LIST, MARKS, 3)
        take_back(grid, y, color, room, over, higher)
    take_back(grid, x, 3 - color, room, top, over)
    return bool(gained < 3)


@part
def try_move(grid: Grid, stride: Int, chain: Int, room: Room, level: Int) -> Int:
    """Play a level's move of the defender and look for attacks on it.

    Returns 1 if the chain escapes and 0 if it is lost, with the move undone; 2 if the reading must
    go on, with the first attack in the frame.
    """
    color = np.int64(grid[chain])
    frame = frame_of(grid, level)
    laid = 2 * level
    move = np.int64(room[frame + MOVE])
    below = np.int64(room[frame + BELOW])
    if open_sides(grid, stride, move) > 2:
        return np.int64(1)
    over = lay(grid, stride, move, color, room, below, laid, np.int64(-1))
    if over < 0:
        return np.int64(0)

    # Three liberties escape, one is lost; with two, look which atari keep the chain below three.
    liberties, _ = flood(grid, stride, chain, room, CHAIN_LIST, CHAIN_MARKS, 3)
    stamp = np.int64(room[STAMP])
    room[frame + STAMPED] = stamp
    result = np.int64(liberties > 1)
    if liberties == 2:
        x = np.int64(room[LIBERTIES])
        y = np.int64(room[LIBERTIES + 1])
        first = holds(grid, stride, chain, x, y, room, over, laid, stamp)
        second = holds(grid, stride, chain, y, x, room, over, laid, stamp)
        # Only where both atari hold the attacker has a choice, which the budget limits.
        budget = np.int64(room[frame + BUDGET]) - np.int64(first and second)
        if (first or second) and budget >= 0:
            room[frame + OVER] = over
            room[frame + ATTACK] = x if first else y
            room[frame + STRETCH] = y if first else x
            room[frame + PENDING] = first and second
            room[frame + BUDGET_AFTER] = budget
            return np.int64(2)
    take_back(grid, move, color, room, below, over)
    return result


@part
def read(  # noqa: C901  kernels read from top to bottom
    grid: Grid, stride: Int, chain: Int, room: Room, top: Int
) -> bool:
    """Return whether a chain in atari escapes by the move in frame 1.

    With a `top` of 0, frame 0 holds the attack that the move answers; otherwise `top` is 1.
    """
    level: Int = np.int64(1)
    color = np.int64(grid[chain])
    # The deepest level that has a frame; a chain that gets beyond it counts as escaped.
    last = (len(room) - frame_of(grid, np.int64(0))) // (len(grid) + FRAME) - 2
    while True:
        room[MOVES] += 1
        state: Int = np.int64(1)
        if level <= last and room[MOVES] <= MAX_MOVES:
            state = try_move(grid, stride, chain, room, level)

        # Back up until an attack or a capture is untried.
        while state != 2:  # decided: return to the attack that led here
            if level == top:
                return bool(state == 1)
            level -= 1
            frame = frame_of(grid, level)
            budget = room[frame + BUDGET_AFTER]
            attack = np.int64(room[frame + ATTACK])
            over = np.int64(room[frame + OVER])
            higher = np.int64(room[frame + HIGHER])

            # The chain was lost by its last move: it tries to capture before it gives up.
            if state == 0:
                tried = room[frame + TRIED]
                if tried == 0:
                    stretch = np.int64(room[frame + STRETCH])
                    n = list_captures(grid, stride, chain, stretch, room, frame, 2 * level + 1)
                    room[frame + CAPTURES] = n
                    if n > 0 and budget == 0:
                        state = np.int64(1)
                if state == 0 and tried < room[frame + CAPTURES]:
                    room[frame + TRIED] = tried + 1
                    child = frame_of(grid, level + 1)
                    room[child + MOVE] = room[frame + FRAME + tried]
                    room[child + BELOW] = higher
                    room[child + BUDGET] = budget - 1
                    break

            # The attack is decided. One that failed gives way to the other atari, if there is one.
            take_back(grid, attack, 3 - color, room, over, higher)
            if state == 1 and room[frame + PENDING] != 0:
                room[frame + PENDING] = 0
                room[frame + ATTACK] = room[frame + STRETCH]
                room[frame + STRETCH] = attack
                state = np.int64(2)
            elif room[frame + MOVE] != 0:
                below = np.int64(room[frame + BELOW])
                take_back(grid, np.int64(room[frame + MOVE]), color, room, below, over)
        if state == 2:
            start_attack(grid, stride, chain, room, level)
        level += 1


@part
def start_attack(grid: Grid, stride: Int, chain: Int, room: Room, level: Int) -> None:
    """Play the attack of a level's frame, and make extending the chain the next frame's move."""
    frame = frame_of(grid, level)
    child = frame_of(grid, level + 1)
    attack = np.int64(room[frame + ATTACK])
    over = np.int64(room[frame + OVER])
    stamp = np.int64(room[frame + STAMPED])
    enemy = 3 - np.int64(grid[chain])
    higher = lay(grid, stride, attack, enemy, room, over, 2 * level + 1, stamp)
    room[frame + HIGHER] = higher
    room[frame + TRIED] = 0
    room[child + MOVE] = room[frame + STRETCH]
    room[child + BELOW] = higher
    room[child + BUDGET] = room[frame + BUDGET_AFTER]


@part
def escape_works(grid: Grid, stride: Int, chain: Int, move: Int, room: Room) -> bool:
    """Return whether a chain in atari escapes by a legal move of its owner."""
    frame = frame_of(grid, np.int64(1))
    room[MOVES] = 0
    room[frame + MOVE] = move
    room[frame + BELOW] = 0
    room[frame + BUDGET] = CHOICES
    return read(grid, stride, chain, room, np.int64(1))


@part
def ladder_works(grid: Grid, stride: Int, chain: Int, x: Int, y: Int, room: Room) -> bool:
    """Return whether a chain with liberties `x` and `y` is lost after a legal move on `x`."""
    frame = frame_of(grid, np.int64(0))
    room[MOVES] = 0
    room[frame + MOVE] = 0
    room[frame + OVER] = 0
    room[frame + ATTACK] = x
    room[frame + STRETCH] = y
    room[frame + PENDING] = 0
    room[frame + BUDGET_AFTER] = CHOICES
    # No chain is marked yet: `lay` looks at all of them.
    room[frame + STAMPED] = -1
    start_attack(grid, stride, chain, room, np.int64(0))
    return not read(grid, stride, chain, room, np.int64(0))
