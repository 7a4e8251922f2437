"""The planes of AlphaGo Zero (Silver et al. 2017, Methods)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.compiled import CompiledEncoder, make_room
from miai_go.encoders.parameters import ZeroEncoderParameters
from miai_go.kernels import encoders as kernels


class ZeroEncoder(CompiledEncoder):
    """The last positions and who is to move.

    With T = `history`, the planes are:

    - 2 * t and 2 * t + 1, for t from 0 (now) to T - 1: the stones of the player to move and of the
      opponent as they lay t plies ago; zeros before the trail began
    - 2 * T and 2 * T + 1: ones when Black, when White is to move. The paper has the first alone;
      with both the end of the board is always seen
    - with `komi`: half the points that the player to move is given, everywhere; stored as 64
      half points more, limited to 0 to 128, and scaled by 1/32, so that 2 is no komi and 7 points
      for the mover are 2.4375
    - with `legal`: points where the player to move may play under simple ko, without suicide
    - with `ko`: the point that may not be retaken now
    """

    def __init__(self, size: int, parameters: ZeroEncoderParameters | None = None) -> None:
        given = parameters or ZeroEncoderParameters()
        planes = 2 * given.history + 2
        super().__init__(size, planes + given.komi + given.legal + given.ko)
        if given.komi:
            self.scales[planes] = 2 / kernels.KOMI_SHIFT
        self._history = given.history
        self._extra = (
            given.komi * kernels.WITH_KOMI
            + given.legal * kernels.WITH_LEGAL
            + given.ko * kernels.WITH_KO
        )

    def _write(
        self, words: NDArray[np.uint32], trails: NDArray[np.int16], out: NDArray[np.uint8]
    ) -> None:
        room = make_room(self.size)
        kernels.encode_zero(words, trails, self._history, self._extra, *room, out)
