"""Weights files of life-and-death networks: tensors as safetensors, with a header.

Weights are 32-bit numbers, or, where they are quantized, packed integers of `bits` bits in 64-bit
words, with one scale for each row (see `miai_go.nets.quantization`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from miai.parameters import StrictModel
from miai_go.errors import WeightsError
from miai_go.kinds import LIFE_NETWORK
from miai_go.nets.building import build_network, filled_parameters
from miai_go.nets.life_planes import MOST_WINDOW, PLANE_SETS
from miai_go.nets.network import NetworkShape
from miai_go.nets.quantization import WHOLE, packed_tensors, unpacked_tensors
from miai_go.nets.weights import fill_network, tensors_of
from miai_go.tensors import MAX_NAME, FileHeader, Tensors

if TYPE_CHECKING:
    from torch import nn


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


class NetHeader(FileHeader):
    """The header of a life-and-death network.

    Attributes:
      network, network_parameters: the component of kind ``go.tsumego-network``.
      planes: the set of planes that it takes.
      window: points on a side of the window.
      bits: bits of a weight; 32 where it is not quantized.
      data: digest of the data set that it was trained on.
      held_out: the part of the data set that it was not trained on.
    """

    KEY = "miai-tsumego"
    KIND = "a life-and-death network"
    REMEDY = "`miai go tsumego train` makes one"

    network: str = Field(max_length=MAX_NAME)
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

    They are packed where the header has fewer bits than 32.

    Raises:
      WeightsError: it cannot be written, or a tensor is not finite.
    """
    complete = header.model_copy(
        update={
            "network_parameters": filled_parameters(
                header.network, header.network_parameters, kind=LIFE_NETWORK
            )
        }
    )
    return complete.write(path, packed_tensors(tensors, header.bits))


def read_net(path: Path) -> tuple[NetHeader, Tensors]:
    """Return a file's header and its tensors, unpacked; torch is not needed.

    Raises:
      WeightsError: the file cannot be read or does not fit its header.
    """
    header, stored = NetHeader.read_all(path)
    return header, unpacked_tensors(stored, header.bits, where=str(path))


def load_net(path: Path) -> Net:
    """Return the network of a file.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: as `read_net`, or the tensors do not fit the network that the file names.
    """
    header, tensors = read_net(path)
    network = fill_network(
        lambda: build_network(
            header.network, header.shape, header.network_parameters, kind=LIFE_NETWORK
        ),
        tensors,
        where=str(path),
    )
    return Net(network, header)


def quantize_net(net: Net, bits: int, path: Path) -> NetHeader:
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
    return save_net(path, tensors_of(net.network), header)


def packed_net(net: Net, bits: int) -> tuple[int, nn.Module]:
    """Return the size of a network's tensors with so many bits a weight, and the network."""
    import torch

    stored = packed_tensors(tensors_of(net.network), bits)
    arrays = unpacked_tensors(stored, bits, where="network")
    network = copy.deepcopy(net.network)
    network.load_state_dict({n: torch.from_numpy(np.array(a)) for n, a in arrays.items()})
    return sum(array.nbytes for array in stored.values()), network.eval()
