"""The board against sgfmill's and against rules written as plainly as possible."""

import random
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill.boards import Board as SgfmillBoard

from miai_go.kernels import rules
from miai_go.rules.board import (
    BLACK,
    EMPTY,
    WHITE,
    Board,
    BoardError,
    IllegalPointError,
)
from miai_go.rules.coordinates import vertex

Stones = tuple[int, ...]


class PlainGo:
    """Go by flood fill on a list, straight from the rules, with no state but the stones."""

    def __init__(self, size: int, stones: Stones | None = None) -> None:
        self.size = size
        self.stones: Stones = stones or (EMPTY,) * (size * size)
        self.ko: tuple[int, int] | None = None

    def neighbours(self, point: int) -> Iterator[int]:
        row, column = divmod(point, self.size)
        for r, c in ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)):
            if 0 <= r < self.size and 0 <= c < self.size:
                yield r * self.size + c

    def block(self, stones: Stones, point: int) -> tuple[set[int], set[int]]:
        """Points connected to `point` by its own kind, and the other points that they touch."""
        inside, outside, open_points = {point}, set(), [point]
        while open_points:
            for n in self.neighbours(open_points.pop()):
                if stones[n] != stones[point]:
                    outside.add(n)
                elif n not in inside:
                    inside.add(n)
                    open_points.append(n)
        return inside, outside

    def liberties(self, stones: Stones, point: int) -> set[int]:
        return {n for n in self.block(stones, point)[1] if stones[n] == EMPTY}

    def after(self, color: int, point: int) -> tuple[Stones, set[int], set[int]]:
        """Stones after a move, the hostile stones it takes, and the own ones."""
        mine, theirs = color + 1, 2 - color
        stones = list(self.stones)
        stones[point] = mine
        taken: set[int] = set()
        for n in self.neighbours(point):
            if stones[n] == theirs and not self.liberties(tuple(stones), n):
                taken |= self.block(tuple(stones), n)[0]
        for n in taken:
            stones[n] = EMPTY
        lost: set[int] = set()
        if not self.liberties(tuple(stones), point):
            lost = self.block(tuple(stones), point)[0]
            for n in lost:
                stones[n] = EMPTY
        return tuple(stones), taken, lost

    def legal(self, color: int, *, suicide: bool, ko: bool = True) -> list[int]:
        return [
            point
            for point, stone in enumerate(self.stones)
            if stone == EMPTY
            and not (ko and self.ko == (color, point))
            and (suicide or not self.after(color, point)[2])
        ]

    def play(self, color: int, point: int) -> None:
        self.stones, taken, lost = self.after(color, point)
        self.ko = None
        if len(taken) == 1 and not lost:
            block, _ = self.block(self.stones, point)
            if len(block) == 1 and self.liberties(self.stones, point) == taken:
                self.ko = (1 - color, taken.pop())

    def owners(self) -> list[int]:
        owners = [0] * len(self.stones)
        for point, stone in enumerate(self.stones):
            if stone != EMPTY:
                owners[point] = 3 - 2 * stone
                continue
            touched = {self.stones[n] for n in self.block(self.stones, point)[1]}
            if len(touched) == 1:
                owners[point] = 3 - 2 * touched.pop()
        return owners


def flat(board: Board) -> Stones:
    return tuple(int(stone) for stone in board.stones().ravel())


@pytest.mark.long
@settings(deadline=None)  # the first example compiles
@given(
    st.integers(1, 6).flatmap(
        lambda size: st.tuples(
            st.just(size), st.lists(st.tuples(st.integers(0, 1), st.integers(0, size * size)))
        )
    ),
    st.booleans(),
)
def test_any_sequence_of_moves_follows_the_plain_rules(
    game: tuple[int, list[tuple[int, int]]], suicide: bool
) -> None:
    size, moves = game
    board, plain = Board(size), PlainGo(size)
    for color, point in moves:
        if point == size * size:
            board.play(color, point)
            plain.ko = None
        elif point in plain.legal(color, suicide=suicide):
            board.play(color, point, suicide=suicide)
            plain.play(color, point)
        else:
            before = board.words.copy()
            with pytest.raises(IllegalPointError):
                board.play(color, point, suicide=suicide)
            assert (board.words == before).all()
        assert flat(board) == plain.stones
        assert board.owners().ravel().tolist() == plain.owners()
        assert board.area_score() == sum(plain.owners())
        for p in range(size * size):
            block, _ = plain.block(plain.stones, p)
            held = plain.stones[p] != EMPTY
            assert board.group_at(p).tolist() == (sorted(block) if held else [])
            free = plain.liberties(plain.stones, p) if held else set()
            assert board.liberties(p).tolist() == sorted(free)


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


def parse(diagram: str) -> Board:
    """Read a board drawn like `Board.__str__`, without the coordinates."""
    rows = [row.split() for row in diagram.strip().splitlines()]
    return Board.from_stones([[".XO".index(mark) for mark in row] for row in reversed(rows)])


def at(board: Board, name: str) -> int:
    """Return the point called `name`, which must not need the columns after H."""
    return (int(name[1:]) - 1) * board.size + "ABCDEFGH".index(name[0])


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
    board = parse("""
        . . . . .
        . X O . .
        X . X O .
        . X O . .
        . . . . .
    """)
    inside, taken = at(board, "B3"), at(board, "C3")
    board.play(WHITE, inside)
    assert board.ko_point == taken
    assert not board.is_legal(BLACK, taken)
    assert board.is_legal(WHITE, taken)
    with pytest.raises(IllegalPointError, match="Black may not play at C3: it would retake the ko"):
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
        plain = PlainGo(size, stones)
        possible = all(s == EMPTY or plain.liberties(stones, p) for p, s in enumerate(stones))
        array = np.array(stones, np.int8).reshape(size, size)
        if possible:
            board = Board.from_stones(array)
            assert flat(board) == stones
            assert board.legal_points(BLACK).tolist() == plain.legal(BLACK, suicide=False)
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


def test_a_copy_is_independent() -> None:
    board = Board(5)
    twin = board.copy()
    twin.play(BLACK, 3)
    assert board.hash == 0
    assert board.stones().sum() == 0
