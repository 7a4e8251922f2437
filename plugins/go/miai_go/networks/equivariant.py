"""A residual tower whose answers turn with the board, exactly up to rounding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from miai_go.networks.group import (
    GroupBlock,
    GroupConvNorm,
    LiftNorm,
    PointsOfFields,
    UnitsOfFields,
)
from miai_go.networks.parameters import EquivariantParameters
from miai_go.networks.protocol import NetworkShape, Outputs
from miai_go.symmetry import SYMMETRIES


class EquivariantTower(nn.Module):
    """A tower of group convolutions: a position and the same position turned are one to it.

    Moves and owners turn with the board, value and score stay. It has about an eighth of the free
    weights of a tower as wide. See `miai_go.networks.group`.
    """

    def __init__(self, shape: NetworkShape, parameters: EquivariantParameters) -> None:
        super().__init__()
        fields = parameters.width // SYMMETRIES
        self.first = LiftNorm(shape.planes, fields)
        self.blocks = nn.Sequential(*(GroupBlock(fields) for _ in range(parameters.height)))
        self.policy = EquivariantPolicy(fields) if parameters.policy else None
        self.value = InvariantValue(fields, parameters.hidden) if parameters.value else None
        self.ownership = PointsOfFields(fields) if parameters.ownership else None
        self.score = UnitsOfFields(fields, 1) if parameters.score else None
        self.size = shape.size

    def forward(self, planes: Tensor) -> Outputs:
        """Return what the heads make of planes of shape (n, planes, size, size)."""
        features = self.blocks(torch.relu(self.first(planes)))
        owners = None if self.ownership is None else torch.tanh(self.ownership(features)).squeeze(1)
        return Outputs(
            policy=None if self.policy is None else self.policy(features),
            value=None if self.value is None else self.value(features),
            ownership=owners,
            score=None if self.score is None else self.score(features).squeeze(1) * self.size,
        )


class EquivariantPolicy(nn.Module):
    """A logit a point that turns with the board; the pass by what the whole board shows."""

    def __init__(self, fields: int) -> None:
        super().__init__()
        self.reduce = GroupConvNorm(fields, fields, kernel=1)
        self.points = PointsOfFields(fields)
        self.passing = UnitsOfFields(fields, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return logits of shape (n, size * size + 1), the pass last."""
        reduced = torch.relu(self.reduce(features))
        return torch.cat((self.points(reduced).flatten(1), self.passing(reduced)), 1)


class InvariantValue(nn.Module):
    """The value through one hidden layer, the same for a position however it is turned."""

    def __init__(self, fields: int, hidden: int) -> None:
        super().__init__()
        self.reduce = GroupConvNorm(fields, fields, kernel=1)
        self.hidden = UnitsOfFields(fields, hidden)
        self.value = nn.Linear(hidden, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return values of shape (n,), 1 won by the player to move, -1 lost."""
        hidden = torch.relu(self.hidden(torch.relu(self.reduce(features))))
        return torch.tanh(self.value(hidden)).squeeze(1)
