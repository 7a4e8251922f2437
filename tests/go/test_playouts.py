"""Playouts, replayed move by move on the board and judged by plain definitions."""

import random

import numpy as np
import pytest

from miai_go.rules.board import BLACK, WHITE, Board
from miai_go.rules.chains import chain_at, fills_eye, liberties_of, neighbours
from miai_go.rules.playouts import Playouts


def candidates(board: Board, color: int) -> list[int]:
    """Return the legal points that fill no eye of the player's own."""
    stones = board.stones().ravel()
    return [p for p in board.legal_points(color).tolist() if not fills_eye(stones, p, color + 1)]


def random_position(size: int, seed: int) -> Board:
    rng = random.Random(seed)
    board = Board(size)
    for ply in range(rng.randrange(2 * size * size)):
        moves = candidates(board, ply % 2)
        if moves:
            board.play(ply % 2, rng.choice(moves))
    return board


@pytest.mark.slow
@pytest.mark.parametrize("tactical", [False, True])
@pytest.mark.parametrize(("size", "count"), [(1, 3), (2, 40), (3, 60), (5, 40), (9, 25), (19, 2)])
def test_playouts_follow_their_definition(size: int, count: int, *, tactical: bool) -> None:
    for seed in range(count):
        board = random_position(size, seed)
        to_move = seed % 2
        moves = Playouts(size, seed, tactical=tactical).play(board, to_move)
        result = Playouts(size, seed, tactical=tactical).run(board, to_move, 1, komi=0.5)
        where = f"size {size} seed {seed}\n{board}"
        assert result.mean_moves == len(moves), where
        color = to_move
        for mover, point in moves:
            assert mover == color
            open_points = candidates(board, color)
            if point == size * size:
                assert open_points == [], where
            else:
                assert point in open_points, where
            board.play(color, point)
            color = 1 - color
        if len(moves) < 3 * size * size:
            assert [point for _, point in moves[-2:]] == [size * size] * 2
        assert result.mean_score == board.area_score() - 0.5, where
        assert (result.ownership == board.owners()).all(), where
        assert result.black_wins == (board.area_score() > 0.5)


def test_moves_are_drawn_evenly_also_after_rejections() -> None:
    board = Board.from_stones(
        [[0, 1, 2, 0, 0], [1, 1, 2, 2, 2], [0, 1, 1, 2, 0], [1, 1, 0, 2, 2], [0, 0, 0, 0, 2]]
    )
    for color in (BLACK, WHITE):
        expected = candidates(board, color)
        assert 3 < len(expected) < len(board.legal_points(color))
        player = Playouts(5, 11)
        firsts = [player.play(board, color)[0][1] for _ in range(6000)]
        counts = np.array([firsts.count(point) for point in expected])
        assert counts.sum() == 6000
        even = 6000 / len(expected)
        assert ((counts - even) ** 2 / even).sum() < 30  # chi-square; 99.99 % below 28 for 7 points


def test_a_simple_ko_is_kept_at_the_first_move_and_later() -> None:
    board = Board.from_stones([[0, 1, 2, 0], [1, 0, 1, 2], [0, 1, 2, 0], [0, 0, 0, 0]])
    board.play(WHITE, 5)
    assert board.ko_point == 6
    player = Playouts(4, 2)
    firsts = {player.play(board, BLACK)[0][1] for _ in range(300)}
    assert firsts == set(candidates(board, BLACK))
    assert 6 not in firsts


def test_a_truncated_playout_scores_the_current_area() -> None:
    for seed in range(30):
        board = Board(7)
        player = Playouts(7, seed, limit=20)
        moves = player.play(board, BLACK)
        assert len(moves) == 20
        for color, point in moves:
            board.play(color, point)
        result = Playouts(7, seed, limit=20).run(Board(7), BLACK, 1, komi=0.0)
        assert result.mean_score == board.area_score()
        assert (result.ownership == board.owners()).all()


def test_a_position_decided_by_eyes_stays_decided() -> None:
    stones = np.full((5, 5), 1)
    stones[0, 0] = stones[4, 4] = 0
    result = Playouts(5, 1).run(Board.from_stones(stones), WHITE, 50, komi=24.5)
    assert result.black_wins == 50
    assert result.mean_score == 0.5
    assert result.mean_moves == 2
    assert (result.ownership == 1).all()
    assert result.value(BLACK) == 1
    assert result.value(WHITE) == -1


def test_two_passes_before_the_start_leave_nothing_to_play() -> None:
    result = Playouts(5, 1).run(Board(5), BLACK, 10, komi=0.0, passes=2)
    assert result.mean_moves == 0
    assert result.draws == 10
    assert result.value(BLACK) == 0


def test_a_batch_is_its_single_playouts_one_after_the_other() -> None:
    batch = Playouts(6, 8).run(Board(6), BLACK, 40, komi=3.0)
    player = Playouts(6, 8)
    single = [player.run(Board(6), BLACK, 1, komi=3.0) for _ in range(40)]
    assert batch.black_wins == sum(r.black_wins for r in single)
    assert batch.draws == sum(r.draws for r in single)
    assert batch.mean_score == pytest.approx(np.mean([r.mean_score for r in single]))
    assert np.allclose(batch.ownership, np.mean([r.ownership for r in single], axis=0))


def test_bad_arguments_are_named() -> None:
    player = Playouts(5, 1)
    with pytest.raises(ValueError, match="size 5, not 6"):
        player.run(Board(6), BLACK, 1, komi=0.0)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        player.run(Board(5), BLACK, 0, komi=0.0)
    with pytest.raises(ValueError, match="limit"):
        Playouts(5, 1, limit=0)


def answers(board: Board, color: int, last: int) -> tuple[set[int], bool]:
    """Return every point that may be an answer to the last stone, and whether there must be one."""
    stones, size = board.stones().ravel(), board.size
    playable = set(candidates(board, color))

    def liberties_at(point: int) -> set[int]:
        return liberties_of(stones, chain_at(stones, point, size), size)

    liberties = liberties_at(last)
    if len(liberties) == 1 and liberties <= playable:
        return liberties, True
    found: set[int] = set()
    sure = False
    for own in neighbours(last, size):
        liberties = liberties_at(own)
        if stones[own] != color + 1 or len(liberties) != 1:
            continue
        (way_out,) = liberties
        found.add(way_out)
        sure |= sum(stones[n] == 0 for n in neighbours(way_out, size)) >= 2
        chain = chain_at(stones, own, size)
        for hostile in {n for stone in chain for n in neighbours(stone, size)}:
            if stones[hostile] == 2 - color:
                theirs = liberties_at(hostile)
                if len(theirs) == 1 and theirs <= playable:
                    found |= theirs
                    sure = True
    return found, sure


@pytest.mark.slow
def test_tactical_playouts_answer_atari_but_for_one_time_in_sixteen() -> None:
    asked = {False: 0, True: 0}
    answered = {False: 0, True: 0}
    for seed in range(60):
        for tactical in (False, True):
            board = Board(9)
            last = 81
            for color, point in Playouts(9, seed, tactical=tactical).play(board, BLACK):
                if last < 81 and board.stones().flat[last] == 2 - color:
                    points, sure = answers(board, color, last)
                    asked[tactical] += sure
                    answered[tactical] += sure and point in points
                board.play(color, point)
                last = point
    share = {tactical: answered[tactical] / asked[tactical] for tactical in asked}
    assert asked[True] > 500, asked
    assert 0.92 < share[True] < 0.97, share  # 15 in 16, and some by chance; three deviations
    assert share[False] < 0.4, share
