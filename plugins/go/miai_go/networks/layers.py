"""Layers that networks are made of: convolutions with their norm, residual blocks, pooling."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

_POOL_SHARE = 4  # one channel in so many is pooled over the board, as in KataGo


class ConvNorm(nn.Module):
    """A convolution that keeps the size of the board, then batch normalisation.

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


def fold_norm(weight: Tensor, norm: nn.BatchNorm2d, *, repeats: int = 1) -> nn.Conv2d:
    """Return the convolution that does what one without bias and then `norm` do at inference.

    Args:
      weight: of shape (outputs, inputs, kernel, kernel), an odd kernel.
      repeats: how many output channels in a row each channel of the norm stands for.
    """
    assert norm.running_var is not None
    assert norm.running_mean is not None
    outputs, inputs, kernel, _ = weight.shape
    scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    bias = norm.bias.double() - norm.running_mean.double() * scale
    scale, bias = scale.repeat_interleave(repeats), bias.repeat_interleave(repeats)
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
    """What is seen on the whole board, added to every point (Wu 2019, section 3.3).

    Planes of shape (n, channels, size, size) in and (n, outputs, 1, 1) out. The size of the board
    is one, so that KataGo's third pooling, the mean scaled by the size, would tell nothing new.
    """

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__()
        pooled = max(channels // _POOL_SHARE, 1)
        self.reduce = ConvNorm(channels, pooled)
        self.spread = nn.Linear(2 * pooled, outputs)

    def forward(self, planes: Tensor) -> Tensor:
        """Return a bias for every output channel."""
        bias: Tensor = self.spread(board_pool(torch.relu(self.reduce(planes))))
        return bias[:, :, None, None]


class ResidualBlock(nn.Module):
    """Two convolutions round which the input is carried, planes keep their shape.

    As in AlphaGo Zero (Silver et al. 2017); with `pooling`, what the whole board shows is added
    between the two.
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
