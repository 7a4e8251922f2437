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
    KoRule,
    history_key,
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


def split_mix(seed: int, index: int) -> int:
    """SplitMix64 as its paper prints it."""
    mask = 2**64 - 1
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def plain_hash(stones: Stones) -> int:
    key = 0
    for point, stone in enumerate(stones):
        if stone != EMPTY:
            key ^= split_mix(0x243F6A8885A308D3, 2 * point + stone - 1)
    return key


def flat(board: Board) -> Stones:
    return tuple(int(stone) for stone in board.stones().ravel())


def random_play(size: int, seed: int, plies: int, *, suicide: bool) -> None:
    """Play at random on both boards; everything they know must agree before every move."""
    rng = random.Random(seed)
    board, plain = Board(size), PlainGo(size)
    prisoners = [0, 0]
    for ply in range(plies):
        color = rng.randrange(2) if rng.random() < 0.1 else ply % 2
        where = f"size {size} seed {seed} ply {ply}\n{board}"
        legal = plain.legal(color, suicide=suicide)
        assert board.legal_points(color, suicide=suicide).tolist() == legal, where
        assert board.hash == plain_hash(plain.stones), where
        if not legal:
            board.play(color, size * size)
            plain.ko = None
            continue
        point = rng.choice(legal)
        stones, taken, lost = plain.after(color, point)
        assert board.hash_after(color, point) == plain_hash(stones), where
        assert board.play(color, point, suicide=suicide) == len(taken) + len(lost), where
        plain.play(color, point)
        prisoners[color] += len(taken)
        prisoners[1 - color] += len(lost)
        assert flat(board) == plain.stones, where
        assert board.captures == tuple(prisoners), where
        assert board.ko_point == (plain.ko and plain.ko[1]), where


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(("size", "games"), [(1, 3), (2, 200), (3, 200), (4, 80), (5, 40), (7, 12)])
def test_random_games_follow_the_plain_rules(size: int, games: int, suicide: bool) -> None:
    for seed in range(games):
        random_play(size, seed, 3 * size * size, suicide=suicide)


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


@pytest.mark.long
@pytest.mark.parametrize("rule", [KoRule.POSITIONAL, KoRule.SITUATIONAL])
@pytest.mark.parametrize("suicide", [False, True])
def test_superko_is_the_set_of_positions_seen(rule: KoRule, suicide: bool) -> None:
    dropped = 0
    for seed in range(120):
        rng = random.Random(seed)
        size = rng.choice([1, 2, 3, 4])
        board, plain = Board(size), PlainGo(size)
        seen: set[tuple[Stones, int]] = {(plain.stones, BLACK)}
        keys = [history_key(board.hash, BLACK, rule)]
        for ply in range(6 * size * size):
            color = ply % 2
            points = plain.legal(color, suicide=suicide, ko=False)
            if rule == KoRule.POSITIONAL:
                earlier = {stones for stones, _ in seen}
                fresh = [p for p in points if plain.after(color, p)[0] not in earlier]
            else:
                fresh = [p for p in points if (plain.after(color, p)[0], 1 - color) not in seen]
            legal = board.legal_points(color, suicide=suicide, ko=False)
            got = board.without_repeats(color, legal, np.array(keys, np.uint64), rule)
            assert got.tolist() == fresh, f"seed {seed} ply {ply}\n{board}"
            dropped += len(points) - len(fresh)
            point = rng.choice(fresh) if fresh else size * size
            board.play_unchecked(color, point)
            if fresh:
                plain.play(color, point)
            seen.add((plain.stones, 1 - color))
            keys.append(history_key(board.hash, 1 - color, rule))
    assert dropped > 100


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


# Games of each size against OpenSpiel: 10,000 together. On small boards legal moves are compared
# before every move, on large ones before every few.
OPEN_SPIEL_GAMES = {3: 5000, 4: 2000, 5: 1500, 6: 600, 7: 400, 9: 320, 11: 80, 13: 60, 19: 40}


@pytest.mark.long
@pytest.mark.parametrize(("size", "games"), OPEN_SPIEL_GAMES.items())
def test_random_games_follow_open_spiel(size: int, games: int) -> None:
    """OpenSpiel forbids suicide and the simple ko; a repeated position ends its game."""
    pyspiel = pytest.importorskip("pyspiel", reason="pip install open_spiel")
    game = pyspiel.load_game(f"go(board_size={size},komi=0.5)")
    empty = Board(size)
    stride = 1 if size < 9 else 5
    for seed in range(games):
        rng = random.Random(f"{size} {seed}")
        board, state = empty.copy(), game.new_initial_state()
        for ply in range(game.max_game_length()):
            color = state.current_player()
            legal = board.legal_points(color).tolist()
            if ply % stride == 0:
                assert state.legal_actions() == [*legal, size * size], f"{seed} {ply}\n{board}"
            point = rng.choice(legal) if legal and rng.random() < 0.98 else size * size
            state.apply_action(point)
            board.play_unchecked(color, point)
            if state.is_terminal():
                break
        drawn = np.reshape(state.observation_tensor(0), (4, size, size))
        assert (board.stones() == drawn[0] + 2 * drawn[1]).all()
        if state.returns() != [0, 0]:
            winner = 1.0 if board.area_score() > 0 else -1.0
            assert state.returns() == [winner, -winner], f"{seed}\n{board}"


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


def test_snapback() -> None:
    board = parse("""
        . . . . .
        . . . . .
        X X X X .
        O O O X .
        . . O X .
    """)
    corner, thrown = at(board, "A1"), at(board, "B1")
    assert board.play(BLACK, thrown) == 0
    assert board.play(WHITE, corner) == 1
    assert board.ko_point is None
    assert board.play(BLACK, thrown) == 5
    assert board.captures == (5, 1)


def test_the_first_to_move_in_a_seki_is_captured() -> None:
    seki = parse("""
        . . . . . .
        X X X O O O
        X X X O O .
        X O O X O .
        X O . X O .
        X O . X O .
    """)
    shared = [at(seki, "C1"), at(seki, "C2")]
    assert seki.liberties(at(seki, "B1")).tolist() == shared
    assert seki.liberties(at(seki, "D1")).tolist() == shared
    assert seki.owners().ravel()[shared].tolist() == [0, 0]
    for color, stones in ((BLACK, 4), (WHITE, 5)):
        board = seki.copy()
        assert board.play(color, shared[1]) == 0
        assert board.play(1 - color, shared[0]) == stones


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


def positional_and_situational(
    board: Board, color: int, point: int, positions: list[tuple[int, int]]
) -> list[bool]:
    """Say under both superko rules whether `point` is allowed after (hash, to move) positions."""
    answers = []
    for rule in (KoRule.POSITIONAL, KoRule.SITUATIONAL):
        history = [history_key(key, to_move, rule) for key, to_move in positions]
        points = np.array([point], np.int16)
        kept = board.without_repeats(color, points, np.array(history, np.uint64), rule)
        answers.append(len(kept) == 1)
    return answers


def test_sending_two_returning_one() -> None:
    board = parse("""
        . . . . .
        . . . . .
        O O O X .
        O O X X .
        . X . X .
    """)
    start = board.stones()
    positions = [(board.hash, BLACK)]
    for color, name, removed in ((BLACK, "A1", 0), (WHITE, "C1", 2)):
        assert board.play(color, at(board, name)) == removed
        assert board.ko_point is None
        positions.append((board.hash, 1 - color))
    back = at(board, "B1")
    assert board.is_legal(BLACK, back)
    assert positional_and_situational(board, BLACK, back, positions) == [False, True]
    assert board.play(BLACK, back) == 1
    assert board.ko_point is None
    assert (board.stones() == start).all()


def test_triple_ko_comes_back_after_six_moves() -> None:
    blacks = [". X O .", "X . X O", ". X O ."]
    whites = [". X O .", "X O . O", ". X O ."]
    gap = [". . . ."]
    rows = [*blacks, *gap, *whites, *gap, *blacks]
    board = parse("\n".join(row + " ." * 7 for row in rows))
    start = board.hash
    positions = [(start, WHITE)]
    cycle = [(WHITE, "B10"), (BLACK, "C6"), (WHITE, "B2"), (BLACK, "C10"), (WHITE, "B6")]
    for color, name in cycle:
        assert board.play(color, at(board, name)) == 1
        assert board.ko_point is not None
        positions.append((board.hash, 1 - color))
    last = at(board, "C2")
    assert board.is_legal(BLACK, last)
    assert board.hash_after(BLACK, last) == start
    assert positional_and_situational(board, BLACK, last, positions) == [False, False]


def test_suicide_of_several_stones() -> None:
    board = parse("""
        . O . . .
        X O . . .
        X O . . .
        O . . . .
        . . . . .
    """)
    corner = at(board, "A5")
    assert not board.is_legal(BLACK, corner)
    assert corner not in board.legal_points(BLACK)
    assert corner in board.legal_points(BLACK, suicide=True)
    with pytest.raises(IllegalPointError, match="suicide"):
        board.play(BLACK, corner)
    expected = board.hash_after(BLACK, corner)
    assert board.play(BLACK, corner, suicide=True) == 3
    assert board.hash == expected
    assert board.captures == (0, 3)
    assert board.color_at(corner) == EMPTY


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
            assert board.hash == plain_hash(stones)
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
