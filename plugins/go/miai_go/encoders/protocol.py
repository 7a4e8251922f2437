"""What an encoder is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.positions import Positions


@runtime_checkable
class Encoder(Protocol):
    """Turns positions into planes, as the player to move sees them.

    A component of kind ``go.encoder``; factory(size, parameters) -> Encoder. Planes turn with the
    board: those of a position that is turned or mirrored are the position's planes, turned or
    mirrored, so that the eight symmetries can be had from planes alone.

    Attributes:
      size: points on a side.
      planes: how many planes it makes.
      scales: float32 of shape (planes,): what a network multiplies each plane by.
    """

    size: int
    planes: int
    scales: NDArray[np.float32]

    def encode(
        self, positions: Positions, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Return planes, uint8 of shape (positions, planes, size, size), row 0 the lowest.

        Args:
          out: written and returned where given, of that shape.
        """
