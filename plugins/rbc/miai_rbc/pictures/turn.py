"""The picture of a player's observations in one turn; the rest of the board lies in fog."""

from __future__ import annotations

from collections.abc import Sequence

import chess
import chess.svg

from miai_rbc.kernels.board import NOTHING
from miai_rbc.pictures.board import (
    FOG,
    LEFT,
    SIDES,
    SIZE,
    document,
    draw_board,
    frame,
    line_of_text,
)
from miai_rbc.rules.actions import move_name, square_name
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed
from miai_rbc.rules.rows import piece_at


def draw_observation(
    events: Sequence[Event], player: int, *, own: chess.Board, heading: str = ""
) -> str:
    """Return the picture of a turn's observations as SVG, the player's side below.

    A cross marks the square where the player lost a piece, a ring the one where it captured. A blue
    arrow is the move taken, a pale one the move requested if that was another.

    Args:
      events: those of one turn, in order; the last ones may be missing.
      player: 0 for White.
      own: a board with the player's own pieces before its move; the opponent's are not drawn.
      heading: the first line, any text.
    """
    mine = own.occupied_co[player == 0]
    position = own.transform(lambda squares: squares & mine)
    clear, crosses = mine, 0
    arrows: list[chess.svg.Arrow] = []
    frames = []
    for event in events:
        match event:
            case OpponentMoved(captured=int(square)):
                crosses |= 1 << square
            case Sensed(window=window) if window:
                clear |= window
                _add_sensed(position, event, mine)
                frames.append(frame(player, chess.SquareSet(window)))
            case Moved():
                arrows += _arrows(event)
    fog = dict.fromkeys(chess.SquareSet(~clear & chess.BB_ALL), FOG)
    texts = [text for event in events if (text := _text(event))]
    return document(
        draw_board(player, position, fill=fog, crosses=crosses, arrows=arrows),
        *frames,
        *(line_of_text(text, LEFT, SIZE + 18 + 15 * line) for line, text in enumerate(texts)),
        legend_height=62,
        heading=heading or f"What {SIDES[player]} observed",
        subheading=f"{SIDES[player]}'s view of one turn; fog where nothing was observed",
    )


def _add_sensed(position: chess.Board, event: Sensed, mine: int) -> None:
    for square in chess.SquareSet(event.window & ~mine):
        piece = piece_at(event.pieces, square)
        if piece is not None:
            position.set_piece_at(square, chess.Piece.from_symbol(piece))


def _arrows(event: Moved) -> list[chess.svg.Arrow]:
    arrows = []
    if event.requested not in (NOTHING, event.taken):
        arrows.append(_arrow(event.requested, "yellow"))
    if event.taken != NOTHING:
        arrows.append(_arrow(event.taken, "blue"))
    if event.captured is not None:  # an arrow to its own square is a ring
        arrows.append(chess.svg.Arrow(event.captured, event.captured, color="red"))
    return arrows


def _arrow(move: int, colour: str) -> chess.svg.Arrow:
    return chess.svg.Arrow(move & 63, move >> 6 & 63, color=colour)


def _text(event: Event) -> str:
    match event:
        case OpponentMoved(captured=None):
            return "The opponent captured nothing."
        case OpponentMoved(captured=int(square)):
            return f"The opponent captured on {square_name(square)} (cross)."
        case Sensed(window=0):
            return "Nothing was sensed."
        case Sensed(window=window):
            first, *_, last = map(square_name, chess.SquareSet(window))
            return f"Sensed from {first} to {last} (frame)."
        case Moved():
            return _move_text(event)
    return ""


def _move_text(event: Moved) -> str:
    if event.requested == NOTHING:
        return "Passed."
    text = f"Moved {move_name(event.taken)}"
    if event.requested != event.taken:
        outcome = "no move was made" if event.taken == NOTHING else text.lower()
        text = f"Requested {move_name(event.requested)} (pale); {outcome}"
    if event.captured is not None:
        text += f"; captured on {square_name(event.captured)} (ring)"
    return f"{text}."
