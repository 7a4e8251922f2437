"""Weights files: a network's tensors as safetensors, with a header that says what they are.

A file is never a pickle, and nothing of it is run. It is read in this order, and refused at the
first thing that is wrong: bounds, layout, header, digest, the network's name and parameters, the
tensors' names, shapes and dtypes, and what the network answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from miai.errors import PluginError
from miai_go.errors import WeightsError, require_torch
from miai_go.nets.building import build_network, filled_parameters, outputs_of
from miai_go.nets.header import METADATA_KEY, WeightsHeader, digest, header_of_metadata
from miai_go.tensors import Tensors, read_metadata, read_tensors, write_tensors

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class NetworkWeights:
    """What a weights file holds.

    Attributes:
      network: the network with its weights, as it was trained, in evaluation mode.
      header: what it is and where it comes from.
    """

    network: nn.Module
    header: WeightsHeader


def save_weights(path: str | Path, network: nn.Module, header: WeightsHeader) -> WeightsHeader:
    """Write a network and its header atomically; return the header as written.

    The network's parameters are written with their defaults, and outputs and digest are filled in.

    Raises:
      WeightsError: it cannot be written, or the network holds numbers that are not finite; a file
        that was there is then as it was.
    """
    path = Path(path)
    tensors = _tensors(network)
    complete = header.model_copy(
        update={
            "network_parameters": filled_parameters(header.network, header.network_parameters),
            "outputs": outputs_of(network, header.shape),
        }
    )
    signed = complete.model_copy(update={"sha256": digest(complete, tensors)})
    write_tensors(path, tensors, {METADATA_KEY: signed.to_json()})
    return signed


def read_header(path: str | Path) -> WeightsHeader:
    """Return a weights file's header; neither torch nor the weights are looked at.

    Raises:
      WeightsError: it cannot be read or is no weights file of miai.
    """
    path = Path(path)
    return header_of_metadata(read_metadata(path), where=str(path))


def load_weights(
    path: str | Path, *, size: int | None = None, encoder: str | None = None
) -> NetworkWeights:
    """Return the network of a weights file and its header.

    Args:
      size: points on a side that it must be for; None for any.
      encoder: name of the encoder that it must be for; None for any.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: it cannot be read, is for another size or encoder, or is not what it says:
        truncated, changed after it was written, of another version, with unknown fields, or with
        tensors that do not fit the network that it names.
    """
    path = Path(path)
    require_torch(f"{path}")
    header = read_header(path)
    check_fits(header, where=str(path), size=size, encoder=encoder)
    tensors, metadata = read_tensors(path)
    header = header_of_metadata(metadata, where=str(path))
    check_fits(header, where=str(path), size=size, encoder=encoder)
    if digest(header, tensors) != header.sha256:
        raise WeightsError(
            f"{path}: its digest is not that of what it holds: it was damaged or changed after it "
            "was written; copy it again"
        )
    network = _filled_network(header, tensors, where=str(path))
    return NetworkWeights(network, header)


def check_fits(
    header: WeightsHeader, *, where: str, size: int | None = None, encoder: str | None = None
) -> None:
    """Raise `WeightsError` where weights are for another size or encoder than asked for."""
    if size is not None and header.size != size:
        raise WeightsError(
            f"{where}: weights for {header.size}x{header.size}, not for {size}x{size}; choose "
            f"weights trained on {size}x{size}"
        )
    if encoder is not None and header.encoder != encoder:
        raise WeightsError(
            f"{where}: weights for the encoder '{header.encoder}', not for '{encoder}'; choose "
            "that encoder or other weights"
        )


def _tensors(network: nn.Module) -> Tensors:
    return {
        name: np.array(tensor.detach().cpu().numpy(), order="C")
        for name, tensor in network.state_dict().items()
    }


def _filled_network(header: WeightsHeader, tensors: Tensors, *, where: str) -> nn.Module:
    """Return the network that the header names, with these weights, all of them checked first."""
    import torch

    try:
        with torch.device("meta"):  # so that a false header costs no memory
            outline = build_network(header.network, header.shape, header.network_parameters)
        _check_tensors(outline, tensors, where=where)
        network = build_network(header.network, header.shape, header.network_parameters)
    except PluginError as error:
        raise WeightsError(f"{where}: its network cannot be built: {error}") from error
    copies = {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}
    network.load_state_dict(copies, strict=True)
    outputs = outputs_of(network.eval(), header.shape)
    if outputs != header.outputs:
        raise WeightsError(
            f"{where}: tells of the outputs {list(header.outputs)}, and its network has "
            f"{list(outputs)}"
        )
    return network


def _check_tensors(outline: nn.Module, tensors: Tensors, *, where: str) -> None:
    """Raise where the tensors are not those of the network: names, shapes, dtypes."""
    wanted = {
        name: (tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        for name, tensor in outline.state_dict().items()
    }
    for name in sorted(wanted.keys() | tensors.keys()):
        if name not in tensors:
            raise WeightsError(f"{where}: '{name}' of its network is missing")
        if name not in wanted:
            raise WeightsError(f"{where}: '{name}' is no tensor of its network")
        array = tensors[name]
        if (array.shape, array.dtype.name) != wanted[name]:
            shape, dtype = wanted[name]
            raise WeightsError(
                f"{where}: '{name}' is {array.dtype.name} of shape {array.shape}; its network "
                f"takes {dtype} of shape {shape}"
            )
