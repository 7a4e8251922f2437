"""The Go networks: a residual tower with replaceable parts.

A component of kind ``go.base`` is a factory(shape, tower, parameters) -> torch.nn.Module that turns
planes (n, planes, size, size) into features (n, tower.width, size, size), `tower` being a
`TowerShape`. One of kind ``go.policy-head`` or ``go.value-head`` is a factory(shape, channels,
parameters) -> torch.nn.Module that turns features into logits (n, size * size + 1), or into values
(n,) between -1 and 1; it may return None, for no head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from miai.parameters import Parameters
from miai.plugins.loader import registry
from miai_go.nets.layers import ConvNorm, board_pool, residual_blocks
from miai_go.nets.network import NetworkShape, Outputs
from miai_go.nets.network_parameters import (
    ConvolutionPolicyParameters,
    DenseValueParameters,
    TowerParameters,
)


def no_head(shape: NetworkShape, channels: int, parameters: Parameters) -> None:
    """Return None: the component ``none``, for no head."""


class ConvolutionPolicy(nn.Module):
    """A logit per point by convolution, that of the pass from features pooled over the board.

    It depends on the place of a point only through the features.
    """

    def __init__(
        self, shape: NetworkShape, channels: int, parameters: ConvolutionPolicyParameters
    ) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels, parameters.channels, kernel=1)
        self.points = nn.Conv2d(parameters.channels, 1, 1)
        self.passing = nn.Linear(2 * parameters.channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return logits of shape (n, size * size + 1), the pass last."""
        reduced = torch.relu(self.reduce(features))
        passing = self.passing(board_pool(reduced))
        return torch.cat((self.points(reduced).flatten(1), passing), 1)


class PooledValue(nn.Module):
    """The value from means and maxima over the board (Wu 2019)."""

    def __init__(
        self, shape: NetworkShape, channels: int, parameters: DenseValueParameters
    ) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels, parameters.channels, kernel=1)
        self.hidden = nn.Linear(self._units(shape, parameters.channels), parameters.hidden)
        self.value = nn.Linear(parameters.hidden, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return values of shape (n,), 1 won by the player to move, -1 lost."""
        hidden = self.hidden(self._flat(torch.relu(self.reduce(features))))
        return torch.tanh(self.value(torch.relu(hidden))).squeeze(1)

    def _units(self, shape: NetworkShape, channels: int) -> int:
        return 2 * channels

    def _flat(self, planes: Tensor) -> Tensor:
        return board_pool(planes)


class DenseValue(PooledValue):
    """The value from all points of few planes through one hidden layer (Silver et al. 2017)."""

    def _units(self, shape: NetworkShape, channels: int) -> int:
        return channels * shape.size**2

    def _flat(self, planes: Tensor) -> Tensor:
        return planes.flatten(1)


class Ownership(nn.Module):
    """The expected owner of each point."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.points = nn.Conv2d(channels, 1, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return (n, size, size), 1 the player to move, -1 the opponent."""
        return torch.tanh(self.points(features)).squeeze(1)


class ScoreHead(nn.Module):
    """The expected lead of the player to move in points.

    The layer's output is multiplied by the size of the board, about the spread of scores between
    equals, so that its weights learn at the pace of the others.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.points = nn.Linear(2 * channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return points, of shape (n,)."""
        score: Tensor = self.points(board_pool(features)).squeeze(1) * features.shape[-1]
        return score


@dataclass(frozen=True, slots=True)
class TowerShape:
    """The size of a base.

    Attributes:
      height: blocks.
      width: channels, those of the output included.
      pooling: interval in blocks between global pooling; 0 for none.
    """

    height: int
    width: int
    pooling: int = 0


class ResidualBase(nn.Module):
    """One convolution and then residual blocks (Silver et al. 2017)."""

    def __init__(self, shape: NetworkShape, tower: TowerShape, parameters: Parameters) -> None:
        super().__init__()
        self.first = ConvNorm(shape.planes, tower.width)
        self.blocks = residual_blocks(tower.width, tower.height, tower.pooling)

    def forward(self, planes: Tensor) -> Tensor:
        """Return features of shape (n, width, size, size)."""
        features: Tensor = self.blocks(self.first(planes).relu())
        return features


class Tower(nn.Module):
    """A base with heads, or None for no head; base, policy and value are components."""

    def __init__(self, shape: NetworkShape, parameters: TowerParameters) -> None:
        super().__init__()
        width = parameters.width
        size = TowerShape(parameters.height, width, parameters.pooling)
        self.base = _part(parameters, "base", "go.base", shape, size)
        self.policy = _part(parameters, "policy", "go.policy-head", shape, width)
        self.value = _part(parameters, "value", "go.value-head", shape, width)
        self.ownership = Ownership(width) if parameters.ownership else None
        self.score = ScoreHead(width) if parameters.score else None

    def forward(self, planes: Tensor) -> Outputs:
        """Return the outputs for planes of shape (n, planes, size, size)."""
        features = self.base(planes)
        heads = (getattr(self, name) for name in Outputs._fields)
        return Outputs(*(None if head is None else head(features) for head in heads))


def _part(parameters: TowerParameters, role: str, kind: str, *context: Any) -> Any:
    component = registry().get(kind, getattr(parameters, role))
    values = getattr(parameters, f"{role}_parameters")
    return component.build(*context, values=values, where=f"{role}_parameters")
