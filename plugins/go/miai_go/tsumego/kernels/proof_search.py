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
It then records the highest level on the path that it depends on (`DEPENDS`), and holds only below
that level; if this is the node itself or below it, the disproof holds everywhere.
"""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest
from miai_go.tsumego.kernels import kernel, part
from miai_go.tsumego.kernels.guide import Guide, advise
from miai_go.tsumego.kernels.judging import judge, outlook
from miai_go.tsumego.kernels.stack import (
    AT,
    BAN,
    BEGUN,
    CHILD_BAN,
    COUNT,
    DEPENDS,
    DISPROVEN,
    DN,
    ENTERED,
    INFINITE,
    LEVEL,
    MADE,
    MASTER,
    MAX_SUM,
    MOVE,
    NEW,
    NOWHERE,
    OF_ATTACKER,
    OF_DEFENDER,
    PATH,
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
    SearchArrays,
    level_of,
    path_below,
    reaches,
)
from miai_go.tsumego.kernels.stones import (
    ATTACKER,
    NO_BAN,
    ONE,
    PASS,
    POINTS,
    U64,
    ZERO,
    Int,
    ban_after,
    bit,
    captured_by,
    has_liberty,
)
from miai_go.tsumego.kernels.transpositions import (
    ESTIMATE,
    INFO,
    NUMBERS,
    ON_THIS_PATH,
    SOLVED,
    Result,
    depends_of,
    disproof_number,
    find,
    keep,
    kind_of,
    proof_number,
    turn_of,
)


@part
def expand(s: SearchArrays, level: Int) -> None:
    """List the children of a node, with their numbers so far.

    A pass comes last. The stayer may always pass; the reacher only to lift a ban, since any other
    pass would be answered by a pass.
    """
    side, ban = s.levels[level, SIDE], s.levels[level, BAN]
    attacker, defender = s.sets[level, OF_ATTACKER], s.sets[level, OF_DEFENDER]
    own, other = (attacker, defender) if side == ATTACKER else (defender, attacker)
    moves = s.zone[POINTS] & ~(own | other)
    if ban != NO_BAN:
        moves &= ~bit(ban)
    path = path_below(s, level)
    count = np.int64(0)
    # Every empty point that is not banned, in the order of the bits.
    while moves:
        p = lowest(moves)
        moves &= moves - ONE
        mine = own | bit(p)
        captured = captured_by(s.zone, side, mine, other, p)
        theirs = other & ~captured
        # Suicide is illegal.
        if captured == ZERO and not has_liberty(s.zone, side, mine, theirs, p):
            continue
        # A ban is part of the position: the same stones without it are another node.
        next_ban = ban_after(s.zone, side, mine, theirs, p, captured)
        if s.task[MASTER] == 1 - side:
            next_ban = NO_BAN  # the ko master retakes every ko at once
        s.children[level, count, MOVE] = p
        s.children[level, count, CHILD_BAN] = next_ban
        s.children[level, count, TOOK] = np.int64(captured != ZERO)
        s.child_sets[level, count, OF_ATTACKER] = mine if side == ATTACKER else theirs
        s.child_sets[level, count, OF_DEFENDER] = theirs if side == ATTACKER else mine
        look(s, level, count, path)
        count += 1
    # The pass comes last, so that a move with equal numbers is preferred to it.
    if ban != NO_BAN or not reaches(s, side):
        s.children[level, count, MOVE] = PASS
        s.children[level, count, CHILD_BAN] = NO_BAN
        s.children[level, count, TOOK] = 0
        s.child_sets[level, count, OF_ATTACKER] = attacker
        s.child_sets[level, count, OF_DEFENDER] = defender
        look(s, level, count, path)
        count += 1
    s.levels[level, COUNT] = count
    # Positions are counted when they are made, as a recursive search counts its calls.
    s.tally[MADE] += count


@part
def look(s: SearchArrays, level: Int, child: Int, path: np.uint64) -> None:
    """Set a child's numbers: decided statically, repeated on the path, or from the table."""
    side, row = s.levels[level, SIDE], s.children[level, child]
    attacker = s.child_sets[level, child, OF_ATTACKER]
    defender = s.child_sets[level, child, OF_DEFENDER]
    ban = row[CHILD_BAN]
    row[DEPENDS] = NOWHERE
    row[NEW] = 0
    # The board alone decides most positions near the end, more cheaply than a look at the table.
    verdict = judge(s, side, ban, attacker, defender)
    if verdict != 0:
        row[PN] = 0 if verdict == PROVEN else INFINITE
        row[DN] = INFINITE if verdict == PROVEN else 0
        return
    # Stones only come back after a capture, so a line without one cannot repeat a position.
    if s.levels[level, TAKEN] + row[TOOK] > 0:
        above = level_of(s, level, 1 - side, ban, attacker, defender)
        # Play without end is a success of the stayer, on this path.
        if above >= 0:
            row[PN] = INFINITE
            row[DN] = 0
            row[DEPENDS] = above
            return
    entry = find(s.table, attacker, defender, turn_of(1 - side, ban), path)
    if entry < 0:
        # A capture takes as long as the outlook says; a refutation may take one good move.
        row[PN] = outlook(s, attacker, defender)
        row[DN] = 1
        row[NEW] = 1
        return
    row[PN] = proof_number(s.table[entry + NUMBERS])
    row[DN] = disproof_number(s.table[entry + NUMBERS])
    if kind_of(s.table[entry + INFO]) == ON_THIS_PATH:
        row[DEPENDS] = depends_of(s.table[entry + INFO])


@part
def weigh(s: SearchArrays, level: Int) -> tuple[Int, Int, Int, Int, Int]:
    """Return a node's numbers, the level its disproof depends on, and its best child.

    Returns:
      proof number, disproof number, DEPENDS of a disproof, best child, and the deciding number of
      the second best.
    """
    depends = NOWHERE
    if reaches(s, s.levels[level, SIDE]):
        pn, dn, best, second = minimum_and_sum(s, level, PN, DN)
        # All children are refuted, so a disproof leans on what any of theirs leans on.
        for i in range(s.levels[level, COUNT]):
            depends = min(depends, s.children[level, i, DEPENDS])
        return pn, dn, depends, best, second
    dn, pn, best, second = minimum_and_sum(s, level, DN, PN)
    if dn == 0:
        # One refutation is enough; the one that leans on the lowest level holds most widely.
        best = surest(s, level)
        depends = s.children[level, best, DEPENDS]
    return pn, dn, depends, best, second


@part
def minimum_and_sum(
    s: SearchArrays, level: Int, deciding: Int, opposing: Int
) -> tuple[Int, Int, Int, Int]:
    """Return the minimum of one number, the sum of the other, the best child, the second minimum.

    Among children with equal numbers, the one with the smallest opposing number is best.
    """
    minimum, second, total = INFINITE, INFINITE, np.int64(0)
    best, tie = np.int64(-1), INFINITE
    for i in range(s.levels[level, COUNT]):
        number, other = s.children[level, i, deciding], s.children[level, i, opposing]
        # One decided child decides the node, whatever the others are.
        if number == 0:
            return number, INFINITE, np.int64(i), INFINITE
        total += other
        if number < minimum or (number == minimum and other < tie):
            second = minimum
            minimum, best, tie = number, np.int64(i), other
        elif number < second:
            second = number
    # A position that is reached in several ways is counted several times, so a sum may overstate;
    # it must not pass for infinity.
    return minimum, min(total, MAX_SUM), best, second


@part
def surest(s: SearchArrays, level: Int) -> Int:
    """Return the disproven child whose disproof depends on the lowest level."""
    best = np.int64(-1)
    for i in range(s.levels[level, COUNT]):
        if s.children[level, i, DN] == 0 and (
            best < 0 or s.children[level, i, DEPENDS] > s.children[level, best, DEPENDS]
        ):
            best = np.int64(i)
    return best


@kernel
def search(s: SearchArrays, guide: Guide) -> int:
    """Continue the search until the root is decided or STOP positions have been made.

    At the start the root is in row 0 of `levels` and `sets`, its COUNT -1, its thresholds infinite.

    Returns:
      PAUSED, PROVEN, DISPROVEN, or TOO_DEEP if there are not enough levels.
    """
    # A loop over rows of arrays instead of recursion, so that it can pause at any node and go on
    # later.
    level = s.tally[LEVEL]
    while True:
        # Expand a node at the first visit.
        if s.levels[level, COUNT] < 0:
            expand(s, level)
            if guide.asked[0] != 0:
                advise(s, guide, level)
        pn, dn, depends, best, second = weigh(s, level)
        # Back up when the node is decided, or another branch has become more promising.
        solved = pn == 0 or dn == 0
        if solved or pn >= s.levels[level, TP] or dn >= s.levels[level, TD]:
            store(s, level, pn, dn, depends, best)
            if level == 0:
                s.tally[LEVEL] = 0
                s.levels[0, AT] = best
                return PROVEN if pn == 0 else DISPROVEN
            level -= 1
            # The parent weighs its children again with the new numbers of this one.
            child = s.levels[level, AT]
            s.children[level, child, PN] = pn
            s.children[level, child, DN] = dn
            s.children[level, child, DEPENDS] = depends
            continue
        # The path stays in the arrays, so that the next call continues here.
        if s.tally[MADE] >= s.tally[STOP]:
            s.tally[LEVEL] = level
            return PAUSED
        if level + 1 >= len(s.levels):
            s.tally[LEVEL] = level
            return TOO_DEEP
        # Descend into the most proving child.
        descend(s, level, pn, dn, best, second)
        level += 1


@kernel
def list_children(s: SearchArrays) -> int:
    """List the children of the root in row 0 of `children` and `child_sets`; return how many."""
    expand(s, np.int64(0))
    count: int = s.levels[0, COUNT]
    return count


@kernel
def settled(s: SearchArrays) -> Int:
    """Return PROVEN or DISPROVEN for a root that is decided statically, 0 for any other.

    The root is in row 0 of `levels` and `sets`.
    """
    last_mover, ban = 1 - s.levels[0, SIDE], s.levels[0, BAN]
    return judge(s, last_mover, ban, s.sets[0, OF_ATTACKER], s.sets[0, OF_DEFENDER])


@part
def descend(s: SearchArrays, level: Int, pn: Int, dn: Int, best: Int, second: Int) -> None:
    """Make the best child the next level, with its thresholds."""
    below = level + 1
    side, child = s.levels[level, SIDE], s.children[level, best]
    s.levels[level, AT] = best
    s.levels[below, SIDE] = 1 - side
    s.levels[below, BAN] = child[CHILD_BAN]
    s.levels[below, COUNT] = -1
    s.levels[below, BEGUN] = s.tally[MADE]
    s.levels[below, TAKEN] = s.levels[level, TAKEN] + child[TOOK]
    s.sets[below, OF_ATTACKER] = s.child_sets[level, best, OF_ATTACKER]
    s.sets[below, OF_DEFENDER] = s.child_sets[level, best, OF_DEFENDER]
    s.sets[below, PATH] = path_below(s, level)
    # A quarter beyond the second best: at its exact number the search would leave the child for
    # its sibling and come back again and again, rebuilding both subtrees from the table.
    limit = min(second + (second >> 2) + 1, INFINITE)
    # The number that is a minimum is limited by the second best. The other is a sum: the child may
    # use what its siblings leave of the node's own threshold.
    if reaches(s, side):
        s.levels[below, TP] = min(s.levels[level, TP], limit)
        s.levels[below, TD] = min(s.levels[level, TD] - dn + child[DN], INFINITE)
    else:
        s.levels[below, TD] = min(s.levels[level, TD], limit)
        s.levels[below, TP] = min(s.levels[level, TP] - pn + child[PN], INFINITE)
    s.tally[ENTERED] += 1


@part
def store(s: SearchArrays, level: Int, pn: Int, dn: Int, depends: Int, best: Int) -> None:
    """Store the result of a node in the table."""
    # A node without moves has no best child.
    move = s.children[level, best, MOVE] if best >= 0 else PASS
    work = U64(s.tally[MADE] - s.levels[level, BEGUN])
    kind = SOLVED if pn == 0 or dn == 0 else ESTIMATE
    # A disproof that leans on a position above this node holds for this path alone.
    if dn == 0 and depends < level:
        kind, work = ON_THIS_PATH, s.sets[level, PATH]
    turn = turn_of(s.levels[level, SIDE], s.levels[level, BAN])
    attacker, defender = s.sets[level, OF_ATTACKER], s.sets[level, OF_DEFENDER]
    keep(s.table, attacker, defender, turn, Result(kind, move, pn, dn, work, depends))
