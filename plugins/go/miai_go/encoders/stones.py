"""The small encoders: the stones alone, and the stones with what a beginner counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.plugins.parameters import Parameters
from miai_go.encoders.compiled import CompiledEncoder, make_room
from miai_go.kernels import encoders as kernels


class OnePlaneEncoder(CompiledEncoder):
    """One plane of stones: 2 for own ones, 1 for empty points, 0 for the opponent's.

    The one-plane encoder of the textbooks has 1, 0 and -1; bytes have no sign, so all is greater
    by one, which the bias of a convolution takes in. Not so at the border, where a convolution
    pads with zeros: there it sees the opponent's stones, not empty points. Who is Black, ko and
    the moves before are not shown.
    """

    def __init__(self, size: int, parameters: Parameters | None = None) -> None:
        super().__init__(size, 1)

    def _write(
        self, words: NDArray[np.uint32], trails: NDArray[np.int16], out: NDArray[np.uint8]
    ) -> None:
        kernels.encode_oneplane(words, trails, out)


class SimpleEncoder(CompiledEncoder):
    """Thirteen planes of zeros and ones.

    - 0 to 2: own stones of chains with one, two, and three or more liberties
    - 3 to 5: the opponent's stones, likewise
    - 6: the point that may not be retaken now, under simple ko
    - 7 to 10: the stone placed one, two, three, four turns ago, where it still stands
    - 11, 12: ones when Black, when White is to move; one of the two shows where the board ends
    """

    def __init__(self, size: int, parameters: Parameters | None = None) -> None:
        super().__init__(size, kernels.SIMPLE_PLANES)

    def _write(
        self, words: NDArray[np.uint32], trails: NDArray[np.int16], out: NDArray[np.uint8]
    ) -> None:
        kernels.encode_simple(words, trails, *make_room(self.size), out)
