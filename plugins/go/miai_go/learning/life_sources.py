"""Random zones for data sets: fights behind a wall, and rooms that resemble unfinished eye spaces.

Fights are filled at random; a room is surrounded by a ring of the attacker's stones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import ProblemError
from miai_go.life.walled import draw_fight, zone_within
from miai_go.life.zones import Zone, find_zone
from miai_go.rules.board import BLACK_STONE, EMPTY, WHITE_STONE
from miai_go.rules.chains import captured_stone, chain_at, diagonals, neighbours

SIZE: Final = 13
_TRIES: Final = 200
_MIN_EMPTY: Final = 4
_PLACES: Final = ("corner", "side", "side", "middle")

_Board = NDArray[np.int8]


def draw_fight_zone(rng: np.random.Generator, *, empty: int) -> Zone | None:
    """Draw a zone with `empty` empty points, filled at random; None if many draws give none."""
    for _ in range(_TRIES):
        fight = draw_fight(rng, empty)
        zone = zone_within(fight.problem(), empty) if fight is not None else None
        if zone is not None:
            return zone
    return None


def draw_room_zone(rng: np.random.Generator, *, most_empty: int) -> Zone | None:
    """Draw the zone of a room in a ring of the attacker's stones.

    Args:
      most_empty: maximum number of empty points.

    Returns:
      The zone, or None if many draws give none.
    """
    for _ in range(_TRIES):
        zone = _drawn(rng, most_empty)
        if zone is not None:
            return zone
    return None


def _drawn(rng: np.random.Generator, most_empty: int) -> Zone | None:
    room = _room(rng, int(rng.integers(3, max(most_empty - 1, 4))))
    board = np.zeros(SIZE * SIZE, np.int8)
    inside = _furnish(board, room, rng)
    board[list(_ring(inside))] = BLACK_STONE
    own = {min(chain_at(board, p, SIZE)) for p in np.flatnonzero(board == WHITE_STONE).tolist()}
    if captured_stone(board, SIZE) is not None or not own:
        return None
    target = max(own, key=lambda point: (len(chain_at(board, point, SIZE)), point))
    try:
        zone = find_zone(board, target)
    except ProblemError:
        return None  # the wall is open
    return zone if _MIN_EMPTY <= zone.empty <= most_empty else None


def _room(rng: np.random.Generator, points: int) -> set[int]:
    """Draw connected points, at an edge or not."""
    place = _PLACES[int(rng.integers(len(_PLACES)))]
    row = column = SIZE // 2
    if place == "corner":
        column = int(rng.integers(2))
    if place != "middle":
        row = int(rng.integers(2))
    room = {row * SIZE + column}
    while len(room) < points:
        edge = sorted(_beside(room))
        # Points with several neighbours in the room are likelier, which makes compact rooms.
        touching = np.array([sum(n in room for n in neighbours(p, SIZE)) for p in edge], float)
        room.add(edge[int(rng.choice(len(edge), p=touching**2 / (touching**2).sum()))])
    return room


def _furnish(board: _Board, room: set[int], rng: np.random.Generator) -> set[int]:
    """Put stones into and around the room; return the points within the wall."""
    enemy, friend = rng.uniform(0, 0.3), rng.uniform(0, 0.3)
    for point in sorted(room):
        draw = rng.random()
        board[point] = BLACK_STONE if draw < enemy else WHITE_STONE if draw > 1 - friend else EMPTY
    shell = _beside(room)
    inside = set(room)
    holes = rng.uniform(0, 0.25)
    for point in sorted(shell):
        draw = rng.random()
        if draw < holes / 2:
            board[point] = BLACK_STONE
            continue
        inside.add(point)
        if draw >= holes:
            board[point] = WHITE_STONE
    corners = rng.uniform(0, 0.8)
    for point in sorted(_ring(room) - shell):
        if rng.random() < corners:
            board[point] = WHITE_STONE
            inside.add(point)
    outer = rng.uniform(0, 0.15)
    for point in sorted(_beside(inside)):
        if board[point] == EMPTY and rng.random() < outer:
            inside.add(point)
    return inside


def _beside(points: set[int]) -> set[int]:
    """Return the neighbours of a set of points."""
    return {n for point in points for n in neighbours(point, SIZE)} - points


def _ring(points: set[int]) -> set[int]:
    """Return the points around a set, diagonal ones included."""
    around = {n for point in points for n in diagonals(point, SIZE)}
    return (around | _beside(points)) - points
