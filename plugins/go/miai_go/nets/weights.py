"""Weights files of Go networks: a network's tensors as safetensors, with a header.

A file is never a pickle, and nothing in it is run. It is checked in this order, and refused at the
first fault: bounds, layout, header, digest, the network's name and parameters, the tensors' names,
shapes and dtypes, and the network's outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from pydantic import Field, model_validator

from miai.errors import PluginError, WeightsError
from miai.files import reading
from miai.tensors import MAX_NAME, FileHeader, Tensors
from miai_go.errors import require_torch
from miai_go.nets.encoder import Encoder, load_encoder
from miai_go.nets.network import (
    TRAINING_ONLY,
    NetworkShape,
    Outputs,
    build_network,
    filled_parameters,
    outputs_of,
)
from miai_go.rules.sizes import BoardSizes, board_names, sizes_of
from miai_go.shipped import SUFFIX

if TYPE_CHECKING:
    from torch import nn


MAX_PLANES: Final = 512
INPUT: Final = "planes"
"""Name of an ONNX model's input."""
PRECISION_KEY: Final = "miai_precision"
"""Key of the precision in an ONNX model's metadata."""
_MAX_KOMI: Final = 1000.0


class WeightsHeader(FileHeader):
    """The header of a Go network.

    Attributes:
      network, network_parameters: the component of kind ``go.network``.
      encoder, encoder_parameters: the component of kind ``go.encoder`` whose planes it takes.
      size: points on a side of the boards that it was trained for: a number, or several.
      planes: planes of the encoder.
      komi: range of komi that it was trained for, rare ones left out, in points.
      outputs: names of the network's outputs, of policy, value, ownership and score.
    """

    KEY = "miai"
    KIND = "a Go network"
    REMEDY = (
        "name weights of a network; rollout policies have another header, and only `alphago` and "
        "`miai go eval` take them"
    )

    network: str = Field(max_length=MAX_NAME)
    network_parameters: dict[str, Any] = Field(default_factory=dict)
    encoder: str = Field(max_length=MAX_NAME)
    encoder_parameters: dict[str, Any] = Field(default_factory=dict)
    size: BoardSizes
    planes: int = Field(ge=1, le=MAX_PLANES)
    komi: tuple[float, float]
    outputs: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.komi
        if not (-_MAX_KOMI <= low <= high <= _MAX_KOMI) or not math.isfinite(low + high):
            raise ValueError(f"komi of {low} to {high} is not a range of komi")
        known = [name for name in Outputs._fields if name not in TRAINING_ONLY]
        if strange := set(self.outputs) - set(known):
            raise ValueError(f"outputs {sorted(strange)} are not among {known}")
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of board that it was trained for, ascending."""
        return sizes_of(self.size)

    @property
    def shape(self) -> NetworkShape:
        """The shape of the network's input, on the smallest board that it was trained for."""
        return NetworkShape(size=self.sizes[0], planes=self.planes)

    def board_size(self, size: int | None, *, where: str | Path) -> int:
        """Return the size of board to use the network for.

        Args:
          size: the size wanted; None for the only one that it was trained for.
          where: the file, for messages.

        Raises:
          WeightsError: it was not trained for this size; or for several, and none is wanted.
        """
        trained = board_names(self.sizes)
        if size is None and len(self.sizes) > 1:
            raise WeightsError(f"{where}: weights for {trained}; say which size of board")
        if size is not None and size not in self.sizes:
            raise WeightsError(
                f"{where}: weights for {trained}, not for {size}x{size}; choose weights trained on "
                f"{size}x{size}"
            )
        return self.sizes[0] if size is None else size


@dataclass(frozen=True, slots=True)
class NetworkWeights:
    """The content of a weights file: the network, in evaluation mode, and its header.

    A network that was trained for several sizes takes planes of each of them.
    """

    network: nn.Module
    header: WeightsHeader


def save_weights(path: str | Path, network: nn.Module, header: WeightsHeader) -> WeightsHeader:
    """Write a network and its header atomically; return the header as written.

    The header gets the network's parameters with their defaults, the outputs and the digest. Raises
    `WeightsError` if a weight is not finite; an existing file is then unchanged.
    """
    complete = header.model_copy(
        update={
            "network_parameters": filled_parameters(header.network, header.network_parameters),
            "outputs": outputs_of(network, header.shape),
        }
    )
    return complete.write(path, tensors_of(network))


def load_weights(path: str | Path, *, size: int | None = None) -> NetworkWeights:
    """Return the network of a weights file and its header.

    Args:
      size: points on a side of the board to build it for; None for the smallest that it was
        trained for.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: the file cannot be read, is not for this size, or is damaged; see the module.
    """
    require_torch(f"{path}")
    header, tensors = WeightsHeader.read_all(path)
    shape = header.shape
    if size is not None:
        shape = NetworkShape(header.board_size(size, where=path), header.planes)
    network = fill_network(
        lambda: build_network(header.network, shape, header.network_parameters),
        tensors,
        where=str(path),
    )
    outputs = outputs_of(network, shape)
    if outputs != header.outputs:
        raise WeightsError(
            f"{path}: its header has the outputs {list(header.outputs)}, and its network has "
            f"{list(outputs)}"
        )
    return NetworkWeights(network, header)


def same_weights(first: Path, second: Path) -> bool:
    """Return whether two files hold the same network, whatever their names.

    Weights are compared by the digests in their headers, other files by their bytes. Raises
    `WeightsError` if a file cannot be read.
    """
    if first == second:
        return True
    if {first.suffix, second.suffix} == {SUFFIX}:
        return WeightsHeader.read(first).sha256 == WeightsHeader.read(second).sha256
    with reading(first, WeightsError), reading(second, WeightsError):
        return cmp(first, second, shallow=False)


def tensors_of(network: nn.Module) -> Tensors:
    """Return a network's tensors as arrays."""
    return {
        name: np.array(tensor.detach().cpu().numpy(), order="C")
        for name, tensor in network.state_dict().items()
    }


def fill_network(build: Callable[[], nn.Module], tensors: Tensors, *, where: str) -> nn.Module:
    """Return the network that `build` returns with these weights, in evaluation mode.

    Raises `WeightsError`, which names `where`, if it cannot be built or the tensors do not fit it.
    """
    import torch

    try:
        with torch.device("meta"):  # so that a wrong header costs no memory
            outline = build()
        _check_tensors(outline, tensors, where=where)
        network = build()
    except PluginError as error:
        raise WeightsError(f"{where}: its network cannot be built: {error}") from error
    copies = {name: torch.from_numpy(np.array(array)) for name, array in tensors.items()}
    network.load_state_dict(copies, strict=True)
    return network.eval()


def _check_tensors(outline: nn.Module, tensors: Tensors, *, where: str) -> None:
    """Raise unless names, shapes and dtypes of the tensors are those of the network."""
    types = {
        name: (tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        for name, tensor in outline.state_dict().items()
    }
    for name in sorted(types.keys() | tensors.keys()):
        if name not in tensors:
            raise WeightsError(f"{where}: '{name}' of its network is missing")
        if name not in types:
            raise WeightsError(f"{where}: '{name}' is not a tensor of its network")
        array = tensors[name]
        if (array.shape, array.dtype.name) != types[name]:
            shape, dtype = types[name]
            raise WeightsError(
                f"{where}: '{name}' is {array.dtype.name} of shape {array.shape}; its network "
                f"takes {dtype} of shape {shape}"
            )


def encoder_of(header: WeightsHeader, *, where: str, size: int | None = None) -> Encoder:
    """Return the encoder whose planes weights take on a board of `size`.

    Raises `WeightsError` as `WeightsHeader.board_size`, and if the encoder is unavailable.
    """
    points = header.board_size(size, where=where)
    try:
        encoder = load_encoder(header.encoder, points, header.encoder_parameters)
    except PluginError as error:
        raise WeightsError(f"{where}: its encoder is unavailable: {error}") from error
    if encoder.planes != header.planes:
        raise WeightsError(
            f"{where}: trained on {header.planes} planes of the encoder '{header.encoder}', which "
            f"makes {encoder.planes} here; install the version of its plugin that trained it"
        )
    return encoder
