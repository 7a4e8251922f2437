"""Depth-first proof-number search for the question whether a goal can be forced.

The *reacher* wants to reach the goal, the *stayer* to keep it from ever being reached. With the
goal `CAPTURE` the attacker reaches by taking the target; with `LIFE` the defender reaches by
unconditional life (see `life`). What never ends is the stayer's: a position that was met before on
the way counts for it.

Nodes of the reacher are proven by one child, those of the stayer by all: a node's proof number is
the least of the children's at the reacher's nodes, their sum at the stayer's, and its disproof
number the other way round. The search goes down into the child that decides most while the numbers
stay below thresholds (Nagai 2002), a quarter above those of the second best (Pawlewicz and Lew
2007). A new position begins with a proof number that grows with the target's liberties and with the
points where the defender could have an eye yet.

A proof never rests on the way to a node, since meeting a position again counts against it. A
disproof may: it then tells how high on the way the position stands that it met (`LEAST`), and holds
only below that; where the position is the node itself or below it, it holds everywhere.

The stack of levels is arrays, so that the search can be left at any node and gone on with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest, popcount
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.guide import ASKED, WEIGHT, Guide, safety, scaled
from miai_go.tsumego.kernels.life import lives
from miai_go.tsumego.kernels.stones import (
    ATTACKER,
    NO_BAN,
    ONE,
    OPEN,
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
LEVEL, MADE, ENTERED, STOP = 0, 1, 2, 3
TALLY_WORDS = 4

# Columns of `levels`, (levels, LEVEL_WORDS): one node on the way.
SIDE, BAN, COUNT, TP, TD, AT, BEGUN, TAKEN = range(8)
LEVEL_WORDS = 8

# Columns of `sets`, (levels, SET_WORDS) of uint64: its stones, and the digest of the way to it.
OF_ATTACKER, OF_DEFENDER, WAY = range(3)
SET_WORDS = 3

# Columns of `children`, (levels, CHILDREN, CHILD_WORDS), and of `child_sets`, (.., .., 2).
MOVE, PN, DN, LEAST, CHILD_BAN, TOOK, NEW = range(7)
CHILD_WORDS = 7
CHILDREN = 64

INFINITE = np.int64(1 << 30)
NOWHERE = np.int64(0xFFFF)
"""What a disproof that holds everywhere rests on: a level below all."""

GUIDED_DN = 4.0
"""Disproof number of a new position of which a network is not sure at all."""

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
    guide: Guide,
) -> int:
    """Search on until the root is proven or disproven, or STOP positions have been made.

    To begin, the root is in row 0 of `levels` and `sets`, its COUNT -1, its thresholds infinite.

    Returns:
      PAUSED, PROVEN, DISPROVEN, or TOO_DEEP where there are not enough levels.
    """
    level = tally[LEVEL]
    while True:
        if levels[level, COUNT] < 0:
            expand(zone, task, table, tally, levels, sets, children, child_sets, room, level)
            if guide.settings[ASKED] != 0:
                advise(zone, task, guide, levels, children, child_sets, level)
        pn, dn, least, best, second = weigh(task, levels, children, level)
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
        if tally[MADE] >= tally[STOP]:
            tally[LEVEL] = level
            return PAUSED
        if level + 1 >= len(levels):
            tally[LEVEL] = level
            return TOO_DEEP
        descend(task, tally, levels, sets, children, child_sets, level, pn, dn, best, second)
        level += 1


@kernel
def list_children(
    zone: Words,
    task: Ints,
    table: Words,
    tally: Ints,
    levels: Ints,
    sets: Words,
    children: Ints,
    child_sets: Words,
    room: Words,
) -> int:
    """List the children of the root in row 0 of `children` and `child_sets`; return how many."""
    expand(zone, task, table, tally, levels, sets, children, child_sets, room, np.int64(0))
    count: int = levels[0, COUNT]
    return count


@kernel
def settled(zone: Words, task: Ints, levels: Ints, sets: Words, room: Words) -> Int:
    """Return PROVEN or DISPROVEN for a root that is decided as it stands, 0 for any other.

    The root is in row 0 of `levels` and `sets`.
    """
    made_by = 1 - levels[0, SIDE]
    ban = levels[0, BAN]
    attacker, defender = sets[0, OF_ATTACKER], sets[0, OF_DEFENDER]
    return judge(zone, task, made_by, ban, attacker, defender, room)


@part
def reaches(task: Ints, side: Int) -> bool:
    """Say whether a side is the reacher."""
    return bool((side == ATTACKER) == (task[GOAL] == CAPTURE))


@part
def weigh(task: Ints, levels: Ints, children: Ints, level: Int) -> tuple[Int, Int, Int, Int, Int]:
    """Return a node's numbers, what its disproof rests on, and its best child.

    Returns:
      proof number, disproof number, LEAST of a disproof, best child, and the deciding number of the
      second best.
    """
    if reaches(task, levels[level, SIDE]):
        pn, dn, best, second = least_and_sum(levels, children, level, PN, DN)
        return pn, dn, rests_of_all(levels, children, level), best, second
    dn, pn, best, second = least_and_sum(levels, children, level, DN, PN)
    rests = NOWHERE
    if dn == 0:
        best = surest(levels, children, level)
        rests = children[level, best, LEAST]
    return pn, dn, rests, best, second


@part
def least_and_sum(
    levels: Ints, children: Ints, level: Int, deciding: Int, opposing: Int
) -> tuple[Int, Int, Int, Int]:
    """Return the least number of one kind, the sum of the other, the best child, the second least.

    Among children of the same number the one of the least opposing number is best.
    """
    least, second, total = INFINITE, INFINITE, np.int64(0)
    best, tie = np.int64(-1), INFINITE
    for i in range(levels[level, COUNT]):
        number, other = children[level, i, deciding], children[level, i, opposing]
        if number == 0:
            return number, INFINITE, np.int64(i), INFINITE
        total += other
        if number < least or (number == least and other < tie):
            second = least
            least, best, tie = number, np.int64(i), other
        elif number < second:
            second = number
    return least, min(total, INFINITE), best, second


@part
def rests_of_all(levels: Ints, children: Ints, level: Int) -> Int:
    """Return the highest level that the disproofs of any of the children rest on."""
    rests = NOWHERE
    for i in range(levels[level, COUNT]):
        rests = min(rests, children[level, i, LEAST])
    return rests


@part
def surest(levels: Ints, children: Ints, level: Int) -> Int:
    """Return the disproven child whose disproof rests on the lowest level."""
    best = np.int64(-1)
    for i in range(levels[level, COUNT]):
        if children[level, i, DN] == 0 and (
            best < 0 or children[level, i, LEAST] > children[level, best, LEAST]
        ):
            best = np.int64(i)
    return best


@part
def descend(
    task: Ints,
    tally: Ints,
    levels: Ints,
    sets: Words,
    children: Ints,
    child_sets: Words,
    level: Int,
    pn: Int,
    dn: Int,
    best: Int,
    second: Int,
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
        levels[below, TD] = min(levels[level, TD] - dn + children[level, best, DN], INFINITE)
    else:
        levels[below, TD] = min(levels[level, TD], limit)
        levels[below, TP] = min(levels[level, TP] - pn + children[level, best, PN], INFINITE)
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
    children[level, child, NEW] = 0
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
        children[level, child, PN] = outlook(zone, task, attacker, defender)
        children[level, child, DN] = 1
        children[level, child, NEW] = 1
        return
    children[level, child, PN] = proof_number(table[at + NUMBERS])
    children[level, child, DN] = disproof_number(table[at + NUMBERS])
    if kind_of(table[at + INFO]) == ON_THIS_WAY:
        children[level, child, LEAST] = least_of(table[at + INFO])


@part
def advise(
    zone: Words,
    task: Ints,
    guide: Guide,
    levels: Ints,
    children: Ints,
    child_sets: Words,
    level: Int,
) -> None:
    """Let the network say how hard the new children of a node are to prove and to disprove."""
    after = 1 - levels[level, SIDE]
    for i in range(levels[level, COUNT]):
        if children[level, i, NEW] == 0:
            continue
        attacker = child_sets[level, i, OF_ATTACKER]
        defender = child_sets[level, i, OF_DEFENDER]
        sure = safety(zone, guide, attacker, defender, after)
        if task[GOAL] == LIFE:
            sure = -sure
        factor = 2.0 ** (guide.settings[WEIGHT] * sure)
        children[level, i, PN] = scaled(np.float64(children[level, i, PN]), factor)
        children[level, i, DN] = scaled(GUIDED_DN, 1 / factor)


@part
def outlook(zone: Words, task: Ints, attacker: np.uint64, defender: np.uint64) -> Int:
    """Return the proof number of a position that nothing is known of."""
    if task[GOAL] == LIFE:
        return np.int64(1)
    eyes = popcount(eye_points(zone, attacker, defender))
    hard: np.int64 = 1 + eyes + 2 * popcount(target_liberties(zone, attacker, defender))
    return hard


@part
def eye_points(zone: Words, attacker: np.uint64, defender: np.uint64) -> np.uint64:
    """Return the points where the defender could have an eye yet."""
    safe = attacker & zone[OPEN]
    edge = safe
    rim = ZERO
    while edge:
        near = zone[lowest(edge)]
        edge &= edge - ONE
        rim |= near
        new = near & attacker & ~safe
        safe |= new
        edge |= new
    eyes: np.uint64 = zone[POINTS] & ~(defender | safe | rim | zone[OPEN])
    return eyes


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
    lives unconditionally. After a move of the attacker's that last is asked only where life is the
    goal: it must be seen there, since who lives and has nothing left but eyes may not pass.
    """
    capturing = task[GOAL] == CAPTURE
    if side == ATTACKER:
        if defender & zone[TARGET] == ZERO:
            return PROVEN if capturing else DISPROVEN
        if capturing:
            return 0
    else:
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
