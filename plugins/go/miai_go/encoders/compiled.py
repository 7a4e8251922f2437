"""What the compiled encoders share: the planes' array, work space and loading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from miai_go.board import check_size
from miai_go.encoders.positions import Positions
from miai_go.kernels import FAMILY, ladders

_Number = TypeVar("_Number", bound=np.generic)
_LOADED: set[type[CompiledEncoder]] = set()
"""Whose kernels this process has; the first call waits for a process that compiles them."""


class Room(NamedTuple):
    """Work space of the kernels; see `miai_go.kernels.encoders`."""

    masks: NDArray[np.uint64]
    counts: NDArray[np.int32]
    roots: NDArray[np.int32]
    grid: NDArray[np.uint8]


class CompiledEncoder(ABC):
    """An encoder that is one call of a kernel. May be used by several threads at once.

    Attributes:
      size: points on a side.
      planes: how many planes it makes.
      scales: float32 of shape (planes,): what a network multiplies each plane by.
    """

    def __init__(self, size: int, planes: int) -> None:
        check_size(size)
        self.size = size
        self.planes = planes
        self.scales: NDArray[np.float32] = np.ones(planes, np.float32)

    def encode(
        self, positions: Positions, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Return planes, uint8 of shape (positions, planes, size, size), row 0 the lowest.

        Args:
          out: written and returned where given, of that shape and C-contiguous.

        Raises:
          ValueError: positions of another size, or an `out` that does not fit.
        """
        if positions.size != self.size:
            raise ValueError(
                f"the encoder is for boards of {self.size}, the positions are of {positions.size}"
            )
        shape = (len(positions), self.planes, self.size, self.size)
        if out is None:
            out = np.empty(shape, np.uint8)
        elif out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(
                f"planes are written to a C-contiguous uint8 array of shape {shape}, "
                f"not {out.dtype} {out.shape}"
            )
        words, trails = _writable(positions.words), _writable(positions.trails)
        flat = out.reshape(len(out), -1)
        if type(self) in _LOADED:
            self._write(words, trails, flat)
            return out
        with FAMILY.compiling(f"encode-{type(self).__name__}"):
            self._write(words, trails, flat)
        _LOADED.add(type(self))
        return out

    @abstractmethod
    def _write(
        self, words: NDArray[np.uint32], trails: NDArray[np.int16], out: NDArray[np.uint8]
    ) -> None:
        """Write the planes, one position a row."""


def make_room(size: int) -> Room:
    """Return work space for boards of one size."""
    grid = ladders.empty_grid(size)
    width = (size * size + 63) // 64
    return Room(
        np.zeros((len(grid) + 2) * width, np.uint64),
        np.zeros(len(grid), np.int32),
        np.zeros(size * size, np.int32),
        grid,
    )


def _writable(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return the array, or a copy of one that kernels would have to be compiled anew for."""
    if array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, order="C")
