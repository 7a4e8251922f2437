"""Kernels of many boards at once, against python-chess and reconchess, board by board."""

from __future__ import annotations

import random
from collections import Counter

import chess
import numpy as np
from reconchess.utilities import capture_square_of_move, revise_move
from tests.rbc.games import chess_move, pushed, taken_moves
from tests.rbc.minimax_oracle import material
from tests.rbc.test_differential import kernel_move

from miai_rbc.belief.scans import CENTRES
from miai_rbc.kernels import belief_search, filters
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import row_of_board


def scattered(seed: int) -> chess.Board:
    """Return a board with pieces anywhere, the king of the side not to move in a corner."""
    rng = random.Random(seed)
    board = chess.Board(None)
    board.turn = bool(seed & 1)
    corner, *squares = rng.sample([0, 7, 56, 63], 1) + rng.sample(range(1, 56), 14)
    squares = [square for square in squares if square != corner]
    board.set_piece_at(corner, chess.Piece(chess.KING, not board.turn))
    board.set_piece_at(squares.pop(), chess.Piece(chess.KING, board.turn))
    for square in squares:
        kind = rng.randint(1 if 8 <= square < 56 else 2, 5)
        board.set_piece_at(square, chess.Piece(kind, rng.random() < 0.5))
    return board


BOARDS = [scattered(seed) for seed in range(36)]
ROWS = np.stack([row_of_board(board) for board in BOARDS])


def code_of(board: chess.Board, move: chess.Move | None) -> int:
    """Return the square of a capture, -1 for none; `OVER` if it is of the king."""
    square = capture_square_of_move(board, move)
    if square is not None and board.piece_type_at(square) == chess.KING:
        return belief_search.OVER
    return -1 if square is None else square


def test_replies_are_all_moves_and_a_pass() -> None:
    starts = np.empty(len(ROWS) + 1, np.int64)
    belief_search.count_replies(ROWS, starts)
    after, captures = np.empty((starts[-1], 8), np.uint64), np.empty(starts[-1], np.int64)
    belief_search.write_replies(ROWS, starts, after, captures)
    replies = [(row.tobytes(), code) for row, code in zip(after, captures.tolist(), strict=True)]
    for i, board in enumerate(BOARDS):
        expected = Counter(
            (row_of_board(pushed(board, move)).tobytes(), code_of(board, move))
            for move in [*taken_moves(board), None]
        )
        assert Counter(replies[starts[i] : starts[i + 1]]) == expected, board.fen()


def test_requests_turn_out_as_in_reconchess() -> None:
    after, codes = np.empty((1, 8), np.uint64), np.empty(1, np.int64)
    kings = Counter[int | None]()
    for board, row in zip(BOARDS, ROWS[:, None], strict=True):
        requests = BoardSet(row).requests()
        captures, ends = np.empty(len(requests)), []
        for request in requests:
            taken = revise_move(board, chess_move(request))
            code, move = code_of(board, taken), kernel_move(board, taken) if taken else 0
            belief_search.play_request(row, request, after, codes)
            told = code if code < -1 else 128 * move + (64 if code < 0 else code)
            assert codes[0] == told, (board.fen(), taken)
            assert (after[0] == row_of_board(pushed(board, taken))).all()
            ends.append(0.25 * (code == belief_search.OVER))
        filters.count_king_captures(row, np.array(requests, np.int32), np.array([0.25]), captures)
        assert captures.tolist() == ends
        kings[board.king(not board.turn)] += any(ends)
    assert min(kings[corner] for corner in (0, 7, 56, 63)) > 0


def test_checks_senses_and_material() -> None:
    checks, codes = np.empty(len(ROWS), np.bool_), np.empty(len(ROWS), np.uint64)
    filters.find_checks(ROWS, checks)
    assert checks.tolist() == [board.is_check() for board in BOARDS]
    assert 3 < checks.sum() < 33
    for player in (0, 1):
        worth = np.empty(len(ROWS))
        belief_search.material(ROWS, player, worth)
        assert worth.tolist() == [material(board, player) for board in BOARDS]
        for centre in CENTRES[::7]:
            belief_search.sense_outcomes(ROWS, player, centre, codes)
            squares = [centre + 8 * up + right for up in (-1, 0, 1) for right in (-1, 0, 1)]
            for board, code in zip(BOARDS, codes.tolist(), strict=True):
                pieces = map(board.piece_at, squares)
                seen = [p.piece_type if p and p.color == (player == 1) else 0 for p in pieces]
                assert code == sum(kind << 4 * i for i, kind in enumerate(seen))
