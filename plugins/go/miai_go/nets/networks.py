"""The Go networks: a residual tower with replaceable parts.

A component of kind ``go.base`` is a factory(shape, tower, parameters) -> torch.nn.Module that turns
planes (n, planes, size, size) into features (n, tower.width, size, size), `tower` being a
`TowerShape`. One of kind ``go.policy-head`` or ``go.value-head`` is a factory(shape, channels,
parameters) -> torch.nn.Module that turns features into logits (n, size * size + 1), or into values
(n,) between -1 and 1; it may return None, for no head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from miai.parameters import Parameters
from miai.plugins.loader import registry
from miai_go.nets.network import NetworkShape, Outputs
from miai_go.nets.network_parameters import (
    ConvolutionPolicyParameters,
    DenseValueParameters,
    TowerParameters,
)

_POOL_SHARE = 4  # one channel in four is pooled over the board, as in KataGo


class ConvNorm(nn.Module):
    """A convolution that preserves the size of the board, then batch normalisation.

    Planes of shape (n, inputs, size, size) become (n, outputs, size, size).

    Args:
      kernel: points on a side of the window, an odd number.
      zero: whether the norm's weights begin at zero, so that a residual block begins as the
        identity (Goyal et al. 2017, section 5.1).
    """

    def __init__(self, inputs: int, outputs: int, *, kernel: int = 3, zero: bool = False) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        nn.init.kaiming_normal_(self.convolution.weight, nonlinearity="relu")
        if zero:
            nn.init.zeros_(self.norm.weight)

    def forward(self, planes: Tensor) -> Tensor:
        """Return the planes, convolved and normalised."""
        return cast("Tensor", self.norm(self.convolution(planes)))

    def inference_form(self) -> nn.Module:
        """Return one convolution with a bias that does the same at inference."""
        return fold_norm(self.convolution.weight, self.norm)


def fold_norm(weight: Tensor, norm: nn.BatchNorm2d) -> nn.Conv2d:
    """Return one convolution equal at inference to a convolution without bias and `norm`.

    Args:
      weight: of shape (outputs, inputs, kernel, kernel), an odd kernel.
    """
    assert norm.running_var is not None
    assert norm.running_mean is not None
    outputs, inputs, kernel, _ = weight.shape
    # In double precision: rounding twice in fp32 would add up over the blocks of a tower.
    scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    bias = norm.bias.double() - norm.running_mean.double() * scale
    folded = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2).to(weight)
    with torch.no_grad():
        folded.weight.copy_(weight.double() * scale.view(-1, 1, 1, 1))
        assert folded.bias is not None
        folded.bias.copy_(bias)
    return folded


def board_pool(planes: Tensor) -> Tensor:
    """Return mean and maximum over the board: (n, channels, size, size) to (n, 2 * channels)."""
    return torch.cat((planes.mean((2, 3)), planes.amax((2, 3))), 1)


class PoolBias(nn.Module):
    """A bias for every point from features pooled over the board (Wu 2019, section 3.3).

    Planes of shape (n, channels, size, size) in and (n, outputs, 1, 1) out. KataGo's third pooling,
    the mean scaled by the size of the board, is left out: it would change the tensors of trained
    weights. The bias begins at zero, so that pooling can be added to a trained network.
    """

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__()
        width = max(channels // _POOL_SHARE, 1)
        self.reduce = ConvNorm(channels, width)
        self.spread = nn.Linear(2 * width, outputs)
        nn.init.zeros_(self.spread.weight)
        nn.init.zeros_(self.spread.bias)

    def forward(self, planes: Tensor) -> Tensor:
        """Return a bias for every output channel."""
        bias: Tensor = self.spread(board_pool(torch.relu(self.reduce(planes))))
        return bias[:, :, None, None]


class ResidualBlock(nn.Module):
    """Two convolutions with a skip connection, as in AlphaGo Zero (Silver et al. 2017).

    With `pooling`, a `PoolBias` is added between the two.
    """

    def __init__(self, channels: int, *, pooling: bool = False) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels)
        self.second = ConvNorm(channels, channels, zero=True)
        self.pool = PoolBias(channels, channels) if pooling else None

    def forward(self, planes: Tensor) -> Tensor:
        """Return the block's planes, of the same shape."""
        inner: Tensor = self.first(planes)
        if self.pool is not None:
            inner = inner + self.pool(planes)
        outer: Tensor = self.second(torch.relu(inner))
        return torch.relu(outer + planes)


def residual_blocks(channels: int, height: int, every: int) -> nn.Sequential:
    """Return a tower of `ResidualBlock`, with pooling at intervals of `every`; 0: none."""
    pooling = [every > 0 and i % every == every - 1 for i in range(height)]
    return nn.Sequential(*(ResidualBlock(channels, pooling=p) for p in pooling))


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
