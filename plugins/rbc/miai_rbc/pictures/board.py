"""The board of all pictures: `chess.svg` draws it, and marks are laid over it.

A picture is one text without scripts or references to anything outside it. Its unit is that of
`chess.svg`: a square is 45 wide. The board's margin begins at the origin; headings are above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import chess
import chess.svg
from markupsafe import Markup

from miai.markup import Attribute, number, tag
from miai.squares import BLUE, GREEN, INK, VERMILLION

SQUARE: Final = chess.svg.SQUARE_SIZE
SIZE: Final = int(chess.svg.board(borders=True).partition('viewBox="0 0 ')[2].partition(" ")[0])
"""Width and height of the board with its margin, as this release of python-chess draws it."""
LEFT: Final = (SIZE - 8 * SQUARE) // 2
"""Width of the margin."""
_HEADING: Final = 44

# The colours are those of `miai.squares`; a shape or a text always repeats what a colour says.
FRAME: Final[dict[str, Attribute]] = {"fill": "none", "stroke": GREEN, "stroke_width": 4}
"""Attributes of the frame of a sensed window."""
_COLOURS: Final = {
    "square light": "#ffffff",
    "square dark": "#e3e3e3",
    "margin": "#ffffff",
    "outer border": "#ffffff",
    "inner border": INK,
    "coord": INK,
    "arrow blue": f"{BLUE}d9",
    "arrow yellow": f"{BLUE}66",
    "arrow red": VERMILLION,
}

SIDES: Final = ("white", "black")
PIECES: Final = "PNBRQKpnbrqk"

_MAX_TEXT = 200  # characters
_LETTER_WIDTH = 0.54  # mean, relative to the font size
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES = re.compile(r' (?:id|class|style|fill|stroke|stroke-width)="[^"]*"')


def draw_board(
    player: int,
    position: chess.BaseBoard | None = None,
    *,
    fill: Mapping[int, str] | None = None,
    crosses: int = 0,
    arrows: Sequence[chess.svg.Arrow] = (),
) -> Markup:
    """Return a board as elements of an SVG picture, the player's side below.

    Args:
      position: the pieces; None for an empty board, which defines no shapes.
      fill: colours of squares.
      crosses: the set of squares marked with a cross.
      arrows: blue, yellow (pale blue) or red ones.
    """
    svg = chess.svg.board(
        position,
        orientation=player == 0,
        borders=True,
        colors=_COLOURS,
        fill=dict(fill or {}),
        squares=crosses,
        arrows=arrows,
    )
    return Markup(svg[svg.index(">") + 1 : svg.rindex("</svg>")])  # noqa: S704 - by python-chess


def corner(player: int, square: int) -> tuple[int, int]:
    """Return the upper left corner of a square."""
    rank, file = divmod(square, 8)
    column, row = (file, 7 - rank) if player == 0 else (7 - file, rank)
    return LEFT + SQUARE * column, LEFT + SQUARE * row


def frame(player: int, squares: Iterable[int]) -> Markup:
    """Return the frame of a sensed window."""
    x, y, width, height = box_round(player, squares)
    place = {"x": x, "y": y, "width": width, "height": height}
    return tag("rect", class_="window", **place, **FRAME)


def box_round(player: int, squares: Iterable[int]) -> tuple[int, int, int, int]:
    """Return x, y, width and height of the smallest box round some squares."""
    corners = [corner(player, square) for square in squares]
    x, y = (min(axis) for axis in zip(*corners, strict=True))
    right, bottom = (max(axis) + SQUARE for axis in zip(*corners, strict=True))
    return x, y, right - x, bottom - y


# -- pieces ---------------------------------------------------------------------------------------


def shape_of(piece: str) -> str:
    """Return the id of a piece's shape, such as ``black-pawn`` for ``p``."""
    kind = chess.Piece.from_symbol(piece)
    return f"{chess.COLOR_NAMES[kind.color]}-{chess.piece_name(kind.piece_type)}"


def outline_of(piece: str) -> str:
    """Return the id of a piece's outline, the same for both colours."""
    return f"outline-{shape_of(piece).partition('-')[2]}"


def place_shape(
    name: str, x: float, y: float, *, size: float = SQUARE, **attributes: Attribute
) -> Markup:
    """Return a defined shape, scaled to a square of that corner and size."""
    # A group of its own, because some programs ignore the opacity of `use`.
    transform = f"translate({number(x)},{number(y)}) scale({number(size / SQUARE)})"
    return tag("g", tag("use", href=f"#{name}"), transform=transform, **attributes)


@cache
def shapes(*, outlines: bool = False) -> Markup:
    """Return the definitions of all pieces of python-chess, and of their outlines if wanted."""
    pieces = chess.svg.PIECES
    markup = Markup("".join(pieces.values()))  # noqa: S704 - by python-chess
    if not outlines:
        return markup
    style: dict[str, Attribute] = {"fill": "none", "stroke": BLUE, "stroke_width": 2.2}
    for piece in filter(str.isupper, pieces):
        bare = Markup(_STYLES.sub("", pieces[piece]))  # noqa: S704 - by python-chess
        markup += tag("g", bare, id=outline_of(piece), **style)
    return markup


# -- the whole picture ----------------------------------------------------------------------------


def line_of_text(text: str, x: float, y: float, *, size: float = 11, anchor: str = "") -> Markup:
    """Return a line of text, cut off at the picture's edge; `y` is its base line."""
    line = _clean(text, int((SIZE - LEFT) / (_LETTER_WIDTH * size)))
    return tag("text", line, x=x, y=y, font_size=size, text_anchor=anchor or None, fill=INK)


def _clean(text: str, limit: int = _MAX_TEXT) -> str:
    """Return a text on one line, shortened, without characters that XML forbids."""
    line = " ".join(_NOT_IN_XML.sub("\ufffd", text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def document(
    *parts: str, legend_height: float, heading: str, subheading: str, definitions: str = ""
) -> str:
    """Return the picture in ASCII: two lines of heading, the board, and a legend below it."""
    height = _HEADING + SIZE + legend_height
    svg = tag(
        "svg",
        tag("title", _clean(heading)),
        tag("defs", definitions),
        tag("rect", y=-_HEADING, width=SIZE, height=height, fill="#ffffff"),
        line_of_text(heading, LEFT, 20 - _HEADING, size=14),
        line_of_text(subheading, LEFT, 38 - _HEADING, size=12),
        *parts,
        **{"xmlns": "http://www.w3.org/2000/svg", "xmlns:xlink": "http://www.w3.org/1999/xlink"},
        viewBox=f"0 {-_HEADING} {SIZE} {number(height)}",
        font_family="sans-serif",
    )
    return svg.encode("ascii", "xmlcharrefreplace").decode("ascii")
