"""Numbers of legal positions, as published by Tromp (The Number of Legal Go Positions, 2016)."""

import numpy as np
import pytest
from numpy.typing import NDArray

from miai_go.kernels import FAMILY
from miai_go.kernels.rules import point_of, put
from miai_go.rules.board import Board

PUBLISHED = {1: 1, 2: 57, 3: 12_675, 4: 24_318_165}


@FAMILY.allocating
def count_positions(boards: NDArray[np.uint32], points: int) -> int:
    """Count the ways to fill an empty board, point by point, so that nothing is ever removed.

    A chain without a liberty among the points filled so far has none later, and one whose
    neighbour is not filled yet still has it. `boards` is (points + 1, words), row 0 empty.
    """
    tried = np.zeros(points + 1, np.int64)
    depth = 0
    found = 0
    while depth >= 0:
        if depth == points:
            found += 1
            depth -= 1
            continue
        color = tried[depth]
        tried[depth] += 1
        if color > 2:
            depth -= 1
            continue
        boards[depth + 1] = boards[depth]
        following = boards[depth + 1]
        if color == 0 or put(following, point_of(following, depth), color) == 0:
            depth += 1
            tried[depth] = 0
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_number_of_legal_positions(size: int) -> None:
    boards = np.tile(Board(size).words, (size * size + 1, 1))
    assert count_positions(boards, size * size) == PUBLISHED[size]
