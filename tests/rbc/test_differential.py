"""Our rules against those of others: `LocalGame` of reconchess, python-chess, published counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import chess
import numpy as np
import pytest
from reconchess import LocalGame, utilities
from tests.rbc import games
from tests.rbc.minimax_oracle import material
from tests.slow import with_slow

from miai_rbc.belief.scans import CENTRES
from miai_rbc.kernels import FAMILY, belief_search, filters
from miai_rbc.kernels import moves as kernel_moves
from miai_rbc.kernels.bitboards import Int, Words
from miai_rbc.kernels.board import KINGS, NOTHING
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rbc_parameters import START_FEN
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_name, action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import SENSES
from miai_rbc.rules.rows import board_of_row, row_of_board, row_of_fen

REASONS = {"king captured": "KING_CAPTURE", "turn limit": "TURN_LIMIT", "move limit": "MOVE_LIMIT"}

STARTS = (
    START_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # castling, en passant
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "4k3/PPPPPPPP/8/8/8/8/pppppppp/4K3 w - - 0 1",  # promotions
    "n1n1k1n1/PPPP1PPP/8/8/8/8/pppp1ppp/N1N1K1N1 w - - 0 1",
    "4k3/pppppppp/8/1P1P1P1P/p1p1p1p1/8/PPPPPPPP/4K3 w - - 0 1",  # en passant
    "qqq1k1qq/8/3q4/8/8/3Q4/8/QQQ1K1QQ w - - 0 1",
    "8/4k3/8/3n4/4N3/8/4K3/8 w - - 0 1",  # the limit of half-moves
    "r3k2r/pp3ppp/8/8/8/8/PP3PPP/R3K2R b KQkq - 95 40",
)

EIGHT = [0, 1, *(pytest.param(share, marks=pytest.mark.soak) for share in range(2, 8))]
"""Shares of games with seeds of their own; a quarter of them is played each time."""
SOAKED = [pytest.param(share, 1000, marks=pytest.mark.soak) for share in range(2, 11)]
"""Five thousand games to their end."""


class Duel:
    """One game played by both: reconchess's is the arbiter."""

    def __init__(self, seed: int, *, fen: str = START_FEN) -> None:
        self.rng = rng = random.Random(seed)
        half_moves = rng.choice((100, 100, 30))
        turns = rng.choice((None, None, 45))
        limits = {"reversible_moves_limit": half_moves, "full_turn_limit": turns}
        self.theirs = LocalGame(seconds_per_player=None, **limits)
        self.theirs.board = chess.Board(fen)
        self.theirs.turn = self.theirs.board.turn
        # Its own list of moves, made once a turn and not twice.
        self.theirs.move_actions = self._listed
        self._list: list[chess.Move] = []
        self.theirs.start()
        self.ours = games.rbc(fen=fen, **limits).new_initial_state()
        self.greed = rng.choice((0.0, 0.1, 0.3))
        self.plies = 0

    def _listed(self) -> list[chess.Move]:
        if not self._list:
            self._list = utilities.move_actions(self.theirs.board)
        return self._list

    def play(self, plies: int = 1000) -> int:
        """Play to the end, or for so many turns; return the number of turns."""
        while not self.theirs.is_over() and self.plies < plies:
            self._sense()
            self._move()
            self.plies += 1
        self._compare_boards()
        self._compare_ends()
        return self.plies

    def _sense(self) -> None:
        player = self.ours.current_player()
        assert player == (0 if self.theirs.turn == chess.WHITE else 1)
        assert self.ours.legal_actions() == [*self.theirs.sense_actions(), SENSE_NOTHING]
        action = self.rng.choice(SENSES)
        seen = self.theirs.sense(None if action == SENSE_NOTHING else action)
        self.ours.apply_action(action)
        named = [(chess.square_name(s), p.symbol() if p else None) for s, p in seen]
        assert self._told(player) == {"sensed": named}
        assert self.ours.observation(1 - player) is None

    def _move(self) -> None:
        board, player = self.theirs.board, self.ours.current_player()
        by_action: dict[int, chess.Move | None] = {PASS: None}
        for move in self.theirs.move_actions():
            by_action[action_of(kernel_move(board, move))] = move
        legal = self.ours.legal_actions()
        assert legal == sorted(by_action), board.fen()
        action = self._choose(board, by_action)
        requested, taken, captured = self.theirs.move(by_action[action])
        self.theirs.end_turn()
        self._list = []
        self.ours.apply_action(action)
        output = {"captured": None if captured is None else chess.square_name(captured)}
        ending = {"result": self.ours.result_to_string()} if self.theirs.is_over() else {}
        assert self._told(1 - player) == {**output, **ending}, board.fen()
        assert self._told(player) == {
            "requested": None if requested is None else action_name(action),
            "taken": None if taken is None else taken.uci(),
            **output,
            **ending,
        }, board.fen()

    def _choose(self, board: chess.Board, by_action: dict[int, chess.Move | None]) -> int:
        actions = list(by_action)
        if self.rng.random() < self.greed:
            captures = [a for a, m in by_action.items() if m and board.piece_at(m.to_square)]
            actions = captures or actions
        return self.rng.choice(actions)

    def _told(self, player: int) -> Any:
        observation = self.ours.observation(player)
        assert observation is not None
        return observation.data

    def _compare_boards(self) -> None:
        board = self.theirs.board
        assert (self.ours.boards.rows[0] == row_of_board(board)).all(), board.fen()
        assert self.ours.board().board_fen() == board.board_fen()
        assert self.ours.halfmove_clock == board.halfmove_clock
        assert self.ours.fullmove_number == board.fullmove_number

    def _compare_ends(self) -> None:
        assert self.ours.is_terminal() == self.theirs.is_over()
        if not self.theirs.is_over():
            return
        winner = self.theirs.get_winner_color()
        returns = {None: (0.0, 0.0), chess.WHITE: (1.0, -1.0), chess.BLACK: (-1.0, 1.0)}
        assert self.ours.returns() == returns[winner]
        _, reason = self.ours.result_to_string().split(" ", 1)
        assert REASONS[reason] == self.theirs.get_win_reason().name


def kernel_move(board: chess.Board, move: chess.Move) -> int:
    """Return a move as the kernels have it; a pawn on the last rank becomes a queen if nothing."""
    becomes = move.promotion
    last = chess.square_rank(move.to_square) in (0, 7)
    if becomes is None and last and board.piece_type_at(move.from_square) == chess.PAWN:
        becomes = chess.QUEEN
    return move.from_square | move.to_square << 6 | (becomes - 1 << 12 if becomes else 0)


@pytest.mark.parametrize("share", with_slow(EIGHT, 1))
def test_whole_games_go_as_in_reconchess(share: int) -> None:
    for number in range(25):
        Duel(1000 * share + number).play()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("share", "plies"), [(0, 12), (1, 12), *SOAKED])
def test_games_from_rare_positions_go_as_in_reconchess(share: int, plies: int) -> None:
    for number in range(585):
        fen = STARTS[number % len(STARTS)]
        Duel(100_000 + 1000 * share + number, fen=fen).play(plies)


# -- the generator of moves ---------------------------------------------------------------------


@FAMILY.kernel
def list_taken(row: Words, moves: kernel_moves.Moves) -> Int:
    """List the moves that a row's side to move can take; return their number."""
    return kernel_moves.taken_moves(row, ~np.uint64(0), True, moves)


def taken_moves(row: Words) -> list[int]:
    """Return the moves that a row's side to move can take."""
    moves = np.empty(MAX_MOVES, np.int64)
    return [int(move) for move in moves[: list_taken(row, moves)]]


def played(row: Words, move: int) -> Words:
    """Return the row after a move that can be taken."""
    after = row.copy()
    results = np.empty((1, 2), np.int32)
    filters.play_requested(after[None], move, results)
    assert results[0, 0] == move
    return after


def walk(fen: str, seed: int, plies: int) -> Iterator[chess.Board]:
    """Random moves of the game, check or not, while both kings stand."""
    rng = random.Random(seed)
    board = chess.Board(fen)
    for _ in range(plies):
        if board.king(chess.WHITE) is None or board.king(chess.BLACK) is None:
            return
        yield board
        board.push(rng.choice([*board.pseudo_legal_moves, chess.Move.null()]))


@pytest.mark.parametrize("fen", with_slow(STARTS, STARTS[6]))
def test_moves_are_the_pseudo_legal_ones_and_castling_through_check(fen: str) -> None:
    for seed in range(2):
        for board in walk(fen, seed, 60):
            castles = [chess.Move(king, king + step) for king in (4, 60) for step in (2, -2)]
            mine = board.pieces(chess.KING, board.turn)
            castles = [castle for castle in castles if castle.from_square in mine]
            allowed = {c for c in castles if utilities.is_psuedo_legal_castle(board, c)}
            theirs = set(board.pseudo_legal_moves) | allowed
            row = row_of_board(board)
            ours = taken_moves(row)
            assert len(ours) == len(set(ours))
            assert set(ours) == {kernel_move(board, move) for move in theirs}, board.fen()
            for move in theirs:
                after = board.copy(stack=False)
                after.push(move)
                found = played(row, kernel_move(board, move))
                assert (found == row_of_board(after)).all(), (board.fen(), move.uci())
                assert board_of_row(found).board_fen() == after.board_fen()


def king_can_be_taken(row: Words) -> bool:
    """Return whether the side to move can capture the king."""
    kings = int(row[KINGS])
    return any(kings >> (move >> 6 & 63) & 1 for move in taken_moves(row))


def is_legal(row: Words, move: int) -> bool:
    """Return whether a move that can be taken is one of chess."""
    if king_can_be_taken(played(row, move)):
        return False
    start, end = move & 63, move >> 6 & 63
    if int(row[KINGS]) >> start & 1 and abs(start - end) == 2:
        passed = (start + end) // 2
        return not any(king_can_be_taken(played(row, m)) for m in (NOTHING, start | passed << 6))
    return True


def perft(row: Words, depth: int) -> int:
    """Return the number of ways to make so many legal moves."""
    legal = [move for move in taken_moves(row) if is_legal(row, move)]
    if depth == 1:
        return len(legal)
    return sum(perft(played(row, move), depth - 1) for move in legal)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fen", "counts"),
    [
        (START_FEN, (20, 400, 8902, 197_281)),
        (STARTS[1], (48, 2039, 97_862)),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", (14, 191, 2812, 43_238)),
        ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", (6, 264, 9467)),
        ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", (44, 1486, 62_379)),
        ("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", (46, 2079)),
    ],
    ids=["start", "kiwipete", "endgame", "mirror", "steven", "edwards"],
)
def test_counts_of_legal_moves_are_the_published_ones(fen: str, counts: tuple[int, ...]) -> None:
    """The counts are those of https://www.chessprogramming.org/Perft_Results."""
    row = row_of_fen(fen)
    assert tuple(perft(row, depth) for depth in range(1, len(counts) + 1)) == counts


# -- kernels of many boards at once --------------------------------------------------------------


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
    square = utilities.capture_square_of_move(board, move)
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
            (row_of_board(games.pushed(board, move)).tobytes(), code_of(board, move))
            for move in [*games.taken_moves(board), None]
        )
        assert Counter(replies[starts[i] : starts[i + 1]]) == expected, board.fen()


def test_requests_turn_out_as_in_reconchess() -> None:
    after, codes = np.empty((1, 8), np.uint64), np.empty(1, np.int64)
    kings = Counter[int | None]()
    for board, row in zip(BOARDS, ROWS[:, None], strict=True):
        requests = BoardSet(row).requests()
        captures, ends = np.empty(len(requests)), []
        for request in requests:
            taken = utilities.revise_move(board, games.chess_move(request))
            code, move = code_of(board, taken), kernel_move(board, taken) if taken else 0
            belief_search.play_request(row, request, after, codes)
            told = code if code < -1 else 128 * move + (64 if code < 0 else code)
            assert codes[0] == told, (board.fen(), taken)
            assert (after[0] == row_of_board(games.pushed(board, taken))).all()
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
