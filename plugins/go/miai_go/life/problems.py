"""A problem of life and death: a board, a target, and who should succeed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A board and the block whose life is asked about.

    Attributes:
      size: points on a side.
      stones: int8 of shape (size * size,), row by row from A1: 0 empty, 1 black, 2 white.
      target: a stone of the target, as a point of the board.
      to_play: who should succeed by moving first, 1 black, 2 white; None where nobody is named.
      solutions: the correct first moves as far as they are told, points of the board.
      name: where it is from.
      first: who moves first where the answer is told, 1 black, 2 white.
      safe: whether the target is safe then, as it is told.
      best: a move that solves it, as it is told, a point of the board.
      empty: how many points of its zone are empty, as it is told.
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
