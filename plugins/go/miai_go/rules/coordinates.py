"""Names of points, GTP vertices such as ``D4``, and boards as text.

Columns are the letters A to Z without I, from the left; rows are numbers from 1, the lowest. The
action of a point is `row * size + column`, both from 0, so A1 is 0 as in OpenSpiel; `size * size`
is the pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai.errors import InvalidActionError

COLUMNS: Final = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
MAX_SIZE: Final = len(COLUMNS)
"""Maximum number of points on a side."""
SYMMETRIES: Final = 8
"""Symmetries of a board, see `miai_go.rules.symmetry`."""

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


STONES: Final = ".XO"
"""Characters for empty, Black and White; dead stones are lower case."""


def draw(
    stones: NDArray[np.int8],
    *,
    last: int | None = None,
    dead: tuple[int, ...] = (),
    stars: tuple[int, ...] = (),
    marks: Mapping[int, str] | None = None,
) -> str:
    """Return a board with coordinates, highest row first: X Black, O White, + star points.

    Args:
      stones: int8 of shape (size, size); row 0 is drawn lowest.
      last: the action to put in parentheses; a pass is not shown.
      dead: points of stones to draw in lower case.
      stars: points to mark if they are empty.
      marks: characters to draw at points instead of their stones.
    """
    size = len(stones)
    header = "   " + " ".join(COLUMNS[:size])
    lines = [header]
    for row in reversed(range(size)):
        cells = " "
        for column in range(size):
            point = row * size + column
            cell = _cell(int(stones[row, column]), point in dead, point in stars)
            cells += (marks or {}).get(point, cell)
            cells += "(" if point + 1 == last and column + 1 < size else " "
            if point == last:
                cells = f"{cells[:-1]})"
        if last is not None and last == row * size:
            cells = "(" + cells[1:]
        lines.append(f"{row + 1:2}{cells}{row + 1}")
    lines.append(header)
    return "\n".join(lines)


def _cell(stone: int, dead: bool, star: bool) -> str:
    if stone == 0:
        return "+" if star else STONES[0]
    return STONES[stone].lower() if dead else STONES[stone]
