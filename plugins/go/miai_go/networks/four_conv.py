"""A small network of four convolutions, with a policy and a value head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from miai_go.networks.layers import ConvNorm
from miai_go.networks.parameters import FourConvParameters
from miai_go.networks.protocol import NetworkShape, Outputs

_FIRST_KERNEL = 5


class FourConv(nn.Module):
    """Four convolutions, 5x5 and then three of 3x3; moves and value from all points of the last.

    The pass is a move like the others.
    """

    def __init__(self, shape: NetworkShape, parameters: FourConvParameters) -> None:
        super().__init__()
        width, inner = parameters.width, parameters.width * shape.size**2
        self.base = nn.Sequential(
            ConvNorm(shape.planes, width, kernel=_FIRST_KERNEL),
            nn.ReLU(),
            *(layer for _ in range(3) for layer in (ConvNorm(width, width), nn.ReLU())),
        )
        self.policy = nn.Linear(inner, shape.actions) if parameters.policy else None
        self.value = _value(inner, parameters.hidden) if parameters.value else None

    def forward(self, planes: Tensor) -> Outputs:
        """Return moves and values of planes of shape (n, planes, size, size)."""
        features = self.base(planes).flatten(1)
        return Outputs(
            policy=None if self.policy is None else self.policy(features),
            value=None if self.value is None else torch.tanh(self.value(features)).squeeze(1),
        )


def _value(inputs: int, hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 1))
