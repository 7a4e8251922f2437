"""Depth-first proof-number search for the question whether a goal can be forced.

The *reacher* wants to reach the goal, the *stayer* to keep it from ever being reached. With the
goal `CAPTURE` the attacker reaches by taking the target; with `LIFE` the defender reaches by
unconditional life (see `life`). What never ends is the stayer's: a position that was met before on
the way counts for it.

Nodes of the reacher are proven by one child, those of the stayer by all. Numbers of the other kind
are the greatest of the children's plus one for each other child, which a position that is reached
on many ways does not inflate (Ueda, Hashimoto, Hashimoto, Iida 2008, "Weak proof-number search").
The search goes down into the child that decides most while the numbers stay below thresholds
(Nagai 2002), a quarter above those of the second best (Pawlewicz and Lew 2007).

A proof never rests on the way to a node, since meeting a position again counts against it. A
disproof may: it then tells how high on the way the position stands that it met (`LEAST`), and holds
only below that; where the position is the node itself or below it, it holds everywhere.

The stack of levels is arrays, so that the search can be left at any node and gone on with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.life import lives
from miai_go.tsumego.kernels.stones import (
    ATTACKER,
    NO_BAN,
    ONE,
    PASS,
    POINTS,
    TARGET,
    U64,
    ZERO,
    Int,
    Words,
    bit,
    breathes,
    ko_left,
    taken,
    target_liberties,
)
from miai_go.tsumego.kernels.table import (
    ESTIMATE,
    INFO,
    NUMBERS,
    ON_THIS_WAY,
    SOLVED,
    digest,
    disproof_number,
    find,
    keep,
    kind_of,
    least_of,
    proof_number,
    scramble,
    turn_of,
)

Ints = NDArray[np.int64]

CAPTURE, LIFE = 0, 1
NO_MASTER = -1

# `task`: what is asked.
GOAL, MASTER = 0, 1
TASK_WORDS = 2

# `tally`: where the search stands.
LEVEL, MADE, ENTERED, DEEPEST = 0, 1, 2, 3
TALLY_WORDS = 4

# Columns of `levels`, (levels, LEVEL_WORDS): one node on the way.
SIDE, BAN, COUNT, TP, TD, AT, BEGUN, TAKEN = range(8)
LEVEL_WORDS = 8

# Columns of `sets`, (levels, 3) of uint64: its stones, and the digest of the way to it.
OF_ATTACKER, OF_DEFENDER, WAY = range(3)

# Columns of `children`, (levels, CHILDREN, CHILD_WORDS), and of `child_sets`, (.., .., 2).
MOVE, PN, DN, LEAST, CHILD_BAN, TOOK = range(6)
CHILD_WORDS = 6
CHILDREN = 64

INFINITE = np.int64(1 << 30)
NOWHERE = np.int64(0xFFFF)
"""What a disproof that holds everywhere rests on: a level below all."""

PAUSED, PROVEN, DISPROVEN, TOO_DEEP = 0, 1, 2, 3


@kernel
def search(
    zone: Words,
    task: Ints,
    table: Words,
    tally: Ints,
    levels: Ints,
    sets: Words,
    children: Ints,
    child_sets: Words,
    room: Words,
    budget: int,
) -> int:
    """Search on until the root is proven or disproven, or about `budget` more positions are made.

    To begin, the root is in row 0 of `levels` and `sets`, its COUNT -1, its thresholds infinite.

    Returns:
      PAUSED, PROVEN, DISPROVEN, or TOO_DEEP where there are not enough levels.
    """
    stop = tally[MADE] + budget
    level = tally[LEVEL]
    while True:
        if levels[level, COUNT] < 0:
            expand(zone, task, table, tally, levels, sets, children, child_sets, room, level)
        pn, dn, least, best, second, open_children = weigh(task, levels, children, level)
        solved = pn == 0 or dn == 0
        if solved or pn >= levels[level, TP] or dn >= levels[level, TD]:
            store(table, tally, levels, sets, children, level, pn, dn, least, best)
            if level == 0:
                tally[LEVEL] = 0
                levels[0, AT] = best
                return PROVEN if pn == 0 else DISPROVEN
            level -= 1
            at = levels[level, AT]
            children[level, at, PN] = pn
            children[level, at, DN] = dn
            children[level, at, LEAST] = least
            continue
        if tally[MADE] >= stop:
            tally[LEVEL] = level
            return PAUSED
        if level + 1 >= len(levels):
            tally[LEVEL] = level
            return TOO_DEEP
        descend(task, tally, levels, sets, children, child_sets, level, best, second, open_children)
        level += 1
        tally[DEEPEST] = max(tally[DEEPEST], level)


@part
def reaches(task: Ints, side: Int) -> bool:
    """Say whether a side is the reacher."""
    return (side == ATTACKER) == (task[GOAL] == CAPTURE)


@part
def weigh(task: Ints, levels: Ints, children: Ints, level: Int) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Return a node's numbers, what its disproof rests on, and its best child.

    Returns:
      proof number, disproof number, LEAST of a disproof, best child, the deciding number of the
      second best, and how many children are neither proven nor disproven.
    """
    reacher = reaches(task, levels[level, SIDE])
    own, other = (PN, DN) if reacher else (DN, PN)
    least_number, second, best = INFINITE, INFINITE, np.int64(-1)
    tie = INFINITE
    greatest, undecided, rests = np.int64(0), np.int64(0), NOWHERE
    for i in range(levels[level, COUNT]):
        mine, theirs = children[level, i, own], children[level, i, other]
        if mine == 0:
            rest = children[level, i, LEAST]
            if least_number > 0 or rest > rests:
                best, rests = np.int64(i), rest
            least_number = np.int64(0)
        elif theirs == 0:
            if reacher and least_number > 0:
                rests = min(rests, children[level, i, LEAST])
        else:
            undecided += 1
            greatest = max(greatest, theirs)
            if mine < least_number or (mine == least_number and theirs < tie):
                second = least_number
                least_number, best, tie = mine, np.int64(i), theirs
            elif mine < second:
                second = mine
    if least_number == 0:
        deciding, opposing = np.int64(0), INFINITE
        if reacher:
            rests = NOWHERE
    elif undecided == 0:
        deciding, opposing = INFINITE, np.int64(0)
    else:
        deciding, opposing = least_number, min(greatest + undecided - 1, INFINITE - 1)
    if reacher:
        return deciding, opposing, rests, best, second, undecided
    return opposing, deciding, rests, best, second, undecided


@part
def descend(
    task: Ints,
    tally: Ints,
    levels: Ints,
    sets: Words,
    children: Ints,
    child_sets: Words,
    level: Int,
    best: Int,
    second: Int,
    undecided: Int,
) -> None:
    """Make the best child the next level, with its thresholds."""
    below = level + 1
    side = levels[level, SIDE]
    levels[level, AT] = best
    levels[below, SIDE] = 1 - side
    levels[below, BAN] = children[level, best, CHILD_BAN]
    levels[below, COUNT] = -1
    levels[below, BEGUN] = tally[MADE]
    levels[below, TAKEN] = levels[level, TAKEN] + children[level, best, TOOK]
    sets[below, OF_ATTACKER] = child_sets[level, best, OF_ATTACKER]
    sets[below, OF_DEFENDER] = child_sets[level, best, OF_DEFENDER]
    sets[below, WAY] = way_below(levels, sets, level)
    limit = min(second + (second >> 2) + 1, INFINITE)
    if reaches(task, side):
        levels[below, TP] = min(levels[level, TP], limit)
        levels[below, TD] = levels[level, TD] - (undecided - 1)
    else:
        levels[below, TD] = min(levels[level, TD], limit)
        levels[below, TP] = levels[level, TP] - (undecided - 1)
    tally[ENTERED] += 1


@part
def way_below(levels: Ints, sets: Words, level: Int) -> np.uint64:
    """Return the digest of the way to the children of a node."""
    turn = turn_of(levels[level, SIDE], levels[level, BAN])
    here = digest(sets[level, OF_ATTACKER], sets[level, OF_DEFENDER], turn)
    return scramble(sets[level, WAY] ^ here) + ONE


@part
def store(
    table: Words,
    tally: Ints,
    levels: Ints,
    sets: Words,
    children: Ints,
    level: Int,
    pn: Int,
    dn: Int,
    least: Int,
    best: Int,
) -> None:
    """Keep what a node was found to be."""
    move = children[level, best, MOVE] if best >= 0 else PASS
    work = U64(tally[MADE] - levels[level, BEGUN])
    kind = SOLVED if pn == 0 or dn == 0 else ESTIMATE
    if dn == 0 and least < level:
        kind, work = ON_THIS_WAY, sets[level, WAY]
    turn = turn_of(levels[level, SIDE], levels[level, BAN])
    keep(
        table,
        sets[level, OF_ATTACKER],
        sets[level, OF_DEFENDER],
        turn,
        kind,
        move,
        pn,
        dn,
        work,
        least,
    )


@part
def expand(
    zone: Words,
    task: Ints,
    table: Words,
    tally: Ints,
    levels: Ints,
    sets: Words,
    children: Ints,
    child_sets: Words,
    room: Words,
    level: Int,
) -> None:
    """List the children of a node, with all that is known of them.

    A pass comes last. The stayer may always pass; the reacher only where a ban can be got rid of:
    a pass without one would be answered by a pass.
    """
    side, ban = levels[level, SIDE], levels[level, BAN]
    attacker, defender = sets[level, OF_ATTACKER], sets[level, OF_DEFENDER]
    own, other = (attacker, defender) if side == ATTACKER else (defender, attacker)
    moves = zone[POINTS] & ~(own | other)
    if ban != NO_BAN:
        moves &= ~bit(ban)
    way = way_below(levels, sets, level)
    count = np.int64(0)
    while moves:
        p = lowest(moves)
        moves &= moves - ONE
        mine = own | bit(p)
        lost = taken(zone, side, mine, other, p)
        theirs = other & ~lost
        if lost == ZERO and not breathes(zone, side, mine, theirs, p):
            continue
        next_ban = ko_left(zone, side, mine, theirs, p, lost)
        if task[MASTER] == 1 - side:
            next_ban = NO_BAN
        children[level, count, MOVE] = p
        children[level, count, CHILD_BAN] = next_ban
        children[level, count, TOOK] = np.int64(lost != ZERO)
        child_sets[level, count, OF_ATTACKER] = mine if side == ATTACKER else theirs
        child_sets[level, count, OF_DEFENDER] = theirs if side == ATTACKER else mine
        look(zone, task, table, levels, sets, children, child_sets, room, level, count, way)
        count += 1
    if ban != NO_BAN or not reaches(task, side):
        children[level, count, MOVE] = PASS
        children[level, count, CHILD_BAN] = NO_BAN
        children[level, count, TOOK] = 0
        child_sets[level, count, OF_ATTACKER] = attacker
        child_sets[level, count, OF_DEFENDER] = defender
        look(zone, task, table, levels, sets, children, child_sets, room, level, count, way)
        count += 1
    levels[level, COUNT] = count
    tally[MADE] += count


@part
def look(
    zone: Words,
    task: Ints,
    table: Words,
    levels: Ints,
    sets: Words,
    children: Ints,
    child_sets: Words,
    room: Words,
    level: Int,
    child: Int,
    way: np.uint64,
) -> None:
    """Note what is known of a child: decided by itself, met before on the way, or in the table."""
    side = levels[level, SIDE]
    attacker = child_sets[level, child, OF_ATTACKER]
    defender = child_sets[level, child, OF_DEFENDER]
    ban = children[level, child, CHILD_BAN]
    children[level, child, LEAST] = NOWHERE
    verdict = judge(zone, task, side, ban, attacker, defender, room)
    if verdict != 0:
        children[level, child, PN] = 0 if verdict == PROVEN else INFINITE
        children[level, child, DN] = INFINITE if verdict == PROVEN else 0
        return
    if levels[level, TAKEN] + children[level, child, TOOK] > 0:
        above = met(levels, sets, level, 1 - side, ban, attacker, defender)
        if above >= 0:
            children[level, child, PN] = INFINITE
            children[level, child, DN] = 0
            children[level, child, LEAST] = above
            return
    at = find(table, attacker, defender, turn_of(1 - side, ban), way)
    if at < 0:
        children[level, child, PN] = 1
        children[level, child, DN] = 1
        return
    children[level, child, PN] = proof_number(table[at + NUMBERS])
    children[level, child, DN] = disproof_number(table[at + NUMBERS])
    if kind_of(table[at + INFO]) == ON_THIS_WAY:
        children[level, child, LEAST] = least_of(table[at + INFO])


@part
def judge(
    zone: Words,
    task: Ints,
    side: Int,
    ban: Int,
    attacker: np.uint64,
    defender: np.uint64,
    room: Words,
) -> Int:
    """Return PROVEN, DISPROVEN or 0 for a position that `side` has just made.

    The target is gone, or in atari with the attacker to move and no ban on its last liberty, or it
    lives unconditionally.
    """
    capturing = task[GOAL] == CAPTURE
    if side == ATTACKER:
        if defender & zone[TARGET] == ZERO:
            return PROVEN if capturing else DISPROVEN
        return 0
    liberties = target_liberties(zone, attacker, defender)
    if liberties & (liberties - ONE) == ZERO:
        if ban == NO_BAN or bit(ban) != liberties:
            return PROVEN if capturing else DISPROVEN
        return 0
    if lives(zone, attacker, defender, room):
        return DISPROVEN if capturing else PROVEN
    return 0


@part
def met(
    levels: Ints,
    sets: Words,
    level: Int,
    side: Int,
    ban: Int,
    attacker: np.uint64,
    defender: np.uint64,
) -> Int:
    """Return the level at which a position stands on the way, -1 where it does not."""
    for above in range(level, -1, -1):
        same = sets[above, OF_ATTACKER] == attacker and sets[above, OF_DEFENDER] == defender
        if same and levels[above, SIDE] == side and levels[above, BAN] == ban:
            return above
    return -1


