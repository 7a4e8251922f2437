"""Layers: convolutions with their norm, residual blocks, pooling."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

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
