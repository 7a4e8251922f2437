"""Writing SVG: elements, safe texts, the board's squares and coordinates, the shapes of pieces.

A picture is one text without scripts or references to anything outside it. Lengths are units of
the picture's own coordinates, of which a square of the board is 45 wide, as the pieces of
python-chess are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Final

import chess

SQUARE: Final = 45
LEFT: Final = 24
TOP: Final = 50
WIDTH: Final = 2 * LEFT + 8 * SQUARE
BOTTOM: Final = TOP + 8 * SQUARE
"""The lower edge of the board."""

# Okabe and Ito's colours, which people of all kinds of colour vision tell apart; whatever a colour
# says is said by a shape or a text as well.
ORANGE: Final = "#e69f00"
BLUE: Final = "#0072b2"
VERMILLION: Final = "#d55e00"
GREEN: Final = "#009e73"
INK: Final = "#222222"
LIGHT, DARK = "#ffffff", "#e3e3e3"

SIDES: Final = ("white", "black")

_LONGEST_TEXT = 200  # characters
_LETTER = 0.54  # the mean width of a letter, of the height of its line
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES = re.compile(r' (?:id|class|style|fill|stroke|stroke-width)="[^"]*"')


def number(value: float) -> str:
    """Return a number as text, with at most four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def clean(text: str, *, longest: int = _LONGEST_TEXT) -> str:
    """Return a text as markup for it: on one line, shortened, without what XML may not hold."""
    line = " ".join(_FORBIDDEN.sub("\ufffd", text).split())
    return escape(line if len(line) <= longest else f"{line[: longest - 1]}…")


def element(name: str, *content: str, **attributes: str | float) -> str:
    """Return an element. Its content is markup; underlines in attributes' names become hyphens."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{told}>{''.join(content)}</{name}>" if content else f"<{name}{told}/>"


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else number(value)


def words(text: str, x: float, y: float, *, size: float = 11, anchor: str = "start") -> str:
    """Return a line of text, cut off at the picture's edge; `y` is its base line."""
    longest = int((WIDTH - LEFT) / (_LETTER * size))
    return element(
        "text", clean(text, longest=longest), x=x, y=y, font_size=size, text_anchor=anchor, fill=INK
    )


@dataclass(frozen=True, slots=True)
class BoardLayout:
    """Where squares lie for a player, whose own side is below.

    Attributes:
      player: 0 for white, 1 for black.
    """

    player: int

    def corner(self, square: int) -> tuple[int, int]:
        """Return the upper left corner of a square."""
        rank, file = divmod(square, 8)
        column, row = (file, 7 - rank) if self.player == 0 else (7 - file, rank)
        return LEFT + SQUARE * column, TOP + SQUARE * row

    def middle(self, square: int) -> tuple[float, float]:
        """Return the middle of a square."""
        x, y = self.corner(square)
        return x + SQUARE / 2, y + SQUARE / 2

    def rectangle(self, squares: Iterable[int]) -> dict[str, float]:
        """Return the attributes of the smallest rectangle that holds some squares."""
        corners = [self.corner(square) for square in squares]
        x, y = (min(axis) for axis in zip(*corners, strict=True))
        right, low = (max(axis) + SQUARE for axis in zip(*corners, strict=True))
        return {"x": x, "y": y, "width": right - x, "height": low - y}

    def board(self) -> str:
        """Return the empty board with its coordinates."""
        return "".join(map(self._square, range(64))) + self._coordinates()

    def _square(self, square: int) -> str:
        x, y = self.corner(square)
        light = (square // 8 + square) % 2
        fill = LIGHT if light else DARK
        return element("rect", x=x, y=y, width=SQUARE, height=SQUARE, fill=fill)

    def _coordinates(self) -> str:
        parts = []
        for index in range(8):
            x, y = self.middle(9 * index)
            parts.append(words("abcdefgh"[index], x, BOTTOM + 14, anchor="middle"))
            parts.append(words("12345678"[index], LEFT - 8, y + 4, anchor="end"))
        edge = {"x": LEFT, "y": TOP, "width": 8 * SQUARE, "height": 8 * SQUARE}
        return "".join(parts) + element("rect", **edge, fill="none", stroke=INK)


def frame(layout: BoardLayout, squares: Iterable[int]) -> str:
    """Return the frame of a window that was sensed."""
    place = layout.rectangle(squares)
    return element("rect", class_="window", **place, fill="none", stroke=GREEN, stroke_width=4)


# -- pieces ---------------------------------------------------------------------------------------


def name_of(piece: str) -> str:
    """Return what a piece (``P`` white's, ``p`` black's pawn) is called, such as ``black-pawn``."""
    kind = chess.piece_name(chess.Piece.from_symbol(piece).piece_type)
    return f"{SIDES[piece.islower()]}-{kind}"


def piece_at(
    piece: str, x: float, y: float, *, size: float = SQUARE, **attributes: str | float
) -> str:
    """Return a piece in the square of that corner and size."""
    return _used(name_of(piece), x, y, size, attributes)


def outline_at(
    piece: str, x: float, y: float, *, size: float = SQUARE, **attributes: str | float
) -> str:
    """Return the outline of a piece of either colour, as `piece_at`."""
    return _used(_outline(piece), x, y, size, attributes)


def _used(name: str, x: float, y: float, size: float, attributes: Mapping[str, str | float]) -> str:
    # A group of its own, because some programs ignore the opacity of `use`.
    place = f"translate({number(x)},{number(y)}) scale({number(size / SQUARE)})"
    return element("g", element("use", href=f"#{name}"), transform=place, **attributes)


def _outline(piece: str) -> str:
    return f"outline-{chess.piece_name(chess.Piece.from_symbol(piece).piece_type)}"


@cache
def shapes(*, outlines: bool = False) -> str:
    """Return the definitions of all pieces, of python-chess, and of their outlines if wanted."""
    import chess.svg

    parts = []
    for piece, shape in chess.svg.PIECES.items():
        parts.append(shape)
        if outlines and piece.isupper():
            bare = _STYLES.sub("", shape)
            name = _outline(piece)
            parts.append(element("g", bare, id=name, fill="none", stroke=BLUE, stroke_width=2.2))
    return "".join(parts)


# -- the whole ------------------------------------------------------------------------------------


def document(*parts: str, height: float, heading: str, below: str, definitions: str = "") -> str:
    """Return the picture, in ASCII: two lines of heading, and parts below them.

    Args:
      heading, below: texts, of any origin.
      definitions: markup that the parts refer to.
    """
    svg = element(
        "svg",
        element("title", clean(heading)),
        element("defs", definitions),
        element("rect", width=WIDTH, height=height, fill="#ffffff"),
        words(heading, LEFT, 20, size=14),
        words(below, LEFT, 38, size=12),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {number(height)}",
        font_family="sans-serif",
    )
    return svg.encode("ascii", "xmlcharrefreplace").decode("ascii")
