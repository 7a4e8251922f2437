"""The picture of a belief: where the opponent's pieces may stand, and how probably."""

from __future__ import annotations

from typing import Final

import chess
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from miai.markup import number, tag
from miai.squares import GREEN, INK, ORANGE
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.pictures.board import (
    LEFT,
    PIECES,
    SIDES,
    SIZE,
    SQUARE,
    corner,
    document,
    draw_board,
    frame,
    line_of_text,
    outline_of,
    place_shape,
    shape_of,
    shapes,
)
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import window as window_round

_VISIBLE: Final = 0.01  # the minimum probability of a piece that is drawn
_KINDS_ON_A_SQUARE: Final = 4
_EQUAL_WEIGHTS: Final = np.zeros(0)

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
    most probable first. A viewer shows all numbers of the square under the pointer.

    Args:
      player: the player of the belief, 0 for White; an `RbcBelief` knows it.
      weights: (n,) of the boards, not negative; without them all boards count the same.
      truth: the true board; its pieces of the opponent are outlined.
      sensed: the centre of the window sensed, which is framed; 64 for none.
      heading: the first line, any text; by default it names the player.

    Raises:
      ValueError: the player is missing or another's, or the weights do not fit the boards.
    """
    boards, player = _boards_of(belief, player)
    chances = boards.occupancy(_checked(weights, boards))[:, :, :12].reshape(64, 12)
    window = () if sensed is None else window_round(sensed) if sensed < 64 else ()
    return document(
        draw_board(player),
        *(_square(square, chances[square], player) for square in range(64)),
        *([] if truth is None else _outlines(truth, player)),
        frame(player, window) if window else "",
        _legend(SIDES[1 - player], window=bool(window), truth=truth is not None),
        legend_height=62,
        heading=heading or f"What {SIDES[player]} considers possible",
        subheading=f"{SIDES[player]}'s view: {_size(belief)}",
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
        return _EQUAL_WEIGHTS
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
        return f"{size}, rebuilt"
    return f"{size}, a sample; others are {'lost' if belief.dropped else 'stashed'}"


def _square(square: int, chances: Values, player: int) -> Markup:
    """Return the colour and the pieces of a square.

    Args:
      chances: (12,) of `PIECES`.
    """
    if not chances.any():
        return Markup()
    x, y = corner(player, square)
    occupied = float(chances[6:].sum() if player == 0 else chances[:6].sum())
    heat = Markup()
    if occupied:
        place = {"x": x, "y": y, "width": SQUARE, "height": SQUARE}
        heat = tag("rect", class_="heat", **place, fill=ORANGE, fill_opacity=number(occupied, 4))
    order = [kind for kind in np.argsort(-chances, kind="stable").tolist() if chances[kind] > 0]
    return tag(
        "g",
        tag("title", _numbers(square, chances, order)),
        heat,
        *_pieces(chances, order, x, y),
        data_square=chess.square_name(square),
    )


def _numbers(square: int, chances: Values, order: list[int]) -> str:
    numbers = (
        f"{shape_of(PIECES[kind]).replace('-', ' ')} {number(100 * chances[kind], 4)} %"
        for kind in order
    )
    return f"{chess.square_name(square)}: {', '.join(numbers)}"


def _pieces(chances: Values, order: list[int], x: int, y: int) -> list[Markup]:
    kinds = [kind for kind in order if chances[kind] >= _VISIBLE][:_KINDS_ON_A_SQUARE]
    size = SQUARE if len(kinds) == 1 else SQUARE / 2
    top = y + (SQUARE / 4 if len(kinds) == 2 else 0)
    return [
        place_shape(
            shape_of(PIECES[kind]),
            x + size * (place % 2),
            top + size * (place // 2),
            size=size,
            opacity=number(chances[kind], 4),
        )
        for place, kind in enumerate(kinds)
    ]


def _outlines(truth: chess.Board, player: int) -> list[Markup]:
    theirs = truth.occupied_co[player == 1]
    return [
        place_shape(
            outline_of(piece.symbol()),
            *corner(player, square),
            class_="truth",
            data_square=chess.square_name(square),
        )
        for square, piece in truth.piece_map(mask=theirs).items()
    ]


def _gradient() -> Markup:
    stops = (tag("stop", offset=share, stop_color=ORANGE, stop_opacity=share) for share in (0, 1))
    return tag("linearGradient", *stops, id="heat")


def _legend(opponent: str, *, window: bool, truth: bool) -> Markup:
    y = SIZE + 10
    bar = {"x": LEFT, "y": y, "width": 120, "height": 12}
    parts = [
        tag("rect", **bar, fill="url(#heat)", stroke=INK, stroke_width=0.6),
        line_of_text("0", LEFT, y + 24, size=10, anchor="middle"),
        line_of_text("1/2", LEFT + 60, y + 24, size=10, anchor="middle"),
        line_of_text("1", LEFT + 120, y + 24, size=10, anchor="middle"),
        line_of_text(f"probability that {opponent} stands there", LEFT + 130, y + 10),
    ]
    x, y = LEFT, y + 34
    if window:
        place = {"x": x, "y": y, "width": 13, "height": 13}
        parts.append(tag("rect", **place, fill="none", stroke=GREEN, stroke_width=2.5))
        parts.append(line_of_text("sensed", x + 20, y + 11))
        x += 80
    if truth:
        parts.append(place_shape("outline-pawn", x - 2, y - 2, size=18))
        parts.append(line_of_text(f"where {opponent} truly stands", x + 20, y + 11))
    return Markup().join(parts)
