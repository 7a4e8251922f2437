"""The residual tower: a base, a policy head and a value head, each replaceable by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from miai.plugins.loader import registry
from miai.plugins.parameters import Parameters
from miai_go.networks.heads import Ownership, Score
from miai_go.networks.layers import ConvNorm, ResidualBlock
from miai_go.networks.parameters import TowerParameters
from miai_go.networks.protocol import NetworkShape, Outputs


@dataclass(frozen=True, slots=True)
class TowerShape:
    """How large a base is asked for.

    Attributes:
      height: blocks.
      width: channels, of its output too.
      pooling: every so many blocks one pools over the board; 0 for none.
    """

    height: int
    width: int
    pooling: int = 0


class ResidualBase(nn.Module):
    """One convolution and then residual blocks (Silver et al. 2017).

    A component of kind ``go.base`` is a factory(shape, tower, parameters) -> torch.nn.Module that
    makes planes (n, planes, size, size) into features (n, tower.width, size, size); `tower` is a
    `TowerShape`.
    """

    def __init__(self, shape: NetworkShape, tower: TowerShape, parameters: Parameters) -> None:
        super().__init__()
        self.first = ConvNorm(shape.planes, tower.width)
        pooling = [
            tower.pooling > 0 and i % tower.pooling == tower.pooling - 1
            for i in range(tower.height)
        ]
        self.blocks = nn.Sequential(*(ResidualBlock(tower.width, pooling=p) for p in pooling))

    def forward(self, planes: Tensor) -> Tensor:
        """Return features of shape (n, width, size, size)."""
        features: Tensor = self.blocks(self.first(planes).relu())
        return features


class Tower(nn.Module):
    """A base and the heads on it; each of base, policy and value is a component of its kind.

    Attributes:
      base, policy, value, ownership, score: its parts; None for a head that it has not.
    """

    def __init__(self, shape: NetworkShape, parameters: TowerParameters) -> None:
        super().__init__()
        width = parameters.width
        size = TowerShape(parameters.height, width, parameters.pooling)
        self.base = _part(parameters, "base", "go.base", shape, size)
        self.policy = _part(parameters, "policy", "go.policy-head", shape, width)
        self.value = _part(parameters, "value", "go.value-head", shape, width)
        self.ownership = Ownership(width) if parameters.ownership else None
        self.score = Score(shape, width) if parameters.score else None

    def forward(self, planes: Tensor) -> Outputs:
        """Return what the heads make of planes of shape (n, planes, size, size)."""
        features = self.base(planes)
        return Outputs(
            policy=None if self.policy is None else self.policy(features),
            value=None if self.value is None else self.value(features),
            ownership=None if self.ownership is None else self.ownership(features),
            score=None if self.score is None else self.score(features),
        )


def _part(parameters: TowerParameters, role: str, kind: str, *context: Any) -> Any:
    component = registry().get(kind, getattr(parameters, role))
    values = getattr(parameters, f"{role}_parameters")
    return component.build(*context, values=values, where=f"{role}_parameters")
