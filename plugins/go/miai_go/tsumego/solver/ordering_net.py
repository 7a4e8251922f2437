"""The network that orders the prover's search: its file and its arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from miai.errors import WeightsError
from miai.tensors import FileHeader, Tensors, TrainingRecord
from miai_go.tsumego.kernels.guide import OUTPUTS, Guide
from miai_go.tsumego.kernels.traits import TRAITS
from miai_go.tsumego.shipped import ORDERING

MAX_WIDTH: Final = 1024
_Floats = NDArray[np.float32]


class OrderingHeader(FileHeader):
    """The header of a search-ordering network."""

    KEY = "miai-tsumego-ordering"
    KIND = "a search-ordering network"
    REMEDY = "`miai go tsumego ordering` makes one"


class OrderingNet(NamedTuple):
    """Weights that predict from the traits of a position how hard it is to prove.

    Attributes:
      linear: float32 of shape (2, TRAITS, OUTPUTS), by side to move.
      inner: float32 of shape (2, TRAITS, width), to rectified hidden units.
      outer: float32 of shape (2, width, OUTPUTS), from the hidden units.
    """

    linear: _Floats
    inner: _Floats
    outer: _Floats

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the weights of a file.

        Raises:
          WeightsError: the file cannot be read, or has another kind of network.
        """
        _header, tensors = OrderingHeader.read_all(path)
        try:
            return cls.of(tensors)
        except WeightsError as error:
            raise WeightsError(f"{path}: {error}") from None

    @classmethod
    def of(cls, tensors: Tensors) -> Self:
        """Return the weights of named tensors. Raises `WeightsError` if they do not fit."""
        if tensors.keys() != set(cls._fields):
            names = ", ".join(sorted(tensors))[:80]
            raise WeightsError(f"has the tensors {names}, not {', '.join(sorted(cls._fields))}")
        width = tensors["inner"].shape[-1] if tensors["inner"].ndim == 3 else 0
        shapes = {
            "linear": (2, TRAITS, OUTPUTS),
            "inner": (2, TRAITS, width),
            "outer": (2, width, OUTPUTS),
        }
        for name, shape in shapes.items():
            if tensors[name].shape != shape or tensors[name].dtype != np.float32:
                raise WeightsError(f"'{name}' has the shape {tensors[name].shape}, not {shape}")
        if width > MAX_WIDTH:
            raise WeightsError(f"has {width} hidden units, more than {MAX_WIDTH}")
        return cls(*(np.ascontiguousarray(tensors[name]) for name in cls._fields))

    def write(self, path: Path, *, history: tuple[TrainingRecord, ...] = ()) -> None:
        """Write the weights atomically, with their training history. Raises `WeightsError`."""
        OrderingHeader(history=history).write(path, self._asdict())


def find_ordering(named: str) -> OrderingNet | None:
    """Return the network that an option names: `shipped`, `none`, or a file. Raises `WeightsError`.

    Name a file called `shipped` or `none` with a slash: `./none`.
    """
    if named == "none":
        return None
    path = ORDERING if named == "shipped" else Path(named).expanduser()
    if not path.is_file():
        raise WeightsError(f"{named}: is not a file; name shipped, none, or the file of a network")
    return OrderingNet.read(path)


def guide_of(network: OrderingNet | None) -> Guide:
    """Return a guide by a network, with its own work space; by None, one that is not consulted."""
    asked = network is not None
    if network is None:
        nothing = np.zeros((2, TRAITS, OUTPUTS), np.float32)
        network = OrderingNet(nothing, nothing[:, :, :0], nothing[:, :0])
    # Copies are writable: for read-only arrays, such as those of a file, numba would compile the
    # search a second time, which takes half a minute.
    return Guide(
        asked=np.array([asked], np.int64),
        linear=np.array(network.linear, order="C"),
        inner=np.array(network.inner, order="C"),
        outer=np.array(network.outer, order="C"),
        traits=np.zeros(TRAITS, np.float32),
        units=np.zeros(network.inner.shape[-1], np.float32),
    )
