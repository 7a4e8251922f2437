"""The last resort of a belief that was contradicted: boards made up from what was seen last.

It happens when the truth was dropped, or when what was told is false. The boards that lived before
are changed so that they show what was told: a sensed window is put on every board, a piece that
was captured is taken off, a move of one's own is made as far as it goes. A king that disappears by
that is put on a free square nearest to where it stood.
"""

from __future__ import annotations

import chess

from miai_rbc.board_set import BoardSet
from miai_rbc.kernels.board import NOTHING, WHITE
from miai_rbc.observations import Event, Moved, OpponentMoved, Sensed

_KINDS = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING)


def impose(boards: BoardSet, event: Event) -> BoardSet:
    """Return boards on which an event is true, made from boards on which it is not.

    Args:
      boards: at least one, from before the event.
    """
    return BoardSet.of_boards(_imposed(board, event) for board in boards.boards())


def _imposed(board: chess.Board, event: Event) -> chess.Board:
    kings = {colour: board.king(colour) for colour in chess.COLORS}
    match event:
        case Sensed():
            _put_window(board, event)
        case OpponentMoved():
            if event.captured is not None:
                _capture(board, event.captured)
            _hand_over(board)
        case Moved():
            _move(board, event)
            _hand_over(board)
    for colour, stood in kings.items():
        _restore_king(board, colour, stood)
    board.castling_rights = board.clean_castling_rights()
    return board


def _put_window(board: chess.Board, event: Sensed) -> None:
    for square in chess.SquareSet(event.window):
        bit = 1 << square
        board.remove_piece_at(square)
        for word, kind in enumerate(_KINDS):
            if int(event.pieces[word]) & bit:
                colour = bool(int(event.pieces[WHITE]) & bit)
                if kind == chess.KING and (other := board.king(colour)) is not None:
                    board.remove_piece_at(other)
                board.set_piece_at(square, chess.Piece(kind, colour))


def _capture(board: chess.Board, square: int) -> None:
    """Have some piece of the side to move stand where it captured: the least of those that can."""
    takers = [m for m in board.pseudo_legal_moves if m.to_square == square]
    value = {m: board.piece_type_at(m.from_square) or 0 for m in takers}
    if takers:
        board.push(min(takers, key=lambda m: (value[m], m.uci())))
        board.turn = not board.turn  # handed over by the caller
        board.clear_stack()
        return
    board.remove_piece_at(square)
    movers = board.occupied_co[board.turn] & ~board.kings
    if movers:
        nearest = min(chess.SquareSet(movers), key=lambda s: chess.square_distance(s, square))
        piece = board.remove_piece_at(nearest)
        board.set_piece_at(square, piece)


def _move(board: chess.Board, event: Moved) -> None:
    if event.captured is not None:
        board.remove_piece_at(event.captured)
    if event.taken == NOTHING:
        return
    start, end, becomes = event.taken & 63, event.taken >> 6 & 63, event.taken >> 12
    piece = board.remove_piece_at(start)
    if piece is None:
        return
    if becomes:
        piece = chess.Piece(_KINDS[becomes], piece.color)
    board.set_piece_at(end, piece)
    if piece.piece_type == chess.KING and abs(end - start) == 2:
        rook = board.remove_piece_at(end + 1 if end > start else end - 2)
        if rook is not None:
            board.set_piece_at((start + end) // 2, rook)


def _hand_over(board: chess.Board) -> None:
    board.turn = not board.turn
    board.ep_square = None


def _restore_king(board: chess.Board, colour: chess.Color, stood: int | None) -> None:
    if board.king(colour) is not None or stood is None:
        return
    free = chess.SquareSet(~board.occupied & chess.BB_ALL)
    square = min(free, key=lambda s: (chess.square_distance(s, stood), s))
    board.set_piece_at(square, chess.Piece(chess.KING, colour))
