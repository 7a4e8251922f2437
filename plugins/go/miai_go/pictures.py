"""Boards as SVG inside a page: an empty board that is defined once, and stones that refer to it.

Stones of one colour are one path of dots, each a line of no length with round ends: a board full of
stones takes some hundred characters, so that a page can hold a whole game.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.coordinates import COLUMNS, star_points

BOARD_ID: Final = "go-board"
"""The id of the empty board's definition."""

WOOD: Final = "#f0d9a8"
LINE: Final = "#6b5330"

_CELL = 20
_MARGIN = 24
_OUTER, _INNER = 0.96, 0.89  # diameters of a stone and of its face, in cells
_BLACK, _WHITE, _MARK, _CROSS = "#111111", "#fbfbfb", "#d5312b", "#d5312b"


def board_definitions(size: int) -> str:
    """Return the empty board of that size, with coordinates and star points, as a definition."""
    low, high = _MARGIN, _MARGIN + _CELL * (size - 1)
    side = _side(size)
    lines = "".join(f"M{low} {at}H{high}M{at} {low}V{high}" for at in range(low, high + 1, _CELL))
    stars = _dots(size, star_points(size))
    parts = [
        f'<rect width="{side}" height="{side}" rx="3" fill="{WOOD}"/>',
        f'<path d="{lines}" stroke="{LINE}" stroke-width="0.8" stroke-linecap="square"/>',
        f'<path d="{stars}" transform="translate({_MARGIN} {_MARGIN})scale({_CELL})" '
        f'stroke="{LINE}" stroke-width=".22" stroke-linecap="round"/>',
        *_coordinates(size),
    ]
    return f'<g id="{BOARD_ID}">{"".join(parts)}</g>'


def board_picture(
    stones: NDArray[np.int8], *, last: int | None = None, dead: Sequence[int] = ()
) -> str:
    """Return a position as an ``svg`` element that refers to `board_definitions`.

    Args:
      stones: int8 of shape (size, size), row 0 lowest; 1 Black, 2 White.
      last: the action to mark; none is marked for a pass.
      dead: points of stones to cross out.
    """
    size = len(stones)
    points = [np.flatnonzero(stones == colour).tolist() for colour in (1, 2)]
    side = _side(size)
    parts = [
        *_stones(size, points[0] + points[1], _BLACK, _OUTER),
        *_stones(size, points[1], _WHITE, _INNER),
    ]
    if last is not None and last < size * size and stones.flat[last]:
        x, y = _at(size, last)
        parts.append(f'<circle cx="{x}" cy="{y}" r=".2" fill="{_MARK}"/>')
    if dead:
        crosses = "".join(_cross(*_at(size, point)) for point in dead)
        parts.append(f'<path d="{crosses}" stroke="{_CROSS}" stroke-width=".1"/>')
    return (
        f'<svg viewBox="0 0 {side} {side}" role="img"><use href="#{BOARD_ID}"/>'
        f'<g transform="translate({_MARGIN} {_MARGIN})scale({_CELL})">{"".join(parts)}</g></svg>'
    )


def _side(size: int) -> int:
    return 2 * _MARGIN + _CELL * (size - 1)


def _at(size: int, point: int) -> tuple[int, int]:
    """Return where a point lies, in cells from the upper left corner."""
    row, column = divmod(point, size)
    return column, size - 1 - row


def _stones(size: int, points: Sequence[int], colour: str, diameter: float) -> list[str]:
    if not points:
        return []
    return [
        f'<path d="{_dots(size, points)}" stroke="{colour}" stroke-width="{diameter:g}" '
        'stroke-linecap="round"/>'
    ]


def _dots(size: int, points: Iterable[int]) -> str:
    """Return a path of lines of no length, which round ends make dots."""
    return "".join("M{} {}h0".format(*_at(size, point)) for point in points)


def _cross(x: int, y: int) -> str:
    return f"M{x - 0.2:g} {y - 0.2:g}l.4 .4m0-.4l-.4 .4"


def _coordinates(size: int) -> list[str]:
    edge = _MARGIN + _CELL * (size - 1)
    parts = [f'<g font-family="sans-serif" font-size="9" text-anchor="middle" fill="{LINE}">']
    for i in range(size):
        at = _MARGIN + _CELL * i
        parts.append(f'<text x="{at}" y="{edge + 19}">{COLUMNS[i]}</text>')
        parts.append(f'<text x="8" y="{edge - _CELL * i + 3}">{i + 1}</text>')
    return [*parts, "</g>"]
