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
points where the defender could have an eye yet, or with numbers that a network foretells. Sums stay
below infinity, which only what is proved has: a sum that reached it, as they may where lines of
play meet again, would be taken for a proof.

A proof never rests on the way to a node, since meeting a position again counts against it. A
disproof may: it then tells how high on the way the position stands that it met (`LEAST`), and holds
only below that; where the position is the node itself or below it, it holds everywhere.
"""

from __future__ import annotations

import numpy as np

from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.expanding import expand
from miai_go.tsumego.kernels.guide import Guide, advise
from miai_go.tsumego.kernels.judging import judge
from miai_go.tsumego.kernels.stack import (
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
    MOVE,
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
    reaches,
    way_below,
)
from miai_go.tsumego.kernels.stones import PASS, U64, Int, Words
from miai_go.tsumego.kernels.table import ESTIMATE, ON_THIS_WAY, SOLVED, keep, turn_of
from miai_go.tsumego.kernels.weighing import weigh


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
    """Return PROVEN or DISPROVEN for a root that is decided as it stands, 0 for any other.

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
