"""The board as one player is sure of it: its own pieces, and the moves that it can ask for."""

from __future__ import annotations

import chess


class OwnBoard:
    """A player's own pieces, followed by what it is told.

    Attributes:
      board: of python-chess, without the opponent's pieces; the player is to move.
    """

    def __init__(self, board: chess.Board, colour: chess.Color) -> None:
        mine = board.occupied_co[colour]
        self.board = board.transform(lambda squares: squares & mine)
        self.board.turn = colour
        self._settle()

    def lose(self, square: chess.Square | None) -> None:
        """Take a piece off that the opponent captured; None for none."""
        if square is not None:
            self.board.remove_piece_at(square)
            self._settle()

    def move(self, taken: chess.Move | None) -> None:
        """Make one's own move as it turned out; None for none."""
        if taken is not None:
            self.board.push(taken)
            self.board.turn = not self.board.turn
            self._settle()

    def _settle(self) -> None:
        board = self.board
        board.clear_stack()
        board.ep_square = None
        board.castling_rights = board.clean_castling_rights()

    def move_actions(self) -> list[chess.Move]:
        """Return the moves that can be asked for, each once, in the order of `LocalGame`.

        A capture en passant is among the pawns' diagonal steps. `LocalGame` lists it twice, by
        which a bot could tell that the opponent's pawn made two steps; this list does not.
        """
        moves = list(self.board.generate_pseudo_legal_moves())
        for pawn in self.board.pieces(chess.PAWN, self.board.turn):
            for square in self.board.attacks(pawn):
                if self.board.piece_at(square) is None:
                    moves += _steps(pawn, square)
        return moves


def _steps(pawn: chess.Square, square: chess.Square) -> list[chess.Move]:
    moves = [chess.Move(pawn, square)]
    if chess.square_rank(square) in (0, 7):
        for piece in (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN):
            moves.append(chess.Move(pawn, square, promotion=piece))
    return moves
