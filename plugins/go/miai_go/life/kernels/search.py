"""Depth-first proof-number search for the question whether a goal can be forced.

The *reacher* wants to reach the goal, the *stayer* to prevent it for ever. With the goal `CAPTURE`
the reacher is the attacker, who captures the target; with `LIFE` it is the defender, who makes
unconditional life (see `judging`). Endless play is a success of the stayer: a position that repeats
on the path counts as disproven.

A node of the reacher is proven by one child, a node of the stayer by all. Its proof number is the
minimum of the children's at the reacher's nodes and their sum at the stayer's; its disproof number
the other way round. The search descends into the most proving child while the numbers stay below
thresholds (Nagai 2002), a quarter above those of the second best (Pawlewicz and Lew 2007). The
initial proof number grows with the target's liberties and the points where the defender could still
have an eye, or comes from a network (see `guide`). Sums stay below infinity, which is reserved for
decided nodes: where lines of play transpose, a sum that reached it would pass for a proof.

A proof never depends on the path to a node, since a repetition counts against it. A disproof may.
It then records the highest level on the path that it depends on (`LEAST`) and holds only below that
level; if this is the node itself or below it, the disproof holds everywhere.
"""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest
from miai_go.life.kernels import kernel, part
from miai_go.life.kernels.guide import Guide, advise
from miai_go.life.kernels.judging import judge, outlook
from miai_go.life.kernels.stack import (
    AT,
    BAN,
    BEGUN,
    CHILD_BAN,
    COUNT,
    DISPROVEN,
    DN,
    ENTERED,
    INFINITE,
    LEAST,
    LEVEL,
    MADE,
    MASTER,
    MOST,
    MOVE,
    NEW,
    NOWHERE,
    OF_ATTACKER,
    OF_DEFENDER,
    PAUSED,
    PN,
    PROVEN,
    SIDE,
    STOP,
    TAKEN,
    TD,
    TOO_DEEP,
    TOOK,
    TP,
    WAY,
    Ints,
    met,
    reaches,
    way_below,
)
from miai_go.life.kernels.stones import (
    ATTACKER,
    NO_BAN,
    ONE,
    PASS,
    POINTS,
    U64,
    ZERO,
    Int,
    Words,
    bit,
    breathes,
    ko_left,
    taken,
)
from miai_go.life.kernels.table import (
    ESTIMATE,
    INFO,
    NUMBERS,
    ON_THIS_WAY,
    SOLVED,
    disproof_number,
    find,
    keep,
    kind_of,
    least_of,
    proof_number,
    turn_of,
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
    """List the children of a node, with their numbers so far.

    A pass comes last. The stayer may always pass; the reacher only to lift a ban, since any other
    pass would be answered by a pass.
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
    """Set a child's numbers: decided statically, repeated on the path, or from the table."""
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
def weigh(task: Ints, levels: Ints, children: Ints, level: Int) -> tuple[Int, Int, Int, Int, Int]:
    """Return a node's numbers, the level its disproof depends on, and its best child.

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
    """Return the minimum of one number, the sum of the other, the best child, the second minimum.

    Among children with equal numbers, the one with the smallest opposing number is best.
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
    return least, min(total, MOST), best, second


@part
def rests_of_all(levels: Ints, children: Ints, level: Int) -> Int:
    """Return the highest level that a disproof of any child depends on."""
    rests = NOWHERE
    for i in range(levels[level, COUNT]):
        rests = min(rests, children[level, i, LEAST])
    return rests


@part
def surest(levels: Ints, children: Ints, level: Int) -> Int:
    """Return the disproven child whose disproof depends on the lowest level."""
    best = np.int64(-1)
    for i in range(levels[level, COUNT]):
        if children[level, i, DN] == 0 and (
            best < 0 or children[level, i, LEAST] > children[level, best, LEAST]
        ):
            best = np.int64(i)
    return best


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
    """Continue the search until the root is decided or STOP positions have been made.

    At the start the root is in row 0 of `levels` and `sets`, its COUNT -1, its thresholds infinite.

    Returns:
      PAUSED, PROVEN, DISPROVEN, or TOO_DEEP if there are not enough levels.
    """
    level = tally[LEVEL]
    while True:
        if levels[level, COUNT] < 0:
            expand(zone, task, table, tally, levels, sets, children, child_sets, room, level)
            if guide.asked[0] != 0:
                advise(zone, guide, levels, children, child_sets, level)
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
    """Return PROVEN or DISPROVEN for a root that is decided statically, 0 for any other.

    The root is in row 0 of `levels` and `sets`.
    """
    made_by = 1 - levels[0, SIDE]
    ban = levels[0, BAN]
    attacker, defender = sets[0, OF_ATTACKER], sets[0, OF_DEFENDER]
    return judge(zone, task, made_by, ban, attacker, defender, room)


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
    """Store the result of a node in the table."""
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
