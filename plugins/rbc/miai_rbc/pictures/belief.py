"""The picture of a belief: where the opponent's pieces may stand, and how probably."""

from __future__ import annotations

from html import escape
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from miai_rbc.belief.belief import RbcBelief
from miai_rbc.pictures.svg import (
    BOTTOM,
    GREEN,
    INK,
    LEFT,
    ORANGE,
    SIDES,
    SQUARE,
    BoardLayout,
    document,
    element,
    frame,
    name_of,
    number,
    outline_at,
    piece_at,
    shapes,
    words,
)
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.state import window as window_round

LEAST: Final = 0.01
"""Pieces less probable than this are left out; they could not be seen."""

_MOST_KINDS = 4  # on a square
_PIECES = "PNBRQKpnbrqk"
_HEIGHT = 494
_NO_WEIGHTS = np.zeros(0)

Values = NDArray[np.float64]


def draw_belief(
    belief: RbcBelief | BoardSet,
    player: int | None = None,
    *,
    weights: Values | None = None,
    truth: chess.Board | None = None,
    sensed: int | None = None,
    heading: str = "",
) -> str:
    """Return the picture of a belief as SVG, its player's side below.

    A piece is as opaque as it is probable, and a square as orange as it is probable that the
    opponent stands on it. Of several kinds on a square the four most probable are drawn small, the
    most probable first. A viewer shows all numbers of a square under the pointer.

    Args:
      player: whose belief it is, 0 for white; an `RbcBelief` says that itself.
      weights: (n,) of the boards, not negative; without them all count the same.
      truth: the true board; its pieces of the opponent are outlined.
      sensed: the square round which was sensed; its window is framed. 64 for none.
      heading: the first line, any text; without it whose belief it is.

    Raises:
      ValueError: the player is not known or another's, or the weights are none of these boards.
    """
    boards, player = _boards_of(belief, player)
    layout = BoardLayout(player)
    chances = boards.occupancy(_checked(weights, boards))[:, :, :12].reshape(64, 12)
    window = () if sensed is None else window_round(sensed) if sensed < 64 else ()
    outlines = [] if truth is None else _outlines(truth, layout)
    return document(
        layout.board(),
        *(_square(square, chances[square], layout) for square in range(64)),
        *outlines,
        frame(layout, window) if window else "",
        _legend(SIDES[1 - player], window=bool(window), truth=truth is not None),
        height=_HEIGHT,
        heading=heading or f"What {SIDES[player]} holds possible",
        below=f"{SIDES[player]}'s view: {_size(belief)}",
        definitions=shapes(outlines=truth is not None) + _gradient(),
    )


def _boards_of(belief: RbcBelief | BoardSet, player: int | None) -> tuple[BoardSet, int]:
    if isinstance(belief, RbcBelief):
        if player not in (None, belief.player):
            raise ValueError(f"the belief is player {belief.player}'s, not player {player}'s")
        return belief.boards, belief.player
    if player not in (0, 1):
        raise ValueError(f"a set of boards does not say whose it is: player 0 or 1, got {player}")
    return belief, player


def _checked(weights: Values | None, boards: BoardSet) -> Values:
    if weights is None:
        return _NO_WEIGHTS
    values = np.asarray(weights, np.float64)
    if values.shape != (len(boards),):
        raise ValueError(f"one weight for each of {len(boards)} boards, got shape {values.shape}")
    if not ((values >= 0).all() and 0 < values.sum() < np.inf):
        raise ValueError("weights are finite, not negative and not all 0")
    return values


def _size(belief: RbcBelief | BoardSet) -> str:
    size = f"{len(belief):,} board{'' if len(belief) == 1 else 's'}"
    if isinstance(belief, BoardSet) or belief.complete:
        return size
    if belief.rebuilt:
        return f"{size}, made up anew"
    return f"{size}, a sample; others are {'lost' if belief.dropped else 'stashed'}"


# -- a square -------------------------------------------------------------------------------------


def _square(square: int, chances: Values, layout: BoardLayout) -> str:
    """Return heat and pieces of a square.

    Args:
      chances: (12,) of white's pawn to king and black's pawn to king.
    """
    theirs = slice(6, 12) if layout.player == 0 else slice(0, 6)
    occupied = float(chances[theirs].sum())
    if not chances.any():
        return ""
    x, y = layout.corner(square)
    parts = [element("title", _told(square, chances))]
    if occupied:
        parts.append(
            element(
                "rect",
                class_="heat",
                x=x,
                y=y,
                width=SQUARE,
                height=SQUARE,
                fill=ORANGE,
                fill_opacity=occupied,
            )
        )
    parts += _pieces(chances, x, y)
    return element("g", *parts, data_square=chess.square_name(square))


def _told(square: int, chances: Values) -> str:
    """Return the pieces of a square in words, the most probable first."""
    order = [kind for kind in np.argsort(-chances, kind="stable") if chances[kind] > 0]
    told = [f"{_called(_PIECES[kind])} {number(100 * chances[kind])} %" for kind in order]
    return escape(f"{chess.square_name(square)}: {', '.join(told)}")


def _called(piece: str) -> str:
    return name_of(piece).replace("-", " ")


def _pieces(chances: Values, x: int, y: int) -> list[str]:
    likely = [kind for kind in np.argsort(-chances, kind="stable") if chances[kind] >= LEAST]
    shown = likely[:_MOST_KINDS]
    size = SQUARE if len(shown) == 1 else SQUARE / 2
    top = y + (SQUARE / 4 if len(shown) == 2 else 0)
    return [
        piece_at(
            _PIECES[kind],
            x + size * (place % 2),
            top + size * (place // 2),
            size=size,
            opacity=float(chances[kind]),
        )
        for place, kind in enumerate(shown)
    ]


def _outlines(truth: chess.Board, layout: BoardLayout) -> list[str]:
    theirs = truth.occupied_co[layout.player == 1]
    return [
        outline_at(
            piece.symbol(),
            *layout.corner(square),
            class_="truth",
            data_square=chess.square_name(square),
        )
        for square, piece in truth.piece_map(mask=theirs).items()
    ]


# -- the legend -----------------------------------------------------------------------------------


def _gradient() -> str:
    stops = [
        element("stop", offset=place, stop_color=ORANGE, stop_opacity=place) for place in (0, 1)
    ]
    return element("linearGradient", *stops, id="heat")


def _legend(opponent: str, *, window: bool, truth: bool) -> str:
    y = BOTTOM + 28
    bar = {"x": LEFT, "y": y, "width": 120, "height": 12}
    parts = [
        element("rect", **bar, fill="url(#heat)", stroke=INK, stroke_width=0.6),
        words("0", LEFT, y + 24, size=10, anchor="middle"),
        words("1/2", LEFT + 60, y + 24, size=10, anchor="middle"),
        words("1", LEFT + 120, y + 24, size=10, anchor="middle"),
        words(f"probability that {opponent} stands there", LEFT + 130, y + 10),
    ]
    x, y = float(LEFT), y + 34
    if window:
        parts.append(_frame_sign(x, y) + words("sensed", x + 20, y + 11))
        x += 80
    if truth:
        parts.append(_outline_sign(x, y, opponent))
        parts.append(words(f"where {opponent} truly stands", x + 20, y + 11))
    return "".join(parts)


def _frame_sign(x: float, y: float) -> str:
    return element(
        "rect", x=x, y=y, width=13, height=13, fill="none", stroke=GREEN, stroke_width=2.5
    )


def _outline_sign(x: float, y: float, opponent: str) -> str:
    return outline_at("p" if opponent == "black" else "P", x - 2, y - 2, size=18)
