"""What a player knows for certain: its own pieces, and where it last saw the opponent's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import chess

from miai import Observation
from miai_rbc.kernels.board import NOTHING
from miai_rbc.rules.dark import seen_event_of
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed, event_of
from miai_rbc.rules.rows import chess_move, piece_at


class OwnBoard:
    """A player's own pieces, updated by its observations.

    Attributes:
      board: of python-chess, without the opponent's pieces; the player is to move.
    """

    def __init__(self, board: chess.Board, colour: chess.Color) -> None:
        mine = board.occupied_co[colour]
        self.board = board.transform(lambda squares: squares & mine)
        self.board.turn = colour
        self._settle()

    def lose(self, square: chess.Square | None) -> None:
        """Remove a captured piece; None for none."""
        if square is not None:
            self.board.remove_piece_at(square)
            self._settle()

    def move(self, taken: chess.Move | None) -> None:
        """Make the move taken; None for none."""
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
        """Return the moves that can be requested, each once, in the order of `LocalGame`.

        A capture en passant is among the pawns' diagonal steps. `LocalGame` lists it twice, which
        reveals the double step of the opponent's pawn; this list does not.
        """
        moves = list(self.board.generate_pseudo_legal_moves())
        for pawn in self.board.pieces(chess.PAWN, self.board.turn):
            for square in self.board.attacks(pawn):
                if self.board.piece_at(square) is None:
                    moves.append(chess.Move(pawn, square))
                    if chess.square_rank(square) in (0, 7):
                        moves += (chess.Move(pawn, square, kind) for kind in _PROMOTIONS)
        return moves


_PROMOTIONS: Final = (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)

UNKNOWN: Final = "x"
"""A piece of the opponent of unknown kind: it captured, or blocked a pawn."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A piece of the opponent on a square.

    Attributes:
      piece: ``P`` for White's, ``p`` for Black's pawn, or `UNKNOWN`.
      turn: the player's turn, counted from 0, in which the piece was certainly there.
    """

    piece: str
    turn: int


class Knowledge:
    """What a player has observed in a game so far.

    Attributes:
      player: 0 for White, 1 for Black.
      own: its own pieces.
      turn: its turns, counted from 0.
      theirs: the opponent's pieces on the squares where they were last known to stand.
      count: how many it had at the start.
      fresh: the squares that the opponent cannot have touched since they were seen.
      sensed: the window sensed last, and its turn; None before the first.
      moved: the player's last move, or None.
      last_loss: the piece and square that the opponent's last turn captured; None for none.
      lost, captured: all captures of pieces and on squares, with their turns.
      result: empty before the end.
    """

    def __init__(self, board: chess.Board, player: int) -> None:
        colour = player == 0
        self.player = player
        self.own = OwnBoard(board, colour)
        self.turn = 0
        self.theirs = {
            square: Sighting(piece.symbol(), 0)
            for square, piece in board.piece_map(mask=board.occupied_co[not colour]).items()
        }
        self._begins = board.turn == colour
        self.fresh = set(chess.SQUARES) if self._begins else set()
        self.count = len(self.theirs)
        self.sensed: tuple[Sensed, int] | None = None
        self.moved: Moved | None = None
        self.last_loss: tuple[str, int] | None = None
        self.lost: list[tuple[str, int, int]] = []
        self.captured: list[tuple[int, int]] = []
        self.result = ""

    def observe(self, observation: Observation) -> Event | None:
        """Take in an observation and return its event; None if only the game's start is observed.

        Raises:
          BadObservationError: not an observation of this game.
        """
        if isinstance(observation.data, Mapping):
            self.result = str(observation.data.get("result", ""))
        event = event_of(observation, pawns=self.own.board.pawns)
        if observation.actor is None:
            return event if self._begins else None
        match event:
            case OpponentMoved():
                self._opponent_moved(event.captured)
            case Sensed():
                self._sensed(event)
            case Moved():
                self._moved(event)
        return event

    def _opponent_moved(self, captured: int | None) -> None:
        self.fresh = set()
        self.last_loss = None
        if captured is None:
            return
        piece = self.own.board.piece_at(captured)
        symbol = "?" if piece is None else piece.symbol()  # "?" by a false observation alone
        self.own.lose(captured)
        self.last_loss = (symbol, captured)
        self.lost.append((symbol, captured, self.turn))
        self.theirs[captured] = Sighting(UNKNOWN, self.turn)
        self.fresh.add(captured)

    def _sensed(self, event: Sensed) -> None:
        self.sensed = (event, self.turn)
        mine = self.own.board.occupied
        for square in chess.SquareSet(event.window & ~mine):
            piece = piece_at(event.pieces, square)
            self.fresh.add(square)
            self.theirs.pop(square, None)
            if piece is not None:
                self._see(piece, square)

    def _see(self, piece: str, square: int) -> None:
        if piece in "kK":  # the only one: forget where it stood
            self.theirs = {
                s: sighting for s, sighting in self.theirs.items() if sighting.piece != piece
            }
        self.theirs[square] = Sighting(piece, self.turn)

    def _moved(self, event: Moved) -> None:
        self.moved = event
        refusal = _refused_square(event, pawns=self.own.board.pawns)
        if event.taken != NOTHING:
            start, end = event.taken & 63, event.taken >> 6 & 63
            self.own.move(chess_move(event.taken))
            self._note_empty(start, end)
            self._note_empty(*chess.SquareSet.between(start, end))
        if event.captured is not None:
            self.captured.append((event.captured, self.turn))
            self._note_empty(event.captured)
        if refusal is not None:
            square, occupied = refusal
            if not occupied:
                self._note_empty(square)
            elif square not in self.theirs:
                self.theirs[square] = Sighting(UNKNOWN, self.turn)
                self.fresh.add(square)
        self.turn += 1

    def _note_empty(self, *squares: int) -> None:
        """Note that the opponent has no piece on these squares."""
        self.fresh.update(squares)
        for square in squares:
            self.theirs.pop(square, None)


class DarkKnowledge(Knowledge):
    """What a player of dark chess has observed: each view is a sense of all visible squares."""

    def __init__(self, board: chess.Board, player: int) -> None:
        super().__init__(board, player)
        self.fresh = set(chess.SQUARES)  # nobody has moved

    def observe(self, observation: Observation) -> Event | None:
        """Take in an observation and return its event; None for the start."""
        if observation.actor is None:
            return None
        event = seen_event_of(observation, pawns=self.own.board.pawns)
        if isinstance(observation.data, Mapping):
            self.result = str(observation.data.get("result", ""))
        if isinstance(event, Moved):
            self._moved(event)
        else:
            lost, move = event.captured, 0 if self.moved is None else self.moved.taken
            leapt = move >> 6 & 63 == lost and abs((move & 63) - lost) == 16
            pawns = self.own.board.pawns
            self._opponent_moved(lost)
            if lost is not None and leapt and pawns >> lost & 1:
                self.theirs.pop(lost, None)  # perhaps captured en passant: nobody may be there
                self.fresh.discard(lost)
        self._sensed(event.view.sensed())
        self.sensed = None
        return event


def _refused_square(event: Moved, *, pawns: int) -> tuple[int, bool] | None:
    """Return the square that changed a pawn's move, and whether it is occupied; None for none.

    A pawn's step fails where a piece stands, its capture where none does. Other pieces capture
    whatever stands in their way.
    """
    start, end = event.requested & 63, event.requested >> 6 & 63
    if event.requested in (NOTHING, event.taken) or not pawns >> start & 1:
        return None
    if start & 7 != end & 7:
        return end, False
    end_square = start if event.taken == NOTHING else event.taken >> 6 & 63
    return end_square + (8 if end > start else -8), True
