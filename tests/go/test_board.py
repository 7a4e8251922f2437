"""The board against sgfmill's, and what it says of single positions; test_rules has plain rules."""

import random
from typing import Any, cast

import numpy as np
import pytest
from sgfmill.boards import Board as SgfmillBoard

from miai_go.kernels import rules
from miai_go.rules.board import BLACK, WHITE, Board, BoardError, IllegalPointError
from miai_go.rules.chains import captured_stone
from miai_go.rules.coordinates import vertex

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
        if captured_stone(array.ravel(), size) is None:
            board = Board.from_stones(array)
            assert flat(board) == stones
            kept += 1
        else:
            with pytest.raises(BoardError, match="without a liberty"):
                Board.from_stones(array)
            refused += 1
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
