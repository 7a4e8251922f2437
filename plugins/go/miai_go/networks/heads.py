"""Heads of a tower: what is read off its features.

Features are of shape (n, channels, size, size). A component of kind ``go.policy-head`` or
``go.value-head`` is a factory(shape, channels, parameters) -> torch.nn.Module that makes of them
logits (n, size * size + 1), or values (n,) between -1 and 1; or None, for no such head.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from miai.plugins.parameters import Parameters
from miai_go.networks.layers import ConvNorm, board_pool
from miai_go.networks.parameters import (
    ConvolutionPolicyParameters,
    DensePolicyParameters,
    DenseValueParameters,
    PooledValueParameters,
)
from miai_go.networks.protocol import NetworkShape


def no_head(shape: NetworkShape, channels: int, parameters: Parameters) -> None:
    """Return no head: the component ``none``, which switches one off."""


class ConvolutionPolicy(nn.Module):
    """A logit a point by convolution, the pass by what the whole board shows.

    Nothing in it depends on the place of a point, other than through the features.
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


class DensePolicy(nn.Module):
    """All logits from all points of few planes at once (Silver et al. 2017)."""

    def __init__(
        self, shape: NetworkShape, channels: int, parameters: DensePolicyParameters
    ) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels, parameters.channels, kernel=1)
        self.moves = nn.Linear(parameters.channels * shape.size**2, shape.actions)

    def forward(self, features: Tensor) -> Tensor:
        """Return logits of shape (n, size * size + 1), the pass last."""
        logits: Tensor = self.moves(torch.relu(self.reduce(features)).flatten(1))
        return logits


class DenseValue(nn.Module):
    """The value from all points of few planes through one hidden layer (Silver et al. 2017)."""

    def __init__(
        self, shape: NetworkShape, channels: int, parameters: DenseValueParameters
    ) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels, parameters.channels, kernel=1)
        self.hidden = nn.Linear(parameters.channels * shape.size**2, parameters.hidden)
        self.value = nn.Linear(parameters.hidden, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return values of shape (n,), 1 won by the player to move, -1 lost."""
        hidden = self.hidden(torch.relu(self.reduce(features)).flatten(1))
        return torch.tanh(self.value(torch.relu(hidden))).squeeze(1)


class PooledValue(nn.Module):
    """The value from means and maxima over the board (Wu 2019)."""

    def __init__(
        self, shape: NetworkShape, channels: int, parameters: PooledValueParameters
    ) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels, parameters.channels, kernel=1)
        self.hidden = nn.Linear(2 * parameters.channels, parameters.hidden)
        self.value = nn.Linear(parameters.hidden, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return values of shape (n,), 1 won by the player to move, -1 lost."""
        hidden = self.hidden(board_pool(torch.relu(self.reduce(features))))
        return torch.tanh(self.value(torch.relu(hidden))).squeeze(1)


class Ownership(nn.Module):
    """Who will own each point."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.points = nn.Conv2d(channels, 1, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return (n, size, size), 1 the player to move, -1 the opponent."""
        return torch.tanh(self.points(features)).squeeze(1)


class Score(nn.Module):
    """By how many points the player to move will win.

    What the layer makes is multiplied by the size of the board, which is about the spread of
    scores between equals, so that its weights learn at the pace of the others.
    """

    def __init__(self, shape: NetworkShape, channels: int) -> None:
        super().__init__()
        self.size = shape.size
        self.points = nn.Linear(2 * channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return points, of shape (n,)."""
        score: Tensor = self.points(board_pool(features)).squeeze(1) * self.size
        return score
