"""Small pictures for pages that show a whole game: the shapes are defined once and referred to.

The boards are those of `miai_rbc.pictures.svg`, without headings and legends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from miai_rbc.pictures.knowledge import UNKNOWN, Knowledge
from miai_rbc.pictures.svg import (
    LEFT,
    ORANGE,
    SQUARE,
    TOP,
    VERMILLION,
    BoardLayout,
    element,
    frame,
    name_of,
    number,
    shapes,
)
from miai_rbc.rules.board_set import BoardSet

_FOG: Final = "#8a94a0"
_OLD: Final = 0.45  # the opacity of a piece that was seen some time ago
_BOX: Final = {"x": LEFT - 20, "y": TOP - 6, "width": 8 * SQUARE + 26, "height": 8 * SQUARE + 26}
_VIEW_BOX: Final = " ".join(map(str, _BOX.values()))
_BOARD: Final = "rbc-board-{}"
_PIECES: Final = "PNBRQKpnbrqk"


def definitions() -> str:
    """Return the pieces, their outlines, and the empty board from either side."""
    ground = element("rect", **_BOX, rx=4, fill="#ffffff")
    boards = (
        element("g", ground, BoardLayout(side).board(), id=_BOARD.format(side)) for side in (0, 1)
    )
    return shapes(outlines=True) + "".join(boards)


def position(board: chess.Board) -> str:
    """Return the true position, white below."""
    layout = BoardLayout(0)
    return _svg(layout, [_piece(p.symbol(), s, layout) for s, p in board.piece_map().items()])


def knowledge(told: Knowledge) -> str:
    """Return what a player knows, its side below.

    Fog lies on squares that the opponent may have touched since they were seen; its pieces there
    are pale, a cross is one of unknown kind. The window of the last sense is framed.
    """
    layout = BoardLayout(told.player)
    own = told.own.board
    mine = own.occupied_co[told.player == 0]
    foggy = [s for s in chess.SQUARES if not mine >> s & 1 and s not in told.fresh]
    fog = element("path", d=_squares(foggy, layout), fill=_FOG, opacity=0.75)
    parts = [fog] if foggy else []
    for square in chess.SquareSet(mine):
        piece = own.piece_at(square)
        assert piece is not None
        parts.append(_piece(piece.symbol(), square, layout))
    for square, seen in told.theirs.items():
        opacity = 1.0 if square in told.fresh else _OLD
        parts.append(_seen(seen.piece, square, layout, opacity))
    if told.sensed is not None and (window := told.sensed[0].window):
        parts.append(frame(layout, chess.SquareSet(window)))
    return _svg(layout, parts)


def belief(boards: BoardSet, player: int, own: chess.Board, truth: chess.Board) -> str:
    """Return what a player holds possible, its side below, the opponent's true pieces outlined.

    A square is as orange as it is probable that the opponent stands there, all boards counted the
    same; the piece on it is the most probable one, as opaque as that is. Both in tenths: less than
    a twentieth is not shown.
    """
    layout = BoardLayout(player)
    chances = boards.occupancy()[:, :, :12].reshape(64, 12)
    theirs = slice(6, 12) if player == 0 else slice(0, 6)
    parts = [*_heat(chances[:, theirs].sum(axis=1), layout)]
    for square in range(64):
        kind = theirs.start + int(chances[square, theirs].argmax())
        chance = round(float(chances[square, kind]), 1)
        if chance:
            parts.append(_used(name_of(_PIECES[kind]), square, layout, _opacity(chance)))
    mine = own.piece_map(mask=own.occupied_co[player == 0])
    parts += [_piece(piece.symbol(), square, layout) for square, piece in mine.items()]
    hidden = truth.piece_map(mask=truth.occupied_co[player == 1])
    parts += [
        _used(f"outline-{chess.piece_name(piece.piece_type)}", square, layout, {})
        for square, piece in hidden.items()
    ]
    return _svg(layout, parts)


def _svg(layout: BoardLayout, parts: list[str]) -> str:
    board = element("use", href=f"#{_BOARD.format(layout.player)}")
    return element("svg", board, *parts, viewBox=_VIEW_BOX, role="img", font_family="sans-serif")


def _piece(piece: str, square: int, layout: BoardLayout) -> str:
    return _used(name_of(piece), square, layout, {})


def _used(
    name: str, square: int, layout: BoardLayout, attributes: Mapping[str, str | float]
) -> str:
    x, y = layout.corner(square)
    return element("use", href=f"#{name}", x=x, y=y, **attributes)


def _seen(piece: str, square: int, layout: BoardLayout, opacity: float) -> str:
    if piece != UNKNOWN:
        return _used(name_of(piece), square, layout, _opacity(opacity))
    x, y = layout.middle(square)
    path = f"M{number(x - 9)} {number(y - 9)}l18 18m0-18l-18 18"
    return element("path", d=path, stroke=VERMILLION, stroke_width=5, opacity=opacity)


def _heat(occupied: NDArray[np.float64], layout: BoardLayout) -> list[str]:
    """Return a shape for each tenth of probability with the squares that have it."""
    tenths = np.rint(10 * occupied).astype(int)
    return [
        element(
            "path",
            d=_squares(np.flatnonzero(tenths == tenth).tolist(), layout),
            fill=ORANGE,
            opacity=tenth / 10,
        )
        for tenth in np.unique(tenths[tenths > 0]).tolist()
    ]


def _squares(squares: Iterable[int], layout: BoardLayout) -> str:
    corners = (layout.corner(square) for square in squares)
    return "".join(f"M{x} {y}h{SQUARE}v{SQUARE}h-{SQUARE}z" for x, y in corners)


def _opacity(value: float) -> dict[str, str | float]:
    return {} if value >= 1 else {"opacity": value}
