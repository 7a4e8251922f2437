"""What one player of a game knows for certain, and where it saw the opponent's pieces last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import chess

from miai_rbc.kernels.board import NOTHING
from miai_rbc.reconchess.own_board import OwnBoard
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed, event_of
from miai_rbc.rules.rows import piece_at

if TYPE_CHECKING:
    from miai import Observation


UNKNOWN: Final = "x"
"""A piece of the opponent whose kind was not told: it captured, or stood in the way."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A piece of the opponent on a square.

    Attributes:
      piece: ``P`` for white's, ``p`` for black's pawn, or `UNKNOWN`.
      turn: of the player, counted from 0, in which it was known to be there.
    """

    piece: str
    turn: int


class Knowledge:
    """What a player was told in a game so far.

    Attributes:
      player: 0 for white, 1 for black.
      own: its own pieces.
      turn: its turns, counted from 0.
      theirs: the opponent's pieces, where they were known to stand last.
      count: how many it had at the start.
      fresh: the squares that the opponent cannot have touched since they were seen.
      sensed: the window sensed last, and its turn; None before the first.
      moved: the own move made last, or None.
      told_capture: what the opponent's last turn captured: the piece and its square; None for none.
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
        self.told_capture: tuple[str, int] | None = None
        self.lost: list[tuple[str, int, int]] = []
        self.captured: list[tuple[int, int]] = []
        self.result = ""

    def observe(self, observation: Observation) -> Event | None:
        """Follow what the player was told; return it, None where it told no more than the start.

        Raises:
          BadObservationError: the game never tells that.
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
        self.told_capture = None
        if captured is None:
            return
        piece = self.own.board.piece_at(captured)
        symbol = "?" if piece is None else piece.symbol()  # "?" by a false observation alone
        self.own.lose(captured)
        self.told_capture = (symbol, captured)
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
        if piece in "kK":  # there is one, so it has left where it was
            self.theirs = {s: seen for s, seen in self.theirs.items() if seen.piece != piece}
        self.theirs[square] = Sighting(piece, self.turn)

    def _moved(self, event: Moved) -> None:
        self.moved = event
        refused = _refused_square(event, pawns=self.own.board.pawns)
        if event.taken != NOTHING:
            move = chess.Move(event.taken & 63, event.taken >> 6 & 63, _promotion(event.taken))
            self.own.move(move)
            self._find_empty(move.from_square, move.to_square)
            self._find_empty(*chess.SquareSet.between(move.from_square, move.to_square))
        if event.captured is not None:
            self.captured.append((event.captured, self.turn))
            self._find_empty(event.captured)
        if refused is not None:
            square, stands = refused
            if not stands:
                self._find_empty(square)
            elif square not in self.theirs:
                self.theirs[square] = Sighting(UNKNOWN, self.turn)
                self.fresh.add(square)
        self.turn += 1

    def _find_empty(self, *squares: int) -> None:
        """Note that nothing of the opponent's stands there."""
        self.fresh.update(squares)
        for square in squares:
            self.theirs.pop(square, None)


def _promotion(move: int) -> chess.PieceType | None:
    return (move >> 12) + 1 if move >> 12 else None


def _refused_square(event: Moved, *, pawns: int) -> tuple[int, bool] | None:
    """Return the square for which a pawn's move was not made as asked, and whether it is taken.

    A pawn's step straight on fails where a piece stands, its capture where none does. What other
    pieces meet on their way they capture.
    """
    start, end = event.requested & 63, event.requested >> 6 & 63
    if event.requested in (NOTHING, event.taken) or not pawns >> start & 1:
        return None
    if start & 7 != end & 7:
        return end, False
    reached = start if event.taken == NOTHING else event.taken >> 6 & 63
    return reached + (8 if end > start else -8), True
