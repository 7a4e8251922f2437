"""Problems to begin with: random fights behind a wall, and rooms with a ring round them.

The former are filled at random; the latter look like eye spaces in the making.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.life.walled import draw_fight, zone_within
from miai_go.life.zones import Zone, find_zone
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE

SIZE: Final = 13
_TRIES: Final = 200
_LEAST_EMPTY: Final = 4
_PLACES: Final = ("corner", "side", "side", "middle")
_STEPS: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))

_Board = NDArray[np.int8]
_Cell = tuple[int, int]


def draw_fight_zone(rng: np.random.Generator, *, empty: int) -> Zone | None:
    """Draw a zone with so many empty points, filled at random; None where tries gave none."""
    for _ in range(_TRIES):
        fight = draw_fight(rng, empty)
        zone = zone_within(fight.problem(), empty) if fight is not None else None
        if zone is not None:
            return zone
    return None


def draw_room_zone(rng: np.random.Generator, *, most_empty: int) -> Zone | None:
    """Draw the zone of a room with a ring of the defender's stones round it.

    Args:
      most_empty: empty points that it has at most.

    Returns:
      The zone, or None where many tries gave none.
    """
    for _ in range(_TRIES):
        found = _drawn(rng, most_empty)
        if found is not None:
            return found
    return None


def _drawn(rng: np.random.Generator, most_empty: int) -> Zone | None:
    room = _room(rng, int(rng.integers(3, max(most_empty - 1, 4))))
    board = np.zeros((SIZE, SIZE), np.int8)
    inside = _furnish(board, room, rng)
    for cell in _ring(inside):
        board[cell] = BLACK_STONE
    if not _all_breathe(board):
        return None
    target = _largest_block(board)
    if target is None:
        return None
    flat = board.reshape(-1)
    try:
        zone = find_zone(flat, target)
    except ProblemError:
        return None  # a wall that does not hold: another is drawn
    return zone if _LEAST_EMPTY <= zone.empty <= most_empty else None


def _room(rng: np.random.Generator, points: int) -> set[_Cell]:
    """Draw connected points, at an edge or not."""
    place = _PLACES[int(rng.integers(len(_PLACES)))]
    row = 0 if place != "middle" else SIZE // 2
    column = int(rng.integers(2)) if place == "corner" else SIZE // 2
    if place != "middle":
        row = int(rng.integers(2))
    room = {(row, column)}
    while len(room) < points:
        edge = sorted({n for cell in room for n in _near(*cell)} - room)
        # Points with several neighbours in the room are likelier, so that it is no worm.
        touching = np.array([sum(n in room for n in _near(*cell)) for cell in edge], float)
        room.add(edge[int(rng.choice(len(edge), p=touching**2 / (touching**2).sum()))])
    return room


def _furnish(board: _Board, room: set[_Cell], rng: np.random.Generator) -> set[_Cell]:
    """Put stones into the room and round it; return the points that are not beyond the wall."""
    enemy, friend = rng.uniform(0, 0.3), rng.uniform(0, 0.3)
    for cell in sorted(room):
        drawn = rng.random()
        board[cell] = BLACK_STONE if drawn < enemy else WHITE_STONE if drawn > 1 - friend else EMPTY
    shell = {n for cell in room for n in _near(*cell)} - room
    inside = set(room)
    holes = rng.uniform(0, 0.25)
    for cell in sorted(shell):
        drawn = rng.random()
        if drawn < holes / 2:
            board[cell] = BLACK_STONE
        elif drawn < holes:
            inside.add(cell)
        else:
            board[cell] = WHITE_STONE
            inside.add(cell)
    corners = rng.uniform(0, 0.8)
    for cell in sorted(_ring(room) - shell):
        if rng.random() < corners:
            board[cell] = WHITE_STONE
            inside.add(cell)
    outer = rng.uniform(0, 0.15)
    for cell in sorted({n for c in inside for n in _near(*c)} - inside):
        if board[cell] == EMPTY and rng.random() < outer:
            inside.add(cell)
    return inside


def _ring(cells: set[_Cell]) -> set[_Cell]:
    """Return all points round some points, diagonally too."""
    around = {
        (r, c)
        for row, column in cells
        for r in range(max(row - 1, 0), min(row + 2, SIZE))
        for c in range(max(column - 1, 0), min(column + 2, SIZE))
    }
    return around - cells


def _near(row: int, column: int) -> list[_Cell]:
    steps = [(row + r, column + c) for r, c in _STEPS]
    return [(r, c) for r, c in steps if 0 <= r < SIZE and 0 <= c < SIZE]


def _blocks(board: _Board) -> list[set[_Cell]]:
    blocks: list[set[_Cell]] = []
    known: set[_Cell] = set()
    for row, column in np.argwhere(board).tolist():
        if (row, column) in known:
            continue
        block, edge = {(row, column)}, [(row, column)]
        while edge:
            for cell in _near(*edge.pop()):
                if cell not in block and board[cell] == board[row, column]:
                    block.add(cell)
                    edge.append(cell)
        known |= block
        blocks.append(block)
    return blocks


def _all_breathe(board: _Board) -> bool:
    return all(
        any(board[n] == EMPTY for cell in block for n in _near(*cell)) for block in _blocks(board)
    )


def _largest_block(board: _Board) -> int | None:
    """Return a stone of the defender's largest block."""
    own = [block for block in _blocks(board) if board[min(block)] == WHITE_STONE]
    if not own:
        return None
    largest = max(own, key=lambda block: (len(block), min(block)))
    row, column = min(largest)
    return row * SIZE + column
