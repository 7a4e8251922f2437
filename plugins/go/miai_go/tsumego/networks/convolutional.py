"""Convolutional networks of life and death: residual, pooled over the target, equivariant."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from miai_go.networks.group import (
    GroupBlock,
    LiftNorm,
    PointsOfFields,
)
from miai_go.networks.layers import ConvNorm, ResidualBlock, board_pool
from miai_go.networks.protocol import NetworkShape, Outputs
from miai_go.tsumego.networks.parameters import (
    SYMMETRIES,
    EquivariantNetParameters,
    ResidualParameters,
)

TARGET_BLOCK = 4
"""The plane that shows the target, in every set of planes."""


class Heads(nn.Module):
    """Value and policy from features: (n, channels, window, window).

    Args:
      pooled: how many numbers the value is made of.
    """

    def __init__(self, channels: int, pooled: int, hidden: int) -> None:
        super().__init__()
        self.points = nn.Conv2d(channels, 1, 1)
        self.none = nn.Linear(pooled, 1)
        self.value = nn.Sequential(nn.Linear(pooled, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, features: Tensor, pooled: Tensor) -> Outputs:
        """Return value and policy."""
        policy = torch.cat((self.points(features).flatten(1), self.none(pooled)), 1)
        return Outputs(policy=policy, value=torch.tanh(self.value(pooled)).squeeze(1))


class ResidualNet(nn.Module):
    """A residual tower; moves by convolution, the value from means and maxima over the window."""

    over_target = False

    def __init__(self, shape: NetworkShape, parameters: ResidualParameters) -> None:
        super().__init__()
        width, every = parameters.width, parameters.pooling
        self.first = ConvNorm(shape.planes, width)
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(width, pooling=bool(every) and (i + 1) % every == 0)
                for i in range(parameters.height)
            )
        )
        self.heads = Heads(width, (4 if self.over_target else 2) * width, parameters.hidden)

    def forward(self, planes: Tensor) -> Outputs:
        """Return value and policy."""
        features = self.blocks(torch.relu(self.first(planes)))
        pooled = board_pool(features)
        if self.over_target:
            pooled = torch.cat((pooled, pool_over(features, planes[:, TARGET_BLOCK])), 1)
        outputs: Outputs = self.heads(features, pooled)
        return outputs


class GroupPooledNet(ResidualNet):
    """As `ResidualNet`, and the value sees means and maxima over the target's block, too."""

    over_target = True


class EquivariantNet(nn.Module):
    """A tower whose features turn with the board; a turned board has the same value."""

    def __init__(self, shape: NetworkShape, parameters: EquivariantNetParameters) -> None:
        super().__init__()
        fields = parameters.width // SYMMETRIES
        self.first = LiftNorm(shape.planes, fields)
        self.blocks = nn.Sequential(*(GroupBlock(fields) for _ in range(parameters.height)))
        self.points = PointsOfFields(fields)
        self.none = nn.Linear(4 * fields, 1)
        self.value = nn.Sequential(
            nn.Linear(4 * fields, parameters.hidden),
            nn.ReLU(),
            nn.Linear(parameters.hidden, 1),
        )

    def forward(self, planes: Tensor) -> Outputs:
        """Return value and policy."""
        features = self.blocks(torch.relu(self.first(planes)))
        n, channels, size, _ = features.shape
        fields = features.view(n, channels // SYMMETRIES, SYMMETRIES * size, size)
        mask = planes[:, TARGET_BLOCK].repeat(1, SYMMETRIES, 1)
        pooled = torch.cat((board_pool(fields), pool_over(fields, mask)), 1)
        policy = torch.cat((self.points(features).flatten(1), self.none(pooled)), 1)
        return Outputs(policy=policy, value=torch.tanh(self.value(pooled)).squeeze(1))


def pool_over(features: Tensor, mask: Tensor) -> Tensor:
    """Return mean and maximum over the points of a mask: (n, 2 * channels); 0 where it has none.

    Args:
      features: of shape (n, channels, rows, columns), not negative.
      mask: 0 or 1, of shape (n, rows, columns).
    """
    within = features * mask[:, None]
    count = mask.sum((1, 2)).clamp(min=1)[:, None]
    return torch.cat((within.sum((2, 3)) / count, within.amax((2, 3))), 1)
