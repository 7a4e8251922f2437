"""Small random fights behind a wall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.rules.chains import captured_stone, chains_of
from miai_go.tsumego.zones import Zone, find_zone

SIZE = 9
Board = NDArray[np.int8]


def tiny_zone(rng: np.random.Generator, *, most_points: int, most_empty: int) -> Zone:
    """Draw a zone: a box in the corner, at the edge or in the middle, filled at random."""
    while True:
        zone = _zone_at(*_drawn(rng))
        if zone is not None and len(zone.points) <= most_points and 2 <= zone.empty <= most_empty:
            return zone


def _zone_at(board: Board, target: int | None) -> Zone | None:
    """Return the zone of a target; None where there is none, or a block has no liberty."""
    if target is None or captured_stone(board.reshape(-1), SIZE) is not None:
        return None
    try:
        return find_zone(board.reshape(-1), target)
    except ProblemError:
        return None


def _drawn(rng: np.random.Generator) -> tuple[Board, int | None]:
    height, width = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    row = int(rng.choice([0, 0, 2]))
    column = int(rng.choice([0, 3]))
    board = np.zeros((SIZE, SIZE), np.int8)
    board[max(row - 1, 0) : row + height + 1, max(column - 1, 0) : column + width + 1] = 1
    drawn = rng.random((height, width))
    box = np.where(drawn < 0.45, 2, np.where(drawn < 0.62, 1, 0))
    board[row : row + height, column : column + width] = box
    targets = np.argwhere(board == 2)
    if not len(targets):
        return board, None
    r, c = targets[rng.integers(len(targets))]
    return board, int(r) * SIZE + int(c)


def held_zone(rng: np.random.Generator, *, most_points: int, most_empty: int) -> Zone:
    """Draw a zone in which the target may well live: a box that is mostly the defender's.

    The target is of his largest block. Half of the zones or so are safe for one first mover.
    """
    while True:
        zone = _zone_at(*_held(rng))
        if zone is not None and len(zone.points) <= most_points and 3 <= zone.empty <= most_empty:
            return zone


def _held(rng: np.random.Generator) -> tuple[Board, int | None]:
    height, width = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    row, column = int(rng.choice([0, 0, 2])), int(rng.choice([0, 2]))
    board = np.zeros((SIZE, SIZE), np.int8)
    board[max(row - 1, 0) : row + height + 1, max(column - 1, 0) : column + width + 1] = 1
    hostile, holes = rng.uniform(0.0, 0.35), rng.uniform(0.0, 0.3)
    drawn = rng.random((height, width))
    box = np.where(drawn < hostile, 1, np.where(drawn < hostile + 0.3, 0, 2))
    open_rows = slice(1 if row else 0, height - 1)
    open_columns = slice(1 if column else 0, width - 1)
    rim = np.ones((height, width), bool)
    rim[open_rows, open_columns] = False
    box[rim & (rng.random((height, width)) > holes)] = 2
    board[row : row + height, column : column + width] = box
    blocks = [chain for chain in chains_of(board.reshape(-1), SIZE) if board.flat[min(chain)] == 2]
    largest: set[int] = max(blocks, key=len, default=set())
    return board, min(largest, default=None)
