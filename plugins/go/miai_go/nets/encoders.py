"""The encoders: planes of AlphaGo and planes of AlphaGo Zero.

AlphaGo's planes follow Silver et al. 2016, Extended Data Table 2; AlphaGo Zero's follow Silver et
al. 2017, Methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from miai.kernels import packed
from miai_go.kernels import FAMILY, ladders
from miai_go.kernels import encoders as kernels
from miai_go.kernels.liberties import LibertySpace
from miai_go.nets.encoder import Positions
from miai_go.nets.network_parameters import AlphaGoEncoderParameters, ZeroEncoderParameters
from miai_go.rules.board import check_size

Words = NDArray[np.uint32]
Trails = NDArray[np.int16]
Planes = NDArray[np.uint8]
_Number = TypeVar("_Number", bound=np.generic)
KOMI_SCALE: Final = 2 / kernels.KOMI_SHIFT
"""Factor of planes of the komi."""
_LOADED: set[type[CompiledEncoder]] = set()
"""The encoders whose kernels are loaded; the first call waits for a process that compiles them."""


class CompiledEncoder(ABC):
    """An `Encoder` that is one call of a kernel. May be used by several threads at once."""

    def __init__(self, size: int, planes: int) -> None:
        check_size(size)
        self.size = size
        self.planes = planes
        self.scales: NDArray[np.float32] = np.ones(self.planes, np.float32)

    def encode(self, positions: Positions, out: Planes | None = None) -> Planes:
        """Return planes; see `Encoder`. Raises `ValueError` if positions or `out` do not fit."""
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
        loaded = type(self) in _LOADED
        with nullcontext() if loaded else FAMILY.compiling(f"encode-{type(self).__name__}"):
            self._write(words, trails, flat)
        _LOADED.add(type(self))
        return out

    @abstractmethod
    def _write(self, words: Words, trails: Trails, out: Planes) -> None:
        """Write the planes, one position a row."""


def liberty_space(size: int) -> LibertySpace:
    """Return work space of the kernels for boards of one size."""
    grid = ladders.empty_grid(size)
    width = (size * size + 63) // 64
    return LibertySpace(
        masks=np.zeros((len(grid) + 2) * width, np.uint64),
        counts=np.zeros(len(grid), np.int32),
        roots=np.zeros(size * size, np.int32),
        grid=grid,
    )


def _writable(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return the array, or a copy if kernels would have to be compiled for its layout."""
    if array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, order="C")


class AlphaGoEncoder(CompiledEncoder):
    """Forty-eight planes of zeros and ones, and with `komi` one of the komi.

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
    The paper's plane of zeros is left out. `miai_go.kernels.ladders` describes the ladder reading.
    The plane of the komi is that of `ZeroEncoder`.
    """

    def __init__(self, size: int, parameters: AlphaGoEncoderParameters | None = None) -> None:
        own = parameters or AlphaGoEncoderParameters()
        super().__init__(size, kernels.ALPHAGO_PLANES + own.komi)
        self.sees_komi = own.komi
        if own.komi:
            self.scales[kernels.ALPHAGO_PLANES] = KOMI_SCALE

    def _write(self, words: Words, trails: Trails, out: Planes) -> None:
        # Work space of this call: encoders are used by several threads at once.
        space = liberty_space(self.size)
        after = np.zeros_like(space.roots)
        room = ladders.ladder_room(self.size)
        extra = kernels.WITH_KOMI * self.sees_komi
        kernels.encode_alphago(words, trails, extra, packed(space), after, room, out)


class ZeroEncoder(CompiledEncoder):
    """The last positions and who is to move.

    With T = `history`, the planes are:

    - 2 * t and 2 * t + 1, for t from 0 (now) to T - 1: the stones of the player to move and of the
      opponent t plies ago; zeros before the trail began
    - 2 * T and 2 * T + 1: ones when Black, when White is to move. The paper has only the first;
      with both, a network always sees where the board ends
    - with `komi`: the komi of the player to move in half points plus 64, limited to 0 to 128,
      everywhere; scaled by 1/32, so that no komi is 2 and 7 points for the mover are 2.4375
    - with `legal`: points where the player to move may play under simple ko, without suicide
    - with `ko`: the point forbidden by ko
    """

    def __init__(self, size: int, parameters: ZeroEncoderParameters | None = None) -> None:
        own = parameters or ZeroEncoderParameters()
        planes = 2 * own.history + 2
        super().__init__(size, planes + own.komi + own.legal + own.ko)
        self.sees_komi = own.komi
        if own.komi:
            self.scales[planes] = KOMI_SCALE
        self._history = own.history
        self._extra = (
            own.komi * kernels.WITH_KOMI + own.legal * kernels.WITH_LEGAL + own.ko * kernels.WITH_KO
        )

    def _write(self, words: Words, trails: Trails, out: Planes) -> None:
        space = packed(liberty_space(self.size))
        kernels.encode_zero(words, trails, self._history, self._extra, space, out)
