"""Small networks and games for boards of several sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tests.go_learning.go_data_games import random_game, write_set
from tests.go_learning.go_networks_small import stir
from torch.nn import functional

from miai.tensors import read_tensors
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.training.config_sections import EncoderSection, NetworkSection
from miai_go.learning.training.initial_network import make_network
from miai_go.nets.encoders import ZeroEncoder
from miai_go.nets.network import WeightsHeader, save_weights

ZERO = EncoderSection(name="zero")
TOWER: dict[str, Any] = {"height": 2, "width": 8, "pooling": 2, "value": "pooled"}
TOWER |= {"ownership": True, "score": True}


def games_of(size: int, count: int = 8, *, search: bool = True) -> list[StoredGame]:
    return [random_game(s, size=size, length=15 + s, search=search) for s in range(count)]


def write_sets(folder: Path, *sizes: int, search: bool = True) -> Path:
    """Write a set for each size, as `miai go data play` does."""
    for size in sizes:
        write_set(folder / f"{size}x{size}", games_of(size, search=search))
    return folder


def small_weights(path: Path, sizes: tuple[int, ...], **tower: Any) -> WeightsHeader:
    """Write weights for several sizes whose norms are far from the identity."""
    network = NetworkSection(name="tower", parameters={**TOWER, **tower})
    built, _encoders, header = make_network(sizes, ZERO, network, seed=2)
    stir(built, seed=3)
    return save_weights(path, built, header.model_copy(update={"komi": (5.5, 7.5)}))


def planes_of(size: int, count: int = 12) -> NDArray[np.uint8]:
    """Return planes of positions of random games."""
    data = GoDataset.of_games(games_of(size), encoder=ZeroEncoder(size))
    planes = next(data.batches(count, seed=1)).planes
    assert planes is not None
    return planes


def by_hand(weights: Path, planes: NDArray[np.uint8]) -> dict[str, torch.Tensor]:
    """Return the answers of a tower for planes, computed from its tensors alone."""
    t = {name: torch.from_numpy(np.array(a)) for name, a in read_tensors(weights)[0].items()}

    def conv(name: str, x: torch.Tensor) -> torch.Tensor:
        kernel = t[f"{name}.convolution.weight"]
        x = functional.conv2d(x, kernel, padding=kernel.shape[-1] // 2)
        mean, var = t[f"{name}.norm.running_mean"], t[f"{name}.norm.running_var"]
        x = (x - mean[:, None, None]) / torch.sqrt(var + 1e-5)[:, None, None]
        weight, bias = t[f"{name}.norm.weight"], t[f"{name}.norm.bias"]
        return x * weight[:, None, None] + bias[:, None, None]

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ t[f"{name}.weight"].T + t[f"{name}.bias"]

    def point(name: str, x: torch.Tensor) -> torch.Tensor:
        weight = t[f"{name}.weight"][0, :, 0, 0]
        return torch.einsum("ncyx,c->nyx", x, weight) + t[f"{name}.bias"]

    def pooled(x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(2)
        return torch.cat((flat.sum(2) / flat.shape[2], flat.max(2).values), 1)

    x = conv("base.first", torch.from_numpy(planes).float()).relu()
    for block in ("base.blocks.0", "base.blocks.1"):
        inner = conv(f"{block}.first", x)
        if f"{block}.pool.spread.weight" in t:
            features = pooled(conv(f"{block}.pool.reduce", x).relu())
            inner = inner + linear(f"{block}.pool.spread", features)[:, :, None, None]
        x = (conv(f"{block}.second", inner.relu()) + x).relu()
    reduced = conv("policy.reduce", x).relu()
    points = point("policy.points", reduced).flatten(1)
    value = pooled(conv("value.reduce", x).relu())
    value = linear("value.value", linear("value.hidden", value).relu()).tanh()[:, 0]
    return {
        "policy": torch.cat((points, linear("policy.passing", pooled(reduced))), 1),
        "value": value,
        "ownership": point("ownership.points", x).tanh(),
        "score": linear("score.points", pooled(x))[:, 0] * planes.shape[-1],
    }
