"""The planes of AlphaGo (Silver et al. 2016, Extended Data Table 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.plugins.parameters import Parameters
from miai_go.encoders.compiled import CompiledEncoder, make_room
from miai_go.kernels import encoders as kernels
from miai_go.kernels import ladders


class AlphaGoEncoder(CompiledEncoder):
    """Forty-eight planes of zeros and ones.

    ====================  =====  ==============================================================
    planes                count  1 where
    ====================  =====  ==============================================================
    0 own, 1 theirs,      3      the stones lie
    2 empty
    3 ones                1      everywhere: shows where the board ends
    4 to 11 turns since   8      the stone was placed 1, 2, ... 7, 8 or more turns ago, 1 for the
                                 last move; stones of a set-up count among the last
    12 to 19 liberties    8      the stone's chain has 1, 2, ... 8 or more liberties
    20 to 27 captures     8      a move takes 1, 2, ... 8 or more stones
    28 to 35 self-atari   8      a move leaves its own chain of 1, 2, ... 8 or more stones with one
                                 liberty
    36 to 43 liberties    8      a move leaves its own chain with 1, 2, ... 8 or more liberties
    after
    44 ladder capture     1      a move on one of a hostile chain's two liberties takes it, whatever
                                 its owner does
    45 ladder escape      1      a move saves an own chain from atari, by more than a move
    46 sensible           1      a move is legal and fills no own true eye
    47 colour             1      everywhere when Black is to move
    ====================  =====  ==============================================================

    Planes 20 to 46 hold legal moves of the player to move only, under simple ko without suicide.
    The paper's plane of zeros is left out. How ladders are read is told in
    `miai_go.kernels.ladders`.
    """

    def __init__(self, size: int, parameters: Parameters | None = None) -> None:
        super().__init__(size, kernels.ALPHAGO_PLANES)

    def _write(
        self, words: NDArray[np.uint32], trails: NDArray[np.int16], out: NDArray[np.uint8]
    ) -> None:
        masks, counts, roots, grid = make_room(self.size)
        after = np.zeros_like(roots)
        room = ladders.ladder_room(self.size)
        kernels.encode_alphago(words, trails, masks, counts, roots, after, grid, room, out)
