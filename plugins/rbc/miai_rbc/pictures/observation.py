"""The picture of what one turn told a player; all the rest of the board lies in fog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import chess

from miai_rbc.kernels.board import NOTHING
from miai_rbc.pictures.svg import (
    BLUE,
    BOTTOM,
    LEFT,
    SIDES,
    SQUARE,
    VERMILLION,
    BoardLayout,
    document,
    element,
    frame,
    number,
    piece_at,
    shapes,
    words,
)
from miai_rbc.rules.actions import move_name, square_name
from miai_rbc.rules.observations import Event, Moved, OpponentMoved, Sensed
from miai_rbc.rules.rows import piece_at as piece_on

_FOG: Final = "#8a94a0"
_HEIGHT = 494


def draw_observation(
    told: Sequence[Event], player: int, *, own: chess.Board, heading: str = ""
) -> str:
    """Return the picture of what a turn told, as SVG, its player's side below.

    A cross marks where a piece of one's own was captured, a ring where one captured. The move as
    made is an arrow; where another was asked for, that is a dashed one.

    Args:
      told: the events of one turn, in order; the last ones may be missing.
      player: who was told, 0 for white.
      own: a board with the player's own pieces as they stand before its move; the opponent's on it
        are not drawn.
      heading: the first line, any text.
    """
    layout = BoardLayout(player)
    mine = own.occupied_co[player == 0]
    seen = 0
    parts: list[str] = []
    for event in told:
        match event:
            case OpponentMoved(captured=square):
                parts += [] if square is None else [_cross(*layout.middle(square))]
            case Sensed(window=window) if window:
                seen |= window
                parts.append(_seen(event, mine, layout) + frame(layout, chess.SquareSet(window)))
            case Moved():
                parts.append(_move(event, layout))
    clear = seen | mine
    return document(
        layout.board(),
        *(_fog(square, layout) for square in range(64) if not clear >> square & 1),
        *(_own(square, own, layout) for square in chess.SquareSet(mine)),
        *parts,
        *_lines(told),
        height=_HEIGHT,
        heading=heading or f"What {SIDES[player]} was told",
        below=f"{SIDES[player]}'s view of one turn; fog where nothing was told",
        definitions=shapes(),
    )


def _fog(square: int, layout: BoardLayout) -> str:
    x, y = layout.corner(square)
    size = {"width": SQUARE, "height": SQUARE}
    name = square_name(square)
    return element("rect", class_="fog", data_square=name, x=x, y=y, **size, fill=_FOG)


def _own(square: int, own: chess.Board, layout: BoardLayout) -> str:
    piece = own.piece_at(square)
    assert piece is not None
    name = square_name(square)
    return piece_at(piece.symbol(), *layout.corner(square), class_="own", data_square=name)


def _seen(event: Sensed, mine: int, layout: BoardLayout) -> str:
    """Return the opponent's pieces that a sense showed."""
    parts = []
    for square in chess.SquareSet(event.window & ~mine):
        piece = piece_on(event.pieces, square)
        if piece is not None:
            name = square_name(square)
            place = layout.corner(square)
            parts.append(piece_at(piece, *place, class_="seen", data_square=name))
    return "".join(parts)


# -- marks ----------------------------------------------------------------------------------------


def _cross(x: float, y: float) -> str:
    d = SQUARE / 2 - 7
    path = f"M{x - d} {y - d} L{x + d} {y + d} M{x + d} {y - d} L{x - d} {y + d}"
    return element("path", class_="lost", d=path, stroke=VERMILLION, stroke_width=5)


def _ring(x: float, y: float) -> str:
    return element(
        "circle",
        class_="captured",
        cx=x,
        cy=y,
        r=SQUARE / 2 - 4,
        fill="none",
        stroke=VERMILLION,
        stroke_width=4,
    )


def _move(event: Moved, layout: BoardLayout) -> str:
    parts = []
    if event.captured is not None:
        parts.append(_ring(*layout.middle(event.captured)))
    if event.requested != event.taken and event.requested != NOTHING:
        parts.append(_arrow(event.requested, layout, dashed=True))
    if event.taken != NOTHING:
        parts.append(_arrow(event.taken, layout, dashed=False))
    return "".join(parts)


def _arrow(move: int, layout: BoardLayout, *, dashed: bool) -> str:
    x, y = layout.middle(move & 63)
    end_x, end_y = layout.middle(move >> 6 & 63)
    length = math.hypot(end_x - x, end_y - y)
    unit_x, unit_y = (end_x - x) / length, (end_y - y) / length
    neck_x, neck_y = end_x - 14 * unit_x, end_y - 14 * unit_y
    head = (
        (end_x, end_y),
        (neck_x - 7 * unit_y, neck_y + 7 * unit_x),
        (neck_x + 7 * unit_y, neck_y - 7 * unit_x),
    )
    line = {"x1": x, "y1": y, "x2": neck_x, "y2": neck_y}
    dashes = "8 5" if dashed else "none"
    points = " ".join(f"{number(px)},{number(py)}" for px, py in head)
    return element(
        "g",
        element("line", **line, stroke=BLUE, stroke_width=5, stroke_dasharray=dashes),
        element("polygon", points=points, fill="#ffffff" if dashed else BLUE, stroke=BLUE),
        class_="requested" if dashed else "taken",
        data_move=move_name(move),
        opacity=0.85,
    )


# -- words ----------------------------------------------------------------------------------------


def _lines(told: Sequence[Event]) -> list[str]:
    texts = [text for event in told for text in [_text(event)] if text]
    return [words(text, LEFT, BOTTOM + 32 + 15 * line) for line, text in enumerate(texts)]


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
    asked, made = move_name(event.requested), move_name(event.taken)
    told = f"Asked for {asked} (dashed)" if event.requested != event.taken else f"Moved {made}"
    if event.requested != event.taken:
        told += "; no move was made" if event.taken == NOTHING else f", made was {made}"
    if event.captured is not None:
        told += f"; captured on {square_name(event.captured)} (ring)"
    return f"{told}."
