"""Small networks for tests, with norms that do something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from miai.tensors import TrainingRecord
from miai_go.nets.encoder import load_encoder
from miai_go.nets.network import NetworkShape, WeightsHeader, build_network, save_weights

SIZE = 5
HISTORY = 1
PLANES = 2 * HISTORY + 2  # of the encoder "zero"

HEADS = {"ownership": True, "score": True}
NETWORKS: dict[str, dict[str, Any]] = {
    "tower": {"height": 2, "width": 8, "pooling": 2, **HEADS},
    "plain": {"height": 1, "width": 6},
}


def small_header(name: str = "tower", **parameters: Any) -> WeightsHeader:
    """Return the header of a small tower, one of `NETWORKS`, on the encoder ``zero``."""
    return WeightsHeader(
        network="tower",
        network_parameters=parameters or NETWORKS[name],
        encoder="zero",
        encoder_parameters={"history": HISTORY},
        size=SIZE,
        planes=PLANES,
        komi=(5.5, 7.5),
        history=(TrainingRecord(command="miai go train sl", steps=10, seed=3),),
        licence="Apache-2.0",
    )


def small_network(header: WeightsHeader, *, seed: int = 1) -> nn.Module:
    """Return a network as if it had been trained: its norms are far from the identity."""
    network = build_network(header.network, header.shape, header.network_parameters, seed=seed)
    stir(network, seed=seed)
    return network.eval()


def stir(network: nn.Module, *, seed: int) -> None:
    """Give all norms and biases values that matter."""
    generator = torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            with torch.no_grad():
                module.weight.uniform_(0.5, 1.5, generator=generator)
                module.bias.uniform_(-0.5, 0.5, generator=generator)
                assert module.running_mean is not None
                assert module.running_var is not None
                module.running_mean.uniform_(-0.5, 0.5, generator=generator)
                module.running_var.uniform_(0.5, 2.0, generator=generator)


def small_file(path: Path, name: str = "tower", *, seed: int = 1, **parameters: Any) -> Path:
    """Write the weights of a small network; return the path."""
    header = small_header(name, **parameters)
    save_weights(path, small_network(header, seed=seed), header)
    return path


def write_tower(
    path: Path,
    size: int,
    parameters: dict[str, Any],
    *,
    encoder: str = "zero",
    encoder_parameters: dict[str, Any] | None = None,
    komi: tuple[float, float] = (5.5, 7.5),
) -> Path:
    """Write the weights of an untrained tower, by default of one block and eight channels."""
    values = {"height": 1, "width": 8, **parameters}
    planes = load_encoder(encoder, size, encoder_parameters or {}).planes
    seen: dict[str, Any] = {"encoder": encoder, "encoder_parameters": encoder_parameters or {}}
    seen |= {"size": size, "planes": planes, "komi": komi}
    header = WeightsHeader(network="tower", network_parameters=values, **seen)
    save_weights(path, build_network("tower", NetworkShape(size, planes), values, seed=3), header)
    return path


def random_planes(count: int, *, seed: int, size: int = SIZE) -> NDArray[np.uint8]:
    """Return planes of zeros and ones."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (count, PLANES, size, size), dtype=np.uint8)
