"""Networks made by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from miai.plugins.loader import registry
from miai_go.errors import require_torch
from miai_go.networks.protocol import NetworkShape
from miai_go.tsumego.networks.components import KIND

if TYPE_CHECKING:
    from torch import nn


def build_net(
    name: str, shape: NetworkShape, values: Mapping[str, Any], *, seed: int = 0
) -> nn.Module:
    """Return a network of a registered name, its weights drawn by `seed`.

    Raises:
      MissingExtraError: torch is not installed.
      UnknownComponentError, ParameterError: no such network, or not with these values.
    """
    require_torch(f"the network '{name}'")
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: nn.Module = registry().get(KIND, name).build(shape, values=values)
    return network


def filled_values(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with all defaults.

    Raises:
      UnknownComponentError, ParameterError: no such network, or not with these values.
    """
    return registry().get(KIND, name).fill(values).model_dump(mode="json")
