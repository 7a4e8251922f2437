"""The reference's network: fully connected, with residual blocks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from miai_go.networks.protocol import NetworkShape, Outputs
from miai_go.tsumego.networks.parameters import DenseParameters


class DenseBlock(nn.Module):
    """Two layers round which the input is carried; (n, width) in and out."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, units: Tensor) -> Tensor:
        """Return units, none negative."""
        inner = self.drop(torch.relu(self.first(units)))
        return torch.relu(units + self.second(inner))


class DenseNet(nn.Module):
    """All planes into one layer, residual blocks, then a value and a policy.

    Planes of shape (n, planes, window, window) are taken row by row, plane after plane.
    """

    def __init__(self, shape: NetworkShape, parameters: DenseParameters) -> None:
        super().__init__()
        width = parameters.width
        self.first = nn.Linear(shape.planes * shape.size**2, width)
        self.drop = nn.Dropout(parameters.dropout)
        self.blocks = nn.Sequential(
            *(DenseBlock(width, parameters.dropout) for _ in range(parameters.blocks))
        )
        self.value = nn.Linear(width, 1)
        self.policy = nn.Linear(width, shape.actions)

    def forward(self, planes: Tensor) -> Outputs:
        """Return value and policy."""
        units = self.drop(torch.relu(self.first(planes.contiguous().flatten(1))))
        units = self.blocks(units)
        return Outputs(policy=self.policy(units), value=torch.tanh(self.value(units)).squeeze(1))
