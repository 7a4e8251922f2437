"""Fixed handicap: where the stones of a given number lie (GTP version 2 draft 2, section 4.1.1)."""

from __future__ import annotations

from miai_go.coordinates import edge_line

LEAST = 2
"""A handicap of one stone is a game without komi, Black first: there is nothing to place."""


def most_fixed(size: int) -> int:
    """Return the most stones that fixed placement knows; 0 on boards smaller than 7.

    Nine on odd sizes from 9 on, four on even sizes and on 7x7.
    """
    if size < 7:
        return 0
    return 9 if size % 2 and size >= 9 else 4


def fixed_points(stones: int, size: int) -> tuple[int, ...]:
    """Return the points of a fixed handicap, ascending.

    Raises:
      ValueError: that many stones have no fixed places on this board.
    """
    if not LEAST <= stones <= most_fixed(size):
        raise ValueError(
            f"a fixed handicap of {stones} stones does not exist on a {size}x{size} board "
            f"(2 to {most_fixed(size)} do)"
            if most_fixed(size)
            else f"a {size}x{size} board has no fixed handicap; name handicap_points"
        )
    low, high, middle = edge_line(size), size - 1 - edge_line(size), size // 2
    corners = [(low, low), (high, high), (high, low), (low, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    places = corners[: min(stones, 4)]
    if stones >= 6:
        places += sides[: 4 if stones >= 8 else 2]
    if stones in (5, 7, 9):
        places.append((middle, middle))
    return tuple(sorted(row * size + column for row, column in places))
