"""Chains and liberties of arrays, against those of the compiled board."""

from __future__ import annotations

import numpy as np
import pytest

from miai_go.rules.board import BLACK, EMPTY, WHITE, Board
from miai_go.rules.chains import (
    captured_stone,
    chain_at,
    connected_parts,
    diagonals,
    fills_eye,
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


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_diagonals_are_the_points_one_step_away_in_both_directions(size: int) -> None:
    for point in range(size * size):
        near = {
            other
            for other in range(size * size)
            if abs(other // size - point // size) == 1 == abs(other % size - point % size)
        }
        assert list(diagonals(point, size)) == sorted(near)


@pytest.mark.parametrize(
    ("rows", "filled"),
    [
        (". . . . ./. . X . ./. X . X ./. . X . ./. . . . .", True),
        (". . . . ./. . . . ./. X . X ./. . X . ./. . . . .", False),  # a neighbour is empty
        (". . . . ./. O X . ./. X . X ./. . X . ./. . . . .", True),  # one diagonal of four
        (". . . . ./. O X O ./. X . X ./. . X . ./. . . . .", False),  # two of four
        (". . . . ./. O X . ./. X . X ./. . X O ./. . . . .", False),
        (". . X . ./. . X . ./. X . X ./. . X . ./. . . . .", True),
    ],
)
def test_an_eye_in_the_middle_may_have_one_hostile_diagonal(rows: str, filled: bool) -> None:
    stones = np.array([".XO".index(mark) for mark in rows.replace("/", " ").split()])
    assert fills_eye(stones, 12, BLACK + 1) == filled
    assert fills_eye((3 - stones) % 3, 12, WHITE + 1) == filled


@pytest.mark.parametrize(
    ("rows", "point", "filled"),
    [
        (". X ./X X ./. . .", 0, True),
        (". X ./X . ./. . .", 0, True),
        (". X ./X O ./. . .", 0, False),  # a corner has one diagonal, an edge two: none hostile
        ("X . X/. X ./. . .", 1, True),
        ("X . X/O X ./. . .", 1, False),
    ],
)
def test_an_eye_at_the_edge_may_have_none(rows: str, point: int, filled: bool) -> None:
    stones = np.array([".XO".index(mark) for mark in rows.replace("/", " ").split()])
    assert fills_eye(stones, point, BLACK + 1) == filled


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
