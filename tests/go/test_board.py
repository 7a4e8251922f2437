"""The board against sgfmill's, and what it says of single positions; test_rules has plain rules."""

import random
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from sgfmill.boards import Board as SgfmillBoard

from miai_go.kernels import FAMILY, rules
from miai_go.kernels.rules import point_of, put
from miai_go.rules import chains
from miai_go.rules.board import BLACK, EMPTY, WHITE, Board, BoardError, IllegalPointError
from miai_go.rules.coordinates import vertex
from miai_go.rules.playouts import Playouts

Stones = tuple[int, ...]


def flat(board: Board) -> Stones:
    return tuple(int(stone) for stone in board.stones().ravel())


@pytest.mark.parametrize(("size", "games"), [(5, 40), (9, 20), (13, 6), (19, 4), (25, 2)])
def test_random_games_follow_sgfmill(size: int, games: int) -> None:
    for seed in range(games):
        rng = random.Random(f"{size} {seed}")
        board, other = Board(size), SgfmillBoard(size)
        for ply in range(2 * size * size):
            color, name = ply % 2, "bw"[ply % 2]
            legal = board.legal_points(color)
            if len(legal) == 0:
                break
            point = int(rng.choice(legal))
            ko = other.play(*divmod(point, size), name)
            board.play(color, point)
            assert board.ko_point == (ko and ko[0] * size + ko[1])
        expected = [{None: 0, "b": 1, "w": 2}[stone] for row in other.board for stone in row]
        assert list(flat(board)) == expected
        assert board.area_score() == other.area_score()


def test_points_are_numbered_from_the_lower_left() -> None:
    board = Board(9)
    board.play(BLACK, 0)
    board.play(WHITE, 8)
    assert board.stones()[0, 0] == 1
    assert board.stones()[0, 8] == 2
    assert [vertex(p, 9) for p in (0, 7, 8, 80, 81)] == ["A1", "H1", "J1", "J9", "pass"]


def test_chains_count_their_stones() -> None:
    """The heuristics of playouts and patterns read these counts."""
    rng, merged = random.Random(5), 0
    for size in (3, 5, 9):
        for _ in range(20):
            board, color = Board(size), BLACK
            for _ in range(2 * size * size):
                points = board.legal_points(color).tolist()
                if points:
                    board.play(color, rng.choice(points))
                color = 1 - color
            for point in np.flatnonzero(board.stones()).tolist():
                chain = int(board.words[cast(Any, rules.point_of).py_func(board.words, point)])
                stones = int(board.words[chain + rules.CHAIN_INFO]) % rules.LIBERTY
                assert stones == len(board.group_at(point))
                merged += stones > 1
    assert merged > 100


def test_simple_ko_lasts_one_move_and_binds_only_the_player_whose_stone_was_taken() -> None:
    ko = [[0, 1, 2, 0, 0], [1, 0, 1, 2, 0], [0, 1, 2, 0, 0], [0] * 5, [0] * 5]
    board, inside, taken = Board.from_stones(ko), 6, 7
    board.play(WHITE, inside)
    assert board.ko_point == taken
    assert not board.is_legal(BLACK, taken)
    assert board.is_legal(WHITE, taken)
    with pytest.raises(IllegalPointError, match="Black may not play at C2: it would retake the ko"):
        board.play(BLACK, taken)
    board.play(BLACK, board.size**2)
    assert board.ko_point is None
    assert board.is_legal(BLACK, taken)


def test_set_up_keeps_stones_and_refuses_chains_without_liberties() -> None:
    rng = random.Random(5)
    kept = refused = 0
    for _ in range(400):
        size = rng.randrange(1, 6)
        stones = tuple(rng.choice([0, 1, 1, 2, 2]) for _ in range(size * size))
        array = np.array(stones, np.int8).reshape(size, size)
        groups = {p: chains.chain_at(stones, p, size) for p in np.flatnonzero(array).tolist()}
        taken = [p for p, chain in groups.items() if not chains.liberties_of(stones, chain, size)]
        assert chains.captured_stone(array.ravel(), size) == min(taken, default=None)
        if taken:
            with pytest.raises(BoardError, match="without a liberty"):
                Board.from_stones(array)
            refused += 1
        else:
            assert flat(Board.from_stones(array)) == stones
            kept += 1
    assert kept > 50
    assert refused > 50


def test_bad_input_is_named() -> None:
    for size in (0, 26, -1):
        with pytest.raises(BoardError, match=str(size)):
            Board(size)
    board = Board(5)
    with pytest.raises(BoardError, match="no point 26"):
        board.is_legal(BLACK, 26)
    with pytest.raises(BoardError, match="no player 2"):
        board.is_legal(2, 0)
    with pytest.raises(BoardError, match="shape"):
        Board.from_stones([[0, 1]])
    with pytest.raises(BoardError, match="must be"):
        Board.from_stones([[3]])
    board.play(BLACK, 7)
    with pytest.raises(IllegalPointError, match="White may not play at C2: the point is occupied"):
        board.play(WHITE, 7)


# -- numbers of legal positions, as published by Tromp (The Number of Legal Go Positions, 2016) ----


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


# -- chains and liberties of arrays, against those of the compiled board ---------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_chains_and_liberties_are_those_of_the_board(size: int) -> None:
    board = Board(size)
    for ply, (color, point) in enumerate(Playouts(size, seed=size).play(board.copy(), BLACK)):
        board.play(color, point)
        if ply % 3:
            continue
        stones = board.stones().reshape(-1)
        assert chains.captured_stone(stones, size) is None
        for start in np.flatnonzero(stones != EMPTY).tolist():
            chain = chains.chain_at(stones, start, size)
            assert sorted(chain) == board.group_at(start).tolist()
            liberties = sorted(chains.liberties_of(stones, chain, size))
            assert liberties == board.liberties(start).tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_diagonals_are_the_points_one_step_away_in_both_directions(size: int) -> None:
    for point in range(size * size):
        near = {
            other
            for other in range(size * size)
            if abs(other // size - point // size) == 1 == abs(other % size - point % size)
        }
        assert list(chains.diagonals(point, size)) == sorted(near)


@pytest.mark.parametrize(
    ("rows", "point", "filled"),
    [
        # In the middle one diagonal of four may be hostile, at the edge none.
        (". . . . ./. . X . ./. X . X ./. . X . ./. . . . .", 12, True),
        (". . . . ./. . . . ./. X . X ./. . X . ./. . . . .", 12, False),  # a neighbour is empty
        (". . . . ./. O X . ./. X . X ./. . X . ./. . . . .", 12, True),
        (". . . . ./. O X O ./. X . X ./. . X . ./. . . . .", 12, False),
        (". . . . ./. O X . ./. X . X ./. . X O ./. . . . .", 12, False),
        (". . X . ./. . X . ./. X . X ./. . X . ./. . . . .", 12, True),
        (". X ./X X ./. . .", 0, True),
        (". X ./X . ./. . .", 0, True),
        (". X ./X O ./. . .", 0, False),
        ("X . X/. X ./. . .", 1, True),
        ("X . X/O X ./. . .", 1, False),
    ],
)
def test_an_eye_has_few_hostile_diagonals(rows: str, point: int, filled: bool) -> None:
    stones = np.array([".XO".index(mark) for mark in rows.replace("/", " ").split()])
    assert chains.fills_eye(stones, point, BLACK + 1) == filled
    assert chains.fills_eye((3 - stones) % 3, point, WHITE + 1) == filled


def test_points_fall_into_connected_parts() -> None:
    points = [0, 1, 4, 8, 3]
    parts = chains.connected_parts(points, lambda point: chains.neighbours(point, 3))
    assert sorted(map(sorted, parts)) == [[0, 1, 3, 4], [8]]
