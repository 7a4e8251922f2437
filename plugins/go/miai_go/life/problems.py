"""A problem of life and death: a board, a target, and the answer key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A board, the block whose life is asked about, and the answer key as far as a file has one.

    Attributes:
      size: points on a side.
      stones: int8 of shape (size * size,), row by row from A1: 0 empty, 1 black, 2 white.
      target: a stone of the target, as a point of the board.
      to_play: the colour that should succeed by moving first, 1 black, 2 white.
      solutions: the key's correct first moves, points of the board.
      name: name or source.
      first: the colour that moves first in the key's answer, 1 black, 2 white.
      safe: whether the target is safe then, according to the key.
      best: a solving move according to the key, a point of the board.
      empty: the number of empty points in the zone according to the key.
    """

    size: int
    stones: NDArray[np.int8]
    target: int
    to_play: int | None = None
    solutions: tuple[int, ...] = ()
    name: str = ""
    first: int | None = None
    safe: bool | None = None
    best: int | None = None
    empty: int | None = None
