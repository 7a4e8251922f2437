"""Dark chess, or Fog of War: a player sees its pieces and the squares that they can move to.

The rules are those of OpenSpiel's `dark_chess` but for two: a position that occurs for the third
time does not end the game, as a player cannot know it; and a pawn's double step does not show its
own side the square that it passed. A blocked pawn does not see what blocks it, and an empty square
that a pawn attacks is not seen. Some sites (dragonheelslair.com) show both; Chess.com does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import chess
import numpy as np

from miai import Json, Observation
from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.board import EP_SHIFT, PAWNS, STATE, WHITE
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.vision import list_taken, visible_squares
from miai_rbc.rules.actions import action_name, action_of, move_of_action, square_name
from miai_rbc.rules.game import BoardGame, BoardState
from miai_rbc.rules.observations import (
    KING_CAPTURED,
    BadObservationError,
    Moved,
    OpponentMoved,
    Sensed,
    check_pieces,
    put_piece,
    square_of_name,
)

# -- views -----------------------------------------------------------------------------------------

_LETTERS = "PNBRQKpnbrqk"
FOG, EMPTY = "?", "."
ANY_EP = -2
"""In place of the en passant square: the player does not know it."""
_EP_BITS = 127 << int(EP_SHIFT)


@dataclass(frozen=True, slots=True)
class View:
    """What a player sees of a board.

    Attributes:
      player: 0 for White, 1 for Black.
      window: the visible squares, bit by bit.
      pieces: uint64 (7,), words 0 to 6 of a row within the window.
      ep: the square on which the player can capture en passant, -1 for none; `ANY_EP` when it is
        not its turn.
    """

    player: int
    window: int
    pieces: Words
    ep: int

    def sensed(self) -> Sensed:
        """Return the visible squares as an event of blind chess."""
        return Sensed(self.window, self.pieces)

    def to_words(self) -> Words:
        """Return the view as words of `kernels.vision`: uint64 (VIEW,).

        Of unseen squares the player's pawns tell some: they would see those ahead if they were
        free, and those that they attack if there were something to capture.
        """
        white = int(self.pieces[WHITE])
        taken = 0
        for word in self.pieces[:WHITE]:
            taken |= int(word)
        own = taken & ~white if self.player else white
        pawns = int(self.pieces[PAWNS]) & own
        steps = pawns >> 8 if self.player else pawns << 8
        free = steps & self.window & ~taken
        leaps = (free & chess.BB_RANK_6) >> 8 if self.player else (free & chess.BB_RANK_3) << 8
        sides = (steps & ~chess.BB_FILE_A) >> 1 | (steps & ~chess.BB_FILE_H) << 1
        blocked, empty = (steps | leaps) & ~self.window, sides & ~self.window
        known, value = (_EP_BITS, (self.ep + 1) << int(EP_SHIFT)) if self.ep != ANY_EP else (0, 0)
        rest = np.array([self.window, blocked, empty, known, value], np.uint64)
        return np.concatenate([self.pieces, rest])

    def to_text(self) -> str:
        """Return eight ranks from the eighth on, as in a FEN, ``.`` empty and ``?`` unseen."""
        cells = [EMPTY if self.window >> square & 1 else FOG for square in range(64)]
        white = int(self.pieces[WHITE])
        for kind in range(6):
            squares = int(self.pieces[kind])
            for square in chess.scan_forward(squares):
                cells[square] = _LETTERS[kind if white >> square & 1 else kind + 6]
        return "/".join("".join(cells[8 * rank : 8 * rank + 8]) for rank in range(7, -1, -1))

    @classmethod
    def of_text(cls, text: Any, player: int, ep: int) -> Self:
        """Return the view of a text as of `to_text`. Raises `ValueError` for any other."""
        ranks = text.split("/") if isinstance(text, str) else []
        if len(ranks) != 8 or any(len(rank) != 8 for rank in ranks):
            raise ValueError("a view has eight ranks of eight squares")
        window, pieces = 0, np.zeros(WHITE + 1, np.uint64)
        for square, cell in enumerate("".join(reversed(ranks))):
            if cell == FOG:
                continue
            window |= 1 << square
            if cell != EMPTY:
                put_piece(pieces, cell, square)
        check_pieces(pieces)
        return cls(player, window, pieces, ep)


def view_of(row: Words, player: int) -> View:
    """Return what a player sees of a board: uint64 (8,)."""
    window = int(visible_squares(row, player))
    turn = int(row[STATE]) & 1
    ep = (int(row[STATE]) >> int(EP_SHIFT)) - 1 if turn == player else ANY_EP
    return View(player, window, row[: WHITE + 1] & np.uint64(window), ep)


# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SeenMoved(Moved):
    """The player moved; `view` is what it sees then."""

    view: View = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class SeenOpponentMoved(OpponentMoved):
    """The opponent moved; `view` is what the player sees then."""

    view: View = field(kw_only=True)


def seen_event_of(observation: Observation, *, pawns: int) -> SeenMoved | SeenOpponentMoved:
    """Return an observation of `DarkState`, after a move, as an event.

    Args:
      pawns: the squares of the player's pawns before its move, bit by bit.

    Raises:
      BadObservationError: not an observation of the game after a move.
    """
    data, player = observation.data, observation.player
    try:
        if not isinstance(data, Mapping):
            raise TypeError("no data")
        own = observation.actor == player
        unknown = own or data["en_passant"] == FOG
        square = None if unknown else square_of_name(data["en_passant"])
        ep = ANY_EP if unknown else -1 if square is None else square
        view = View.of_text(data["view"], player, ep)
        captured = square_of_name(data["captured"])
        ends = KING_CAPTURED in str(data.get("result", ""))
        if not own:
            return SeenOpponentMoved(captured, ends, view=view)
        if observation.action is None:
            raise TypeError("a player sees its own moves")
        move = move_of_action(observation.action, pawns=pawns)
        return SeenMoved(move, move, captured, ends, view=view)
    except (KeyError, TypeError, ValueError) as error:
        raise BadObservationError(
            f"dark-chess: {str(observation)[:200]} is not an observation of the game: {error}"
        ) from None


# -- the game --------------------------------------------------------------------------------------


class DarkState(BoardState):
    """A point in a game of dark chess; `boards` is the true board."""

    game: DarkGame

    def __init__(self, game: DarkGame) -> None:
        super().__init__(game)
        self._trail: list[tuple[Words, int | None]] = [(self.boards.rows[0].copy(), None)]

    def legal_actions(self) -> list[int]:
        """Return all moves of pieces; a king may be left or moved where it can be captured."""
        return [] if self._is_over() else self._moves().copy()

    def _moves(self) -> list[int]:
        if self._legal is None:
            moves = np.empty(MAX_MOVES, np.int64)
            count = int(list_taken(self.boards.rows[0], moves))
            self._legal = sorted(map(action_of, moves[:count].tolist()))
        return self._legal

    def _draw(self) -> str:
        return super()._draw() or ("" if self._moves() else "no move")

    def _apply(self, action: int) -> None:
        self._play(self.move_of(action))
        self._trail.append((self.boards.rows[0].copy(), self._captured))

    def observation(self, player: int) -> Observation:
        """Return what `player` observes of the last move: all it sees, not the opponent's move.

        `Observation.data` is ``{"view", "captured", "en_passant"}``: the visible squares as
        `View.to_text`, the square on which the last move captured, and that on which the player
        can capture en passant, or None. At the end there is also the ``"result"``.
        """
        row, captured = self._trail[-1]
        data = _seen(row, captured, player)
        if self._is_over():
            data["result"] = self.result_to_string()
        actor, action = self._last_move(player)
        return Observation(player, actor, action, data, self._legal_for(player))

    def _last_move(self, player: int) -> tuple[int | None, int | None]:
        if not self._history:
            return None, None
        actor = self._actors[-1]
        return actor, self._history[-1] if actor == player else None

    def information_state_string(self, player: int) -> str:
        """Return all observations: own moves, captures, views, and where en passant is possible."""
        moves = ["", *(action_name(a) for a in self._history)]
        actors = [None, *self._actors]
        texts = [
            f"{move if actor == player else ''}:{':'.join(map(str, _seen(*at, player).values()))}"
            for move, actor, at in zip(moves, actors, self._trail, strict=True)
        ]
        return " ".join([*texts, self.result_to_string()]).rstrip()

    def set_board(self, row: Words, **facts: Any) -> None:
        """Replace the board, as `BoardState.set_board`."""
        super().set_board(row, **facts)
        self._trail = [(row.copy(), self._captured)]

    def _copy_to(self, other: Self) -> None:
        super()._copy_to(other)
        other._trail = self._trail.copy()


def _seen(row: Words, captured: int | None, player: int) -> dict[str, Json]:
    view = view_of(row, player)
    return {
        "view": view.to_text(),
        "captured": None if captured is None else square_name(captured),
        "en_passant": square_name(view.ep) if view.ep >= 0 else None,
    }


class DarkGame(BoardGame):
    """Dark chess, also called Fog of War chess."""

    NAME = "dark-chess"

    def new_initial_state(self) -> DarkState:
        """Return the starting position."""
        return DarkState(self)
