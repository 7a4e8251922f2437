"""What is held out: whole problems with all that are connected with them, or single positions."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.data.dataset import Positions
from miai_go.tsumego.data.keys import scrambled

By = Literal["problem", "position"]
FOLDS: Final = 5
SPLITS: Final[tuple[By, ...]] = ("problem", "position")


def folds_of(
    positions: Positions, *, folds: int = FOLDS, seed: int = 0, by: By = "problem"
) -> NDArray[np.int64]:
    """Return the fold of each position, int64 of shape (n,), from 0 to `folds` - 1.

    Args:
      by: "problem" keeps problems together that share a position, up to symmetry and colour, and
        all their positions; which fold they are in depends on them and the seed alone. A set that
        grows may connect problems that were not connected, of which some change their fold then.
        "position" draws each position by itself, which leaks: its neighbours of one stone more or
        less are on the other side. It is for comparison.
    """
    if by == "position":
        keys = positions.columns["key"]
    else:
        roots = positions.columns["root"]
        keys = roots[_groups(positions)][positions.columns["problem"]]
    drawn = scrambled(keys ^ scrambled(np.array([seed], np.uint64)))
    return (drawn % np.uint64(folds)).astype(np.int64)


def _groups(positions: Positions) -> NDArray[np.int64]:
    """Return for each problem the one of its group whose first position has the least key."""
    roots = positions.columns["root"]
    leader = list(range(positions.problems))

    def find(problem: int) -> int:
        while leader[problem] != problem:
            leader[problem] = leader[leader[problem]]
            problem = leader[problem]
        return problem

    for a, b in positions.columns["links"].tolist():
        first, second = find(a), find(b)
        if roots[second] < roots[first]:
            first, second = second, first
        leader[second] = first
    return np.array([find(problem) for problem in range(positions.problems)], np.int64)
