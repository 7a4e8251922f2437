"""Names of points: GTP vertices such as ``D4``.

Columns are the letters A to Z without I, from the left, which is enough for 25; rows are numbers
from the lowest, 1. The action of a point is `row * size + column`, both from 0, so A1 is 0 as in
OpenSpiel. The action `size * size` is the pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from miai.errors import InvalidActionError

COLUMNS: Final = "ABCDEFGHJKLMNOPQRSTUVWXYZ"

_ROW_DIGITS: Final = 2


def vertex(action: int, size: int) -> str:
    """Return the vertex of an action: ``D4``, or ``pass``."""
    if action == size * size:
        return "pass"
    row, column = divmod(action, size)
    return f"{COLUMNS[column]}{row + 1}"


def parse_vertex(text: str, size: int) -> int:
    """Return the action of a vertex, case and surrounding white space ignored.

    Raises:
      InvalidActionError: the text is no vertex, or lies off the board.
    """
    word = text.strip().upper()
    if word == "PASS":
        return size * size
    column = COLUMNS.find(word[:1]) if word else -1
    digits = word[1:]
    if column < 0 or not (digits.isascii() and digits.isdigit() and len(digits) <= _ROW_DIGITS):
        raise InvalidActionError(
            f"go: {text.strip()[:40]!r} is no vertex; write a column letter (A to "
            f"{COLUMNS[size - 1]}, without I) and a row number (1 to {size}), or 'pass'"
        )
    row = int(digits) - 1
    if column >= size or not 0 <= row < size:
        raise InvalidActionError(f"go: {word} lies off the {size}x{size} board")
    return row * size + column


def parse_points(vertices: Iterable[str], size: int) -> tuple[int, ...]:
    """Return the actions of vertices that must be points, in their order.

    Raises:
      InvalidActionError: one is no vertex, off the board, the pass or named twice.
    """
    points: list[int] = []
    for text in vertices:
        action = parse_vertex(text, size)
        if action == size * size:
            raise InvalidActionError("go: 'pass' is no point where a stone can lie")
        if action in points:
            raise InvalidActionError(f"go: {vertex(action, size)} is named twice")
        points.append(action)
    return tuple(points)


def star_points(size: int) -> tuple[int, ...]:
    """Return the points that boards mark, ascending; none on boards smaller than 7.

    The corner points lie on the third line, from 13 on on the fourth; odd sizes have the centre
    too, and from 15 on the middles of the sides.
    """
    if size < 7:
        return ()
    low, middle = edge_line(size), size // 2
    lines = {low, size - 1 - low}
    points = {row * size + column for row in lines for column in lines}
    if size % 2:
        points.add(middle * size + middle)
    if size % 2 and size >= 15:
        points |= {row * size + middle for row in lines}
        points |= {middle * size + column for column in lines}
    return tuple(sorted(points))


def edge_line(size: int) -> int:
    """Return the line of handicap and star points, from 0: the third below 13, else the fourth."""
    return 3 if size >= 13 else 2
