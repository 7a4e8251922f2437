"""Chains and liberties of arrays, against those of the compiled board."""

from __future__ import annotations

import numpy as np
import pytest

from miai_go.rules.board import BLACK, EMPTY, WHITE, Board
from miai_go.rules.chains import (
    captured_stone,
    chain_at,
    connected_parts,
    liberties_of,
    neighbours,
)
from miai_go.rules.playouts import Playouts


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_chains_and_liberties_are_those_of_the_board(size: int) -> None:
    board = Board(size)
    for ply, (color, point) in enumerate(Playouts(size, seed=size).play(board.copy(), BLACK)):
        board.play(color, point)
        if ply % 3:
            continue
        stones = board.stones().reshape(-1)
        assert captured_stone(stones, size) is None
        for start in np.flatnonzero(stones != EMPTY).tolist():
            chain = chain_at(stones, start, size)
            assert sorted(chain) == board.group_at(start).tolist()
            assert sorted(liberties_of(stones, chain, size)) == board.liberties(start).tolist()


def test_the_lowest_stone_without_a_liberty_is_found() -> None:
    stones = np.zeros(25, np.int8)
    stones[[23, 19]] = BLACK + 1
    stones[[24]] = WHITE + 1
    assert captured_stone(stones, 5) == 24
    stones[18] = BLACK + 1
    assert captured_stone(stones, 5) == 24


def test_points_fall_into_connected_parts() -> None:
    points = [0, 1, 4, 8, 3]
    parts = connected_parts(points, lambda point: neighbours(point, 3))
    assert sorted(map(sorted, parts)) == [[0, 1, 3, 4], [8]]
