"""Squares of a board by number, row by row from the lower left, and by name: ``a1`` is 0."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator


def square_name(square: int, columns: int) -> str:
    """Return the name of a square: its column's letter and its row's number from 1."""
    row, column = divmod(square, columns)
    return f"{string.ascii_lowercase[column]}{row + 1}"


def parse_square(text: str, *, rows: int, columns: int) -> int:
    """Return the square of a name.

    Raises:
      ValueError: the board has no such square.
    """
    for square in range(rows * columns):
        if square_name(square, columns) == text:
            return square
    last = square_name(rows * columns - 1, columns)
    raise ValueError(f"{text[:20]!r} is no square; those of the board are a1 to {last}")


def bits(squares: Iterable[int]) -> int:
    """Return a set of squares as an integer with a bit for each."""
    mask = 0
    for square in squares:
        mask |= 1 << square
    return mask


def squares_of(mask: int) -> Iterator[int]:
    """Iterate over the squares of a set, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def board_text(letters: str, columns: int) -> str:
    """Return a board for people, the top row first, from one letter a square."""
    rows = [letters[start : start + columns] for start in range(0, len(letters), columns)]
    return "\n".join(reversed(rows))
