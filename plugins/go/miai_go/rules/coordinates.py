"""Names of points: GTP vertices such as ``D4``.

Columns are the letters A to Z without I, from the left; rows are numbers from 1, the lowest. The
action of a point is `row * size + column`, both from 0, so A1 is 0 as in OpenSpiel; `size * size`
is the pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from miai.errors import InvalidActionError

COLUMNS: Final = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
MAX_SIZE: Final = len(COLUMNS)
"""Maximum number of points on a side."""

_ROW_DIGITS: Final = 2


def vertex(action: int, size: int) -> str:
    """Return the vertex of an action: ``D4``, or ``pass``."""
    if action == size * size:
        return "pass"
    row, column = divmod(action, size)
    return f"{COLUMNS[column]}{row + 1}"


def parse_vertex(text: str, size: int) -> int:
    """Return the action of a vertex, in any case. Raises `InvalidActionError` for other text."""
    word = text.strip().upper()
    if word == "PASS":
        return size * size
    column = COLUMNS.find(word[:1]) if word else -1
    digits = word[1:]
    if column < 0 or not (digits.isascii() and digits.isdigit() and len(digits) <= _ROW_DIGITS):
        raise InvalidActionError(
            f"go: {text.strip()[:40]!r} is not a vertex; write a column letter (A to "
            f"{COLUMNS[size - 1]}, without I) and a row number (1 to {size}), or 'pass'"
        )
    row = int(digits) - 1
    if column >= size or not 0 <= row < size:
        raise InvalidActionError(f"go: {word} is off the {size}x{size} board")
    return row * size + column


def parse_points(vertices: Iterable[str], size: int) -> tuple[int, ...]:
    """Return the actions of distinct points, in order. Raises `InvalidActionError`."""
    points: list[int] = []
    for text in vertices:
        action = parse_vertex(text, size)
        if action == size * size:
            raise InvalidActionError("go: 'pass' is not a point")
        if action in points:
            raise InvalidActionError(f"go: {vertex(action, size)} is named twice")
        points.append(action)
    return tuple(points)


def star_points(size: int) -> tuple[int, ...]:
    """Return the star points, ascending; none on boards smaller than 7.

    Corner points lie on the third line, from size 13 on the fourth. Odd sizes also mark the centre,
    and from size 15 the middles of the sides.
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
    """Return the line of corner star points, counted from 0."""
    return 3 if size >= 13 else 2
