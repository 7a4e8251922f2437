"""Weights files of life-and-death networks: tensors as safetensors, with a header.

Weights are 32-bit numbers or, when quantised, integers of a few bits packed into 64-bit words, with
one scale per row. A row holds the weights of one unit or channel. Its scale is the one, of several
tried, with the smallest squared rounding error. Tensors of one dimension (biases, norms) keep 32
bits, since they are few.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from miai.errors import WeightsError
from miai.parameters import StrictModel, build_parameters, parameter
from miai.tensors import MAX_NAME, FileHeader, Tensors
from miai_go.errors import require_torch
from miai_go.nets.network import NetworkShape, drawn, fill_network, tensors_of
from miai_go.tsumego.components import DenseParameters, ZoneParameters
from miai_go.tsumego.networks.zone_planes import MOST_WINDOW, PLANE_SETS

if TYPE_CHECKING:
    from torch import nn


NetworkName = Literal["dense", "zone"]
WHOLE: Final = 32
BITS: Final = (8, 7, 6, 5, 4, 3, 2)
_PACKED, _SCALES, _SHAPE = ".packed", ".scales", ".shape"
_SHARES: Final = np.linspace(0.4, 1.0, 25)
_MAX_ENTRIES: Final = 1 << 28


class HeldOut(StrictModel):
    """The part of the data that a network is not trained on."""

    folds: int = parameter(5, ge=2, le=1000, help="Number of folds")
    fold: int = parameter(0, ge=0, help="Number of the held-out fold, from 0")
    seed: int = parameter(0, ge=0, help="Seed of the split")
    by: Literal["problem", "position"] = parameter(
        "problem", help="Unit of the split; splitting by position leaks"
    )


class NetHeader(FileHeader):
    """The header of a life-and-death network.

    Attributes:
      network, network_parameters: ``dense`` or ``zone``, and its `DenseParameters` or
        `ZoneParameters`.
      planes: name of its set of planes.
      window: points on a side of the window.
      bits: bits per weight; 32 if not quantised.
      data: digest of the training data.
      held_out: the part of the data that it was not trained on.
    """

    KEY = "miai-tsumego"
    KIND = "a life-and-death network"
    REMEDY = "`miai go tsumego train` makes one"

    network: NetworkName
    network_parameters: dict[str, Any] = Field(default_factory=dict)
    planes: str = Field(max_length=MAX_NAME)
    window: int = Field(ge=3, le=MOST_WINDOW)
    bits: int = Field(default=WHOLE, ge=2, le=WHOLE)
    data: str = Field(default="", max_length=MAX_NAME)
    held_out: HeldOut | None = None

    @field_validator("planes")
    @classmethod
    def _known_planes(cls, planes: str) -> str:
        if planes not in PLANE_SETS:
            raise ValueError(f"'{planes}' is not one of {', '.join(PLANE_SETS)}")
        return planes

    @field_validator("window")
    @classmethod
    def _odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError(f"{window} is even: a window has a middle")
        return window

    @property
    def parameters(self) -> DenseParameters | ZoneParameters:
        """The parameters of the network. Raises `ParameterError` if they are wrong."""
        where = f"network '{self.network}'"
        if self.network == "dense":
            return build_parameters(DenseParameters, self.network_parameters, where=where)
        return build_parameters(ZoneParameters, self.network_parameters, where=where)

    @property
    def shape(self) -> NetworkShape:
        """What the network must fit."""
        return NetworkShape(self.window, PLANE_SETS[self.planes])


def build_net(header: NetHeader, *, seed: int = 0) -> nn.Module:
    """Return the network of a header, with weights drawn by `seed`.

    Raises:
      MissingExtraError: torch is not installed.
      ParameterError: its parameters are wrong.
    """
    require_torch(f"the network '{header.network}'")
    from miai_go.tsumego.networks.architectures import DenseNet, ZoneNet

    parameters = header.parameters
    if isinstance(parameters, DenseParameters):
        return drawn(lambda: DenseNet(header.shape, parameters), seed=seed)
    return drawn(lambda: ZoneNet(header.shape, parameters), seed=seed)


@dataclass(frozen=True, slots=True)
class Net:
    """The content of a weights file: a torch module, in evaluation mode, and its header."""

    network: nn.Module
    header: NetHeader


def save_net(path: Path, tensors: Tensors, header: NetHeader) -> NetHeader:
    """Write tensors, packed to the header's bits, atomically; return the header as written.

    Raises `WeightsError` if the file cannot be written or a tensor is not finite.
    """
    parameters = header.parameters.model_dump(mode="json")
    complete = header.model_copy(update={"network_parameters": parameters})
    return complete.write(path, packed_tensors(tensors, header.bits))


def read_net(path: Path) -> tuple[NetHeader, Tensors]:
    """Return a file's header and tensors, unpacked, without torch. Raises `WeightsError`."""
    header, parts = NetHeader.read_all(path)
    return header, unpacked_tensors(parts, header.bits, where=str(path))


def load_net(path: Path) -> Net:
    """Return the network of a file.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: as `read_net`, or the tensors do not fit the network that the file names.
    """
    header, tensors = read_net(path)
    network = fill_network(lambda: build_net(header), tensors, where=str(path))
    return Net(network, header)


def quantize_net(net: Net, bits: int, path: Path) -> NetHeader:
    """Write a network with `bits` per weight; return the header as written.

    Raises `WeightsError` if it is quantised already, or the file cannot be written.
    """
    if net.header.bits != WHOLE:
        raise WeightsError(
            f"{path}: the network has {net.header.bits} bits per weight already; quantise the "
            "one that training wrote"
        )
    header = net.header.model_copy(update={"bits": bits})
    return save_net(path, tensors_of(net.network), header)


def packed_net(net: Net, bits: int) -> tuple[int, nn.Module]:
    """Return the bytes of a network's tensors with `bits` per weight, and the network."""
    import torch

    parts = packed_tensors(tensors_of(net.network), bits)
    arrays = unpacked_tensors(parts, bits, where="network")
    network = copy.deepcopy(net.network)
    network.load_state_dict({n: torch.from_numpy(np.array(a)) for n, a in arrays.items()})
    return sum(array.nbytes for array in parts.values()), network.eval()


def packed_tensors(tensors: Tensors, bits: int) -> Tensors:
    """Return the tensors for a file, those of two or more dimensions as integers and scales."""
    out: Tensors = {}
    for name, array in tensors.items():
        # Biases and norms are few, and an error in one moves a whole unit.
        if bits == WHOLE or array.ndim < 2:
            out[name] = array
            continue
        whole, scales = quantize(array.reshape(len(array), -1), bits)
        out[name + _PACKED] = pack(whole, bits)
        out[name + _SCALES] = scales
        out[name + _SHAPE] = np.array(array.shape, np.int64)
    return out


def unpacked_tensors(stored: Tensors, bits: int, *, where: str) -> dict[str, NDArray[Any]]:
    """Return the tensors from `packed_tensors`, rounded. Raises `WeightsError` for others."""
    if bits == WHOLE:
        return dict(stored)
    out: dict[str, NDArray[Any]] = {}
    for name, array in stored.items():
        base, _, part = name.rpartition(".")
        if f".{part}" == _PACKED:
            out[base] = _unpacked(stored, base, bits, where)
        elif f".{part}" not in (_SCALES, _SHAPE):
            out[name] = array
        elif base + _PACKED not in stored:
            raise WeightsError(f"{where}: '{name}' has no packed tensor")
    return out


def quantize(rows: NDArray[Any], bits: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return integers and a scale per row whose product approximates the rows.

    Args:
      rows: of shape (rows, columns).
      bits: from 2 to 8; the numbers are from -2 ** (bits - 1) + 1 to 2 ** (bits - 1) - 1.
    """
    top = (1 << (bits - 1)) - 1
    wide = rows.astype(np.float64)
    reach = np.abs(wide).max(1, keepdims=True)
    reach[reach == 0] = 1.0
    best = np.full(len(rows), np.inf)
    scales = reach[:, 0] / top
    # To clip a few large weights often loses less than to take coarser steps for all.
    for share in _SHARES:
        scale = reach * share / top
        error = ((np.clip(np.rint(wide / scale), -top, top) * scale - wide) ** 2).sum(1)
        better = error < best
        best[better], scales[better] = error[better], scale[better, 0]
    singles = scales.astype(np.float32)
    whole = np.clip(np.rint(wide / singles[:, None]), -top, top).astype(np.int64)
    return whole, singles


def pack(whole: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the lowest bits of numbers, one after another, as 64-bit words."""
    flat = whole.ravel().astype(np.uint64)
    # Bit after bit, across the borders of words, so that five bits waste none.
    places = np.arange(bits, dtype=np.uint64)
    ones = (flat[:, None] >> places & np.uint64(1)).astype(np.uint8).ravel()
    buffer = np.zeros(-(-len(ones) // 64) * 64, np.uint8)
    buffer[: len(ones)] = ones
    return np.packbits(buffer, bitorder="little").view("<i8").astype(np.int64)


def unpack(words: NDArray[np.int64], count: int, bits: int) -> NDArray[np.int64]:
    """Return the numbers that `pack` packed."""
    ones = np.unpackbits(words.astype("<i8").view(np.uint8), count=count * bits, bitorder="little")
    values = (ones.reshape(count, bits).astype(np.int64) << np.arange(bits)).sum(1)
    # Two's complement: the upper half of the numbers is negative.
    half = 1 << (bits - 1)
    signed: NDArray[np.int64] = np.where(values >= half, values - 2 * half, values)
    return signed


def _unpacked(stored: Tensors, base: str, bits: int, where: str) -> NDArray[np.float32]:
    try:
        words, scales = stored[base + _PACKED], stored[base + _SCALES]
        shape = tuple(stored[base + _SHAPE].tolist())
    except KeyError as error:
        raise WeightsError(f"{where}: {error} is missing") from None
    whole_shape = len(shape) >= 2 and all(type(n) is int and 0 < n < _MAX_ENTRIES for n in shape)
    count = int(np.prod([float(n) for n in shape])) if whole_shape else 0
    fits = (
        0 < count < _MAX_ENTRIES
        and words.dtype == np.int64
        and words.shape == (-(-count * bits // 64),)
        and scales.dtype == np.float32
        and scales.shape == shape[:1]
    )
    if not fits:
        raise WeightsError(f"{where}: '{base}' of shape {shape} is not packed as its header says")
    rows = unpack(words, count, bits).reshape(shape[0], -1)
    return (rows * scales[:, None].astype(np.float64)).astype(np.float32).reshape(shape)
