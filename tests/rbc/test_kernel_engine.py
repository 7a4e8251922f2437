"""The embedded engine: against brute force, known tactics, its mirror image and itself."""

from __future__ import annotations

import random
import time
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.whole_texts import assert_expected

from miai_rbc.engines.kernel import KernelEngine, KernelParameters
from miai_rbc.engines.protocol import BoardEvaluations
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.bitboards import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import WORDS, play
from miai_rbc.kernels.engine import ROW_WORDS, advance, describe, plant
from miai_rbc.kernels.moves import MAX_MOVES, taken_moves
from miai_rbc.rules.actions import move_name
from miai_rbc.rules.rows import row_of_board, row_of_fen

PAST = 0.0
"""A deadline that has passed: every value is the static one."""

MIDDLE_GAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9"
ENDING = "8/5pk1/4p1p1/3pP2p/3P1P2/6P1/r4K2/1R6 w - - 0 40"


def engine(**parameters: Any) -> KernelEngine:
    return KernelEngine(KernelParameters(**{"table_mb": 1, **parameters}))


def rows_of(*boards: chess.Board) -> Words:
    return np.stack([row_of_board(board) for board in boards])


def best_of(found: BoardEvaluations, index: int = 0) -> str:
    return move_name(int(found.moves[index, 0]))


def random_board(seed: int, *, rights: bool = True) -> chess.Board:
    """Return a board some random pseudo-legal moves from the start, both kings still there."""
    rng = random.Random(seed)
    board = chess.Board()
    if not rights:
        board.castling_rights = chess.BB_EMPTY
    for _ in range(rng.randint(0, 50)):
        moves = [m for m in board.pseudo_legal_moves if board.piece_type_at(m.to_square) != 6]
        if not moves:
            break
        board.push(rng.choice(moves))
    return board


boards = st.integers(0, 10**9).map(random_board)


# -- against brute force --------------------------------------------------------------------------


def negamax(board: chess.Board, depth: int, ply: int, static: KernelEngine) -> int:
    """Return the value that the search must find without quiescence, nothing pruned."""
    enemy = board.king(not board.turn)
    assert enemy is not None
    if board.is_attacked_by(board.turn, enemy):
        return WIN - ply - 1
    moves = list(board.pseudo_legal_moves)
    if depth == 0 or not moves:
        return int(static.evaluate(rows_of(board), deadline=PAST).scores[0])
    best = max(-value_after(board, move, depth, ply, static) for move in moves)
    stalemate = best == -(WIN - ply - 2) and not board.is_check()  # a pass loses nothing
    return negamax(board, 0, ply, static) if stalemate else best


def value_after(board: chess.Board, move: Any, depth: int, ply: int, static: KernelEngine) -> int:
    board.push(move)
    value = negamax(board, depth - 1, ply + 1, static)
    board.pop()
    return value


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        (MIDDLE_GAME, 2),
        (ENDING, 3),
        ("8/P6k/8/8/2pP4/8/8/K7 b - d3 0 1", 3),
        ("7k/5Q2/8/8/8/8/8/K7 b - - 0 1", 3),
        ("7k/8/3Q3K/8/8/8/8/8 w - - 0 1", 3),  # Qd5 is stalemate
    ],
)
def test_every_move_has_its_minimax_value(fen: str, depth: int) -> None:
    board, static, moves = chess.Board(fen), engine(), chess.Board(fen).pseudo_legal_moves
    expected = {move.uci(): -value_after(board, move, depth, 0, static) for move in moves}
    found = engine(depth=depth, quiescence=False).evaluate(rows_of(board), top=len(expected))
    names = [move_name(int(move)) for move in found.moves[0]]
    assert dict(zip(names, found.move_scores[0].tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", range(4))
def test_values_on_random_boards_are_minimax_values(seed: int) -> None:
    board = random_board(seed, rights=False)
    expected = negamax(board, 2, 0, engine())
    assert engine(depth=2, quiescence=False).evaluate(rows_of(board)).scores[0] == expected


def test_static_values_and_nodes_are_those_of_the_last_version() -> None:
    """The signature of the engine: an edit that means to change no search changes no count."""
    lines = []
    for seed in range(40):
        board = random_board(seed)
        for square in random.Random(seed).sample(range(64), 50 if seed % 2 else 0):  # an ending
            if square not in (board.king(chess.WHITE), board.king(chess.BLACK)):
                board.remove_piece_at(square)
        board.castling_rights, board.ep_square = board.clean_castling_rights(), None
        rows = rows_of(board)
        static = engine().evaluate(rows, deadline=PAST).scores[0]
        lines.append(f"{board.fen()}: static {static}")
        for quiescence in (False, True):
            tested = engine(depth=4 if seed < 20 else 3, quiescence=quiescence)
            found = tested.evaluate(rows, top=2)
            best = [move_name(int(move)) for move in found.moves[0] if move != NO_MOVE]
            lines.append(f"  {' '.join(best)} {found.move_scores[0].tolist()} {tested.nodes} nodes")
    assert_expected("rbc/engine.txt", "\n".join([*lines, ""]))


# -- making moves ---------------------------------------------------------------------------------


@FAMILY.allocating
def count_differences(board: Words, seed: int, plies: int) -> tuple[int, int]:
    """Walk at random; return moves made and those after which the rows differ."""
    np.random.seed(seed)
    tree, planted = np.zeros((2, ROW_WORDS), np.uint64), np.zeros((1, ROW_WORDS), np.uint64)
    after, moves = np.zeros(WORDS, np.uint64), np.zeros(MAX_MOVES, np.int64)
    made, different = 0, 0
    plant(tree, board, np.uint64(7))
    for _ in range(plies):
        n = taken_moves(tree[0], ~np.uint64(0), True, moves)
        for i in range(n):
            move = np.int64(moves[i])
            advance(tree, 0, describe(tree[0], move))
            play(tree[0], move, after)
            plant(planted, after, np.uint64(7))
            made += 1
            for word in range(ROW_WORDS):
                if tree[1, word] != planted[0, word]:
                    different += 1
        move = np.int64(moves[np.random.randint(n)])
        play(tree[0], move, after)
        plant(tree, after, np.uint64(7))
        if not tree[0, 5] or n == 0:
            break
    return made, different


@pytest.mark.slow
@pytest.mark.parametrize(
    "fen",
    [
        chess.STARTING_FEN,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    ],
)
def test_incremental_row_hash_and_values_equal_a_recount(fen: str) -> None:
    for seed in range(20):
        made, different = count_differences(row_of_fen(fen), seed, 40)
        assert made > 0
        assert different == 0, (fen, seed)


# -- what it finds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "move", "plies"),
    [
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "e2e8", 1),
        ("3k4/2P5/8/8/8/8/8/4K3 w - - 0 1", "c7d8q", 1),
        ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "d1d8", 3),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 1", "h5f7", 3),
        ("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", "g5g7", 3),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6", 5),
    ],
)
def test_captures_the_king_as_soon_as_it_can(fen: str, move: str, plies: int) -> None:
    found = engine(depth=4).evaluate(row_of_fen(fen)[None])
    assert (best_of(found), found.scores[0]) == (move, WIN - plies)


def test_a_side_without_any_move_has_its_static_value() -> None:
    rows = row_of_fen("7k/8/8/8/1p6/1P1p4/BP1P4/KRB5 w - - 0 1")[None]
    found, static = engine(depth=3).evaluate(rows), engine().evaluate(rows, deadline=PAST)
    assert found.moves[0, 0] == static.moves[0, 0] == NO_MOVE
    assert found.scores[0] == static.scores[0]


def test_a_lone_king_is_driven_to_the_edge_and_mated() -> None:
    board, tested = chess.Board("2B5/8/7K/8/8/8/1B6/3k4 w - - 0 1"), engine(depth=6)
    while not board.is_game_over() and board.ply() < 60:
        board.push_uci(best_of(tested.evaluate(rows_of(board))))
    assert board.is_checkmate(), board.fen()


# -- properties -----------------------------------------------------------------------------------

SHALLOW, LIMITED = engine(depth=3), engine(depth=20, nodes=400)


@given(boards)
@settings(max_examples=60, deadline=None)
def test_the_mirror_image_has_the_same_value(board: chess.Board) -> None:
    rows = rows_of(board, board.mirror())
    static = SHALLOW.evaluate(rows, deadline=PAST).scores
    assert static[0] == static[1], board.fen()
    searched = SHALLOW.evaluate(rows).scores
    assert searched[0] == searched[1], board.fen()


@given(st.lists(boards, min_size=2, max_size=6), st.integers(1, 4), st.sampled_from([None, 400]))
@settings(max_examples=25, deadline=None)
def test_a_board_has_the_same_value_in_any_batch(several: Any, top: int, nodes: Any) -> None:
    rows = rows_of(*several, several[0])
    tested = LIMITED if nodes else SHALLOW
    together = tested.evaluate(rows, top=top)
    for index in range(len(rows)):
        fresh = tested.evaluate(rows[index : index + 1], top=top)
        assert fresh.scores[0] == together.scores[index]
        assert fresh.moves[0].tolist() == together.moves[index].tolist()
        assert fresh.move_scores[0].tolist() == together.move_scores[index].tolist()


@given(boards, st.integers(2, 40))
@settings(max_examples=40, deadline=None)
def test_best_moves_are_sorted_distinct_and_taken(board: chess.Board, top: int) -> None:
    found = SHALLOW.evaluate(rows_of(board), top=top)
    moves = [move_name(int(move)) for move in found.moves[0] if move != NO_MOVE]
    scores = found.move_scores[0][: len(moves)].tolist()
    allowed = {move.uci() for move in board.pseudo_legal_moves} | {"e1g1", "e1c1", "e8g8", "e8c8"}
    assert len(set(moves)) == len(moves) <= top
    assert set(moves) <= allowed
    assert scores == sorted(scores, reverse=True)
    if moves:
        assert scores[0] == found.scores[0] == SHALLOW.evaluate(rows_of(board)).scores[0]
    enemy = board.king(not board.turn)
    if enemy is not None and not board.is_attacked_by(board.turn, enemy):
        assert len(moves) >= min(top, board.pseudo_legal_moves.count())


def test_values_do_not_depend_on_the_table() -> None:
    rows = rows_of(*(random_board(seed) for seed in range(30)))
    small, large = engine(depth=4), engine(depth=4, table_mb=64)
    expected = small.evaluate(rows, top=2)
    shuffled = large.evaluate(rows[::-1], top=2)
    assert expected.scores.tolist() == shuffled.scores.tolist()[::-1]
    assert expected.moves.tolist() == shuffled.moves.tolist()[::-1]
    small.new_game()
    assert small.evaluate(rows, top=2).moves.tolist() == expected.moves.tolist()


# -- limits ---------------------------------------------------------------------------------------


def test_nodes_are_kept_and_buy_depth() -> None:
    row = row_of_fen(MIDDLE_GAME)[None]
    tested = engine(depth=30, nodes=5000)
    tested.evaluate(row)
    assert 2500 < tested.nodes <= 5000


def test_a_deadline_is_kept() -> None:
    rows = np.repeat(row_of_fen(MIDDLE_GAME)[None], 50, 0)
    tested = engine(depth=30)
    started = time.monotonic()
    found = tested.evaluate(rows, deadline=started + 0.3)
    assert time.monotonic() - started < 15.0
    assert (found.moves[:, 0] != NO_MOVE).all()
    assert (np.abs(found.scores) < 1000).all()
    row = row_of_fen("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1")
    past = engine().evaluate(row[None], deadline=PAST)
    assert (best_of(past), past.scores[0]) == ("e2e8", WIN - 1), "a king is captured all the same"


def test_a_king_that_is_gone_decides_without_a_move() -> None:
    board = chess.Board()
    board.remove_piece_at(chess.E8)
    found = engine().evaluate(rows_of(board))
    assert (found.scores[0], found.moves[0, 0]) == (WIN, NO_MOVE)
    board.turn = chess.BLACK
    assert engine().evaluate(rows_of(board)).scores[0] == -WIN
