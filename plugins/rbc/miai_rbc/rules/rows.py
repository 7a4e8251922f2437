"""Boards and moves between python-chess, FEN and the kernels; `kernels.board` describes rows."""

from __future__ import annotations

import chess
import numpy as np

from miai.errors import InvalidStateError
from miai_rbc.kernels.bitboards import PAWN, Words
from miai_rbc.kernels.board import NOTHING, PAWNS, WHITE, WORDS

_RIGHTS = ((1, chess.BB_H1), (2, chess.BB_A1), (4, chess.BB_H8), (8, chess.BB_A8))
_MAX_FEN = 120  # characters; the longest real one has fewer than 100
_MAX_CLOCK = 100_000
_MAX_PIECES = 16

BLACK_CAPTURES = "4k3/8/8/3p4/4P3/8/8/4K3 b - - 0 1"
"""A small position for loading kernels."""


def row_of_board(board: chess.Board) -> Words:
    """Return a python-chess board as a row: uint64 of shape (8,).

    Castling rights without king and rook on their squares are dropped, and so is an en passant
    square that no pawn can capture on.
    """
    row = np.zeros(WORDS, np.uint64)
    kinds = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    for word, squares in enumerate(kinds):
        row[word] = squares
    row[WHITE] = board.occupied_co[chess.WHITE]
    rights = board.clean_castling_rights()
    state = 0 if board.turn == chess.WHITE else 1
    state |= sum(bit for bit, rook in _RIGHTS if rights & rook) << 1
    if board.ep_square is not None:
        takers = int(PAWN[int(board.turn == chess.WHITE), board.ep_square])
        if takers & board.pawns & board.occupied_co[board.turn]:
            state |= (board.ep_square + 1) << 8
    row[7] = state
    return row


def board_of_row(row: Words) -> chess.Board:
    """Return a row as a python-chess board with an empty history and clocks at the start."""
    words = [int(word) for word in row]
    board = chess.Board(None)
    board.pawns, board.knights, board.bishops = words[0:3]
    board.rooks, board.queens, board.kings = words[3:6]
    board.occupied = words[0] | words[1] | words[2] | words[3] | words[4] | words[5]
    board.occupied_co = [board.occupied & ~words[WHITE], words[WHITE]]
    state = words[7]
    board.turn = chess.BLACK if state & 1 else chess.WHITE
    board.castling_rights = sum(rook for bit, rook in _RIGHTS if state >> 1 & bit)
    ep = state >> 8 & 127
    board.ep_square = ep - 1 if ep else None
    return board


def row_of_fen(fen: str) -> Words:
    """Return the row of a FEN, without its clocks. Raises as `board_of_fen`."""
    return row_of_board(board_of_fen(fen))


def board_of_fen(fen: str) -> chess.Board:
    """Return the board of a FEN.

    Raises:
      InvalidStateError: not a FEN, or not a position of the game: one king and at most sixteen
        pieces a side, no pawn on the first or last rank.
    """
    if not isinstance(fen, str) or len(fen) > _MAX_FEN:
        raise InvalidStateError(f"a FEN is a text of at most {_MAX_FEN} characters")
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise InvalidStateError(f"{fen!r} is not a FEN: {error}") from None
    problem = _problem(board)
    if problem:
        raise InvalidStateError(f"{fen!r} is not a position of the game: {problem}")
    return board


def _problem(board: chess.Board) -> str:
    """Return why a board is not a position of the game; empty if it is one."""
    for colour, name in ((chess.WHITE, "white"), (chess.BLACK, "black")):
        pieces = board.occupied_co[colour]
        kings = (board.kings & pieces).bit_count()
        if kings != 1:
            return f"{name} has {kings} kings"
        if pieces.bit_count() > _MAX_PIECES:
            return f"{name} has {pieces.bit_count()} pieces, more than {_MAX_PIECES}"
    if board.pawns & chess.BB_BACKRANKS:
        return "a pawn stands on the first or last rank"
    if board.status() & chess.STATUS_INVALID_EP_SQUARE:
        square = chess.square_name(board.ep_square or 0)
        return f"no pawn can just have moved two squares past {square}"
    if max(board.halfmove_clock, board.fullmove_number) > _MAX_CLOCK:
        return f"a clock is beyond {_MAX_CLOCK}"
    if board.promoted:
        return "a piece is marked as promoted, which is for other games"
    return ""


def piece_at(row: Words, square: int) -> str | None:
    """Return the piece on a square, ``P`` for White's pawn and ``p`` for Black's, or None."""
    bit = 1 << square
    for kind, letter in zip(range(PAWNS, WHITE), "pnbrqk", strict=True):
        if int(row[kind]) & bit:
            return letter.upper() if int(row[WHITE]) & bit else letter
    return None


def kernel_move(move: chess.Move | None) -> int:
    """Return a python-chess move as one of the kernels; None is `NOTHING`."""
    if move is None:
        return NOTHING
    becomes = move.promotion - 1 if move.promotion else 0
    return move.from_square | move.to_square << 6 | becomes << 12


def chess_move(move: int) -> chess.Move | None:
    """Return a move of the kernels as one of python-chess; `NOTHING` is None."""
    if move == NOTHING:
        return None
    becomes = move >> 12
    return chess.Move(move & 63, move >> 6 & 63, becomes + 1 if becomes else None)
