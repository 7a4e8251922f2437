"""Small pictures for pages with many positions: shapes are defined once and referred to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import chess
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from miai.markup import Attribute, tag
from miai_rbc.pictures.board import (
    FOG,
    ORANGE,
    PIECES,
    SIZE,
    SQUARE,
    VERMILLION,
    corner,
    draw_board,
    frame,
    outline_of,
    shape_of,
    shapes,
)
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.knowledge import UNKNOWN, Knowledge

_STALE: Final = 0.45
"""The opacity of a piece that may have moved since it was seen."""
_BOARD: Final = "rbc-board-{}"


def definitions() -> str:
    """Return the pieces, their outlines, and the empty board from either side."""
    boards = (tag("g", draw_board(player), id=_BOARD.format(player)) for player in (0, 1))
    return str(shapes(outlines=True) + Markup().join(boards))


def draw_position(board: chess.Board) -> str:
    """Return the true position, White below."""
    return _svg(0, _pieces_of(board, board.occupied, 0))


def draw_knowledge(knowledge: Knowledge) -> str:
    """Return what a player knows, its side below.

    Fog lies on squares that the opponent may have touched since they were seen; its pieces there
    are pale. A cross is a piece of unknown kind. The window of the last sense is framed.
    """
    player, board = knowledge.player, knowledge.own.board
    mine = board.occupied_co[player == 0]
    foggy = [s for s in chess.SQUARES if not mine >> s & 1 and s not in knowledge.fresh]
    parts = [tag("path", d=_path(foggy, player), fill=FOG, opacity=0.75)] if foggy else []
    parts += _pieces_of(board, mine, player)
    for square, seen in knowledge.theirs.items():
        opacity = None if square in knowledge.fresh else _STALE
        parts.append(_sighting(seen.piece, square, player, opacity))
    if knowledge.sensed is not None and (window := knowledge.sensed[0].window):
        parts.append(frame(player, chess.SquareSet(window)))
    return _svg(player, parts)


def draw_small_belief(boards: BoardSet, player: int, own: chess.Board, truth: chess.Board) -> str:
    """Return what a player considers possible, the opponent's true pieces outlined.

    A square is as orange as it is probable that the opponent stands there; the piece on it is the
    most probable one, as opaque as it is probable. Both in tenths; all boards count the same.
    """
    chances = boards.occupancy()[:, :, :12].reshape(64, 12)
    theirs = slice(6, 12) if player == 0 else slice(0, 6)
    parts = _heat(chances[:, theirs].sum(axis=1), player)
    for square in range(64):
        kind = theirs.start + int(chances[square, theirs].argmax())
        chance = round(float(chances[square, kind]), 1)
        if chance:
            opacity = None if chance >= 1 else chance
            parts.append(_shape(shape_of(PIECES[kind]), square, player, opacity=opacity))
    parts += _pieces_of(own, own.occupied_co[player == 0], player)
    hidden = truth.piece_map(mask=truth.occupied_co[player == 1])
    parts += [_shape(outline_of(p.symbol()), square, player) for square, p in hidden.items()]
    return _svg(player, parts)


def _svg(player: int, parts: list[Markup]) -> str:
    board = tag("use", href=f"#{_BOARD.format(player)}")
    return str(tag("svg", board, *parts, viewBox=f"0 0 {SIZE} {SIZE}", role="img"))


def _pieces_of(board: chess.Board, squares: int, player: int) -> list[Markup]:
    pieces = board.piece_map(mask=squares)
    return [_shape(shape_of(piece.symbol()), square, player) for square, piece in pieces.items()]


def _shape(name: str, square: int, player: int, **attributes: Attribute) -> Markup:
    x, y = corner(player, square)
    return tag("use", href=f"#{name}", x=x, y=y, **attributes)


def _sighting(piece: str, square: int, player: int, opacity: float | None) -> Markup:
    if piece != UNKNOWN:
        return _shape(shape_of(piece), square, player, opacity=opacity)
    x, y = corner(player, square)
    path = f"M{x + 13.5} {y + 13.5}l18 18m0-18l-18 18"
    return tag("path", d=path, stroke=VERMILLION, stroke_width=5, opacity=opacity)


def _heat(occupied: NDArray[np.float64], player: int) -> list[Markup]:
    """Return a shape for each tenth of probability, of the squares that have it."""
    tenths = np.rint(10 * occupied).astype(int)
    return [
        tag(
            "path",
            d=_path(np.flatnonzero(tenths == tenth).tolist(), player),
            fill=ORANGE,
            opacity=tenth / 10,
        )
        for tenth in np.unique(tenths[tenths > 0]).tolist()
    ]


def _path(squares: Iterable[int], player: int) -> str:
    corners = (corner(player, square) for square in squares)
    return "".join(f"M{x} {y}h{SQUARE}v{SQUARE}h-{SQUARE}z" for x, y in corners)
