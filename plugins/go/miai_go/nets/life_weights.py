"""Weights of networks of life and death: safetensors with a strict header.

Weights of all bits are 32-bit numbers; quantised ones are packed integers, `bits` each, in 64-bit
words, with one scale for each row (see `miai_go.nets.quantization`). Nothing is unpickled.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from miai.errors import ParameterError, PluginError
from miai.parameters import StrictModel, build_parameters
from miai.plain import dumps, loads
from miai_go.errors import WeightsError
from miai_go.nets.building import build_net, filled_values
from miai_go.nets.header import MAX_HEADER_BYTES, TrainingRecord
from miai_go.nets.life_planes import MOST_WINDOW, PLANE_SETS
from miai_go.nets.network import NetworkShape
from miai_go.nets.quantization import WHOLE, packed_tensors, unpacked_tensors
from miai_go.tensors import Tensors, read_metadata, read_tensors, write_tensors

if TYPE_CHECKING:
    from torch import nn


VERSION: Final = 1
_KEY: Final = "miai-tsumego"
_SHORT: Final = 200


class HeldOut(StrictModel):
    """What of its data a network has not seen.

    Attributes:
      folds, fold: parts of the data, and which of them was held out.
      seed: of the split.
      by: "problem" or "position", see `miai_go.learning.life_dataset`.
    """

    folds: int = Field(ge=2, le=1000)
    fold: int = Field(ge=0)
    seed: int = 0
    by: Literal["problem", "position"] = "problem"


class NetHeader(StrictModel):
    """What stands in a weights file beside the weights.

    Attributes:
      version: of the format.
      network, network_parameters: the component of kind ``go.tsumego-network``.
      planes: the set of planes that it takes.
      window: points on a side of the window.
      bits: of a weight; 32 for those that are not quantised.
      data: digest of the set that it learnt from.
      held_out: what of it was not shown.
      history: what made it, the oldest first.
      licence: of the weights, as an SPDX expression; empty if nobody said.
      sha256: digest of the rest of the header and of the weights.
    """

    version: int = VERSION
    network: str = Field(max_length=_SHORT)
    network_parameters: dict[str, Any] = Field(default_factory=dict)
    planes: str = Field(max_length=_SHORT)
    window: int = Field(ge=3, le=MOST_WINDOW)
    bits: int = Field(default=WHOLE, ge=2, le=WHOLE)
    data: str = Field(default="", max_length=_SHORT)
    held_out: HeldOut | None = None
    history: tuple[TrainingRecord, ...] = Field(default=(), max_length=_SHORT)
    licence: str = Field(default="", max_length=_SHORT)
    sha256: str = Field(default="", max_length=64)

    @field_validator("planes")
    @classmethod
    def _known_planes(cls, planes: str) -> str:
        if planes not in PLANE_SETS:
            raise ValueError(f"'{planes}' is none of {', '.join(PLANE_SETS)}")
        return planes

    @field_validator("window")
    @classmethod
    def _odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError(f"{window} is even: a window has a middle")
        return window

    @property
    def shape(self) -> NetworkShape:
        """What the network must fit."""
        return NetworkShape(self.window, PLANE_SETS[self.planes])

    def to_json(self) -> str:
        """Return the header as one line of JSON."""
        return dumps(self.model_dump(mode="json"))


@dataclass(frozen=True, slots=True)
class Net:
    """What a weights file holds.

    Attributes:
      network: a torch module with its weights, in evaluation mode.
      header: what it is and where it comes from.
    """

    network: nn.Module
    header: NetHeader


def save_net(path: Path, tensors: Tensors, header: NetHeader) -> NetHeader:
    """Write tensors and their header atomically; return the header as written.

    They are packed where the header tells of fewer bits than 32.

    Raises:
      WeightsError: it cannot be written, or a tensor is not finite.
    """
    stored = packed_tensors(tensors, header.bits)
    complete = header.model_copy(
        update={"network_parameters": filled_values(header.network, header.network_parameters)}
    )
    signed = complete.model_copy(update={"sha256": _digest(complete, stored)})
    write_tensors(path, stored, {_KEY: signed.to_json()})
    return signed


def read_net_header(path: Path) -> NetHeader:
    """Return a file's header. Raises `WeightsError` where it is no weights file of this kind."""
    return _header(read_metadata(path), path)


def read_net(path: Path) -> tuple[NetHeader, dict[str, NDArray[Any]]]:
    """Return a file's header and its tensors, unpacked; torch is not needed.

    Raises:
      WeightsError: it cannot be read or is not what it says.
    """
    stored, metadata = read_tensors(path)
    header = _header(metadata, path)
    if _digest(header, stored) != header.sha256:
        raise WeightsError(
            f"{path}: its digest is not that of what it holds: it was damaged or changed after it "
            "was written; copy it again"
        )
    return header, unpacked_tensors(stored, header.bits, where=str(path))


def load_net(path: Path) -> Net:
    """Return the network of a file.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: as of `read_net`, or the tensors do not fit the network that it names.
    """
    import torch

    header, arrays = read_net(path)
    try:
        with torch.device("meta"):  # so that a false header costs no memory
            outline = build_net(header.network, header.shape, header.network_parameters)
        wanted = {n: (tuple(t.shape), t.dtype) for n, t in outline.state_dict().items()}
        tensors = {n: torch.from_numpy(np.array(a)) for n, a in arrays.items()}
        given = {n: (tuple(t.shape), t.dtype) for n, t in tensors.items()}
        if wanted != given:
            wrong = sorted(dict(set(wanted.items()) ^ set(given.items())))[0]
            raise WeightsError(f"{path}: '{wrong}' is missing or does not fit its network")
        network = build_net(header.network, header.shape, header.network_parameters)
    except PluginError as error:
        raise WeightsError(f"{path}: its network cannot be built: {error}") from error
    network.load_state_dict(tensors)
    return Net(network.eval(), header)


def quantised_net(net: Net, bits: int, path: Path) -> NetHeader:
    """Write a network with so many bits a weight; return the header as written.

    Raises:
      WeightsError: it is quantised already, or the file cannot be written.
    """
    if net.header.bits != WHOLE:
        raise WeightsError(
            f"{path}: the network has {net.header.bits} bits a weight already; quantise the one "
            "that training made"
        )
    header = net.header.model_copy(update={"bits": bits})
    return save_net(path, arrays_of(net.network), header)


def packed_net(net: Net, bits: int) -> tuple[int, nn.Module]:
    """Return the size of a network's tensors with so many bits a weight, and the network."""
    import torch

    stored = packed_tensors(arrays_of(net.network), bits)
    arrays = unpacked_tensors(stored, bits, where="network")
    network = copy.deepcopy(net.network)
    network.load_state_dict({n: torch.from_numpy(np.array(a)) for n, a in arrays.items()})
    return sum(array.nbytes for array in stored.values()), network.eval()


def arrays_of(network: nn.Module) -> Tensors:
    """Return a network's tensors as arrays."""
    return {
        name: np.array(tensor.detach().cpu().numpy(), order="C")
        for name, tensor in network.state_dict().items()
    }


def _header(metadata: dict[str, str], path: Path) -> NetHeader:
    text = metadata.get(_KEY)
    if text is None:
        raise WeightsError(
            f"{path}: no weights of life and death; name what `miai go tsumego train` made"
        )
    if len(text) > MAX_HEADER_BYTES:
        raise WeightsError(f"{path}: a header of more than {MAX_HEADER_BYTES} bytes is refused")
    try:
        values = loads(text)
    except ValueError as error:
        raise WeightsError(f"{path}: its header is no JSON: {error}") from None
    if not isinstance(values, dict) or values.get("version") != VERSION:
        raise WeightsError(f"{path}: its header is not of version {VERSION}; make it anew")
    try:
        return build_parameters(NetHeader, values, where="header")
    except ParameterError as error:
        raise WeightsError(f"{path}: {'; '.join(str(error).splitlines())}") from None


def _digest(header: NetHeader, tensors: Tensors) -> str:
    unsigned = header.model_copy(update={"sha256": ""})
    total = hashlib.sha256(unsigned.to_json().encode("ascii"))
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"\n{name} {array.dtype.str} {list(array.shape)}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()
