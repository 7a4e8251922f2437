"""Positions drawn as text."""

from __future__ import annotations

import numpy as np

from miai_go.rules.coordinates import vertex
from miai_go.tsumego.problem_sgf import Problem
from miai_go.tsumego.solver.answer_keys import Fate
from miai_go.tsumego.solver.prover import Master
from miai_go.tsumego.solver.solver import solve
from miai_go.tsumego.zones import Zone

STONES = {".": 0, "X": 1, "O": 2, "T": 2}


def drawn(text: str, *, size: int = 13) -> Problem:
    """Return a problem drawn from its top row on, in the lower left corner of a board.

    X is Black, the attacker, O is White, T a white stone of the target.
    """
    rows = [line.split() for line in text.strip().splitlines()]
    stones = np.zeros((size, size), np.int8)
    target = -1
    for row, cells in enumerate(reversed(rows)):
        for column, cell in enumerate(cells):
            stones[row, column] = STONES[cell]
            if cell == "T":
                target = row * size + column
    return Problem(size, stones.reshape(-1), target)


def second_line(length: int, *, corner: bool, size: int = 19) -> Problem:
    """Return a row of white stones on the second line, walled in without a gap."""
    first = 0 if corner else 4
    stones = np.zeros((size, size), np.int8)
    stones[2, max(first - 1, 0) : first + length + 1] = 1
    stones[:2, first + length] = 1
    if not corner:
        stones[:2, first - 1] = 1
    stones[1, first : first + length] = 2
    return Problem(size, stones.reshape(-1), size + first)


def empty_corner(*, size: int = 13) -> Problem:
    """Return a single stone in a large walled corner, which takes far more than a second."""
    stones = np.zeros((size, size), np.int8)
    stones[:6, 6] = stones[6, :7] = 1
    stones[2, 2] = 2
    return Problem(size, stones.reshape(-1), 2 * size + 2)


def named(points: tuple[int, ...], problem: Problem) -> list[str]:
    return [vertex(point, problem.size) for point in points]


def fate_of(zone: Zone) -> Fate:
    """Prove the fate of the target of a zone."""
    strict, mild = (
        solve(zone, ko_masters=(master,), moves=False, seki=False, seconds=None).status
        for master in (Master.ATTACKER, Master.DEFENDER)
    )
    return Fate(strict, ko=strict != mild)
