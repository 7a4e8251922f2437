"""What a node's children make of it: its numbers, its best child, what a disproof rests on."""

from __future__ import annotations

import numpy as np

from miai_go.tsumego.kernels import part
from miai_go.tsumego.kernels.stack import (
    COUNT,
    DN,
    INFINITE,
    LEAST,
    MOST,
    NOWHERE,
    PN,
    SIDE,
    Ints,
    reaches,
)
from miai_go.tsumego.kernels.stones import Int


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
    return least, min(total, MOST), best, second


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
