"""The last resort of a contradicted belief: boards changed to fit the observation.

It is needed when the true board was dropped, or an observation is false. A sensed window is put on
every board, a captured piece is removed, the player's move is made as far as possible. A king that
disappears is put back as near as possible, outside the observed squares; the least valuable pieces
beyond sixteen a side are removed. The player's own pieces stay the same on all boards.
"""

from __future__ import annotations

import chess

from miai_rbc.kernels.board import NOTHING, QUEENS, WHITE
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import BadObservationError, Event, Moved, OpponentMoved, Sensed

_MAX_PIECES = 16  # of a side
_KINDS = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING)


def impose(boards: BoardSet, event: Event) -> BoardSet:
    """Return boards on which an event holds, made from boards on which it does not.

    Args:
      boards: at least one board before the event.
    """
    return BoardSet.of_boards(_imposed(board, event) for board in boards.boards())


def _imposed(board: chess.Board, event: Event) -> chess.Board:
    kings = {colour: board.king(colour) for colour in chess.COLORS}
    # The board has the side to move before the event, which is the player's unless the opponent
    # moved.
    ours = board.turn != isinstance(event, OpponentMoved)
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
    # Repairs last, the player's own side first: what it observes of itself is never wrong.
    observed = _observed_squares(event)
    for colour in (ours, not ours):
        _remove_surplus(board, colour, observed)
        _restore_king(board, colour, kings[colour], observed, shoves=colour == ours)
    board.castling_rights = board.clean_castling_rights()
    return board


def _observed_squares(event: Event) -> int:
    """Return the squares with observed contents, bit by bit."""
    if isinstance(event, Sensed):
        return event.window
    return 0 if event.captured is None else 1 << event.captured


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
    """Move a piece of the side to move to where it captured: the least valuable that can."""
    takers = [m for m in board.pseudo_legal_moves if m.to_square == square]
    value = {m: board.piece_type_at(m.from_square) or 0 for m in takers}
    if takers:
        board.push(min(takers, key=lambda m: (value[m], m.uci())))
        board.turn = not board.turn  # the caller changes it
        board.clear_stack()
        return
    board.remove_piece_at(square)
    # No piece can have captured there, so some piece is put there: an exact story does not exist.
    movers = board.occupied_co[board.turn] & ~board.kings
    if movers:
        nearest = min(chess.SquareSet(movers), key=lambda s: chess.square_distance(s, square))
        piece = board.remove_piece_at(nearest)
        assert piece is not None
        if piece.piece_type == chess.PAWN and chess.square_rank(square) in (0, 7):
            piece = chess.Piece(chess.QUEEN, piece.color)
        board.set_piece_at(square, piece)


def _move(board: chess.Board, event: Moved) -> None:
    if event.captured is not None:
        board.remove_piece_at(event.captured)
    if event.taken == NOTHING:
        return
    start, end, becomes = event.taken & 63, event.taken >> 6 & 63, event.taken >> 12
    # The move as observed, legal or not; the board is wrong already.
    piece = board.piece_at(start)
    if piece is None or piece.color != board.turn:
        return
    board.remove_piece_at(start)
    if piece.piece_type == chess.PAWN and chess.square_rank(end) in (0, 7):
        becomes = becomes or QUEENS
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


def _remove_surplus(board: chess.Board, colour: chess.Color, observed: int) -> None:
    """Remove the least valuable pieces beyond sixteen, those on observed squares last."""
    count = board.occupied_co[colour].bit_count()
    count += board.king(colour) is None  # it will be put back
    spare = chess.SquareSet(board.occupied_co[colour] & ~board.kings)
    least = sorted(spare, key=lambda s: (observed >> s & 1, board.piece_type_at(s), s))
    for square in least[: max(0, count - _MAX_PIECES)]:
        board.remove_piece_at(square)


def _restore_king(
    board: chess.Board, colour: chess.Color, stood: int | None, observed: int, *, shoves: bool
) -> None:
    """Put a missing king back, as near as possible to where it stood, off the observed squares.

    A king that shoves may replace an opponent's piece: its square depends on its own side's pieces
    only.
    """
    if board.king(colour) is not None or stood is None:
        return
    # Own pieces must stay alike on all boards, so the own king may replace an opponent's piece.
    taken = board.occupied_co[colour] if shoves else board.occupied
    free = chess.SquareSet(~(taken | observed) & chess.BB_ALL)
    if not free:
        raise BadObservationError("false observations: no square is left for a king")
    square = min(free, key=lambda s: (chess.square_distance(s, stood), s))
    board.set_piece_at(square, chess.Piece(chess.KING, colour))
