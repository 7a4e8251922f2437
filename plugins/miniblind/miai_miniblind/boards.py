"""Squares by number, row by row from the lower left, and by name: ``a1`` is 0."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence


def square_name(square: int, columns: int) -> str:
    """Return the name of a square: its column's letter and its row's number from 1."""
    row, column = divmod(square, columns)
    return f"{string.ascii_lowercase[column]}{row + 1}"


def parse_square(text: str, *, rows: int, columns: int) -> int:
    """Return the square of a name. Raises `ValueError` if the board has no such square."""
    names = [square_name(square, columns) for square in range(rows * columns)]
    if text not in names:
        raise ValueError(f"{text[:20]!r} is not a square; the board has a1 to {names[-1]}")
    return names.index(text)


def board_symmetries(rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """Return the symmetries of a board, the identity first: the image of each square.

    There are eight of a square board and four of another.
    """
    images = []
    for turned in (False, True) if rows == columns else (False,):
        for down in (False, True):
            for left in (False, True):
                image = []
                for square in range(rows * columns):
                    row, column = divmod(square, columns)
                    row, column = (column, row) if turned else (row, column)
                    row = rows - 1 - row if down else row
                    column = columns - 1 - column if left else column
                    image.append(row * columns + column)
                images.append(tuple(image))
    return tuple(images)


def bits(squares: Iterable[int]) -> int:
    """Return a set of squares as an integer with a bit for each."""
    return sum({1 << square for square in squares})


def board_text(letters: Sequence[str], columns: int) -> str:
    """Return a board for people, the top row first, from one letter per square."""
    rows = ["".join(letters[i : i + columns]) for i in range(0, len(letters), columns)]
    return "\n".join(reversed(rows))
