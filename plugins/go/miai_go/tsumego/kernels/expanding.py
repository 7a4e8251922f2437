"""The children of a node, with all that is known of them before they are gone down into."""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest
from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.judging import judge, outlook
from miai_go.tsumego.kernels.stack import (
    BAN,
    CHILD_BAN,
    COUNT,
    DN,
    INFINITE,
    LEAST,
    MADE,
    MASTER,
    MOVE,
    NEW,
    NOWHERE,
    OF_ATTACKER,
    OF_DEFENDER,
    PN,
    PROVEN,
    SIDE,
    TAKEN,
    TOOK,
    Ints,
    met,
    reaches,
    way_below,
)
from miai_go.tsumego.kernels.stones import (
    ATTACKER,
    NO_BAN,
    ONE,
    PASS,
    POINTS,
    ZERO,
    Int,
    Words,
    bit,
    breathes,
    ko_left,
    taken,
)
from miai_go.tsumego.kernels.table import (
    INFO,
    NUMBERS,
    ON_THIS_WAY,
    disproof_number,
    find,
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
