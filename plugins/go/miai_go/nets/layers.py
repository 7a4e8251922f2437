"""Layers: convolutions with their norm, residual blocks, pooling, and equivariant convolutions.

The equivariant ones are convolutions over the eight symmetries of the board (group p4m). A field is
eight channels, one for each symmetry g of `miai_go.rules.symmetry`, at channel field * 8 + g. After
the board is turned by t, channel (field, g) has at a point x the value that (field, t^-1 g) had at
t^-1 x; the layers here preserve this (Cohen and Welling 2016, "Group equivariant convolutional
networks"). Each makes the weights of an ordinary layer from fewer free ones, so that at inference
it is an ordinary layer.
"""

from __future__ import annotations

import math
from functools import cache
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import INVERSES, point_tables

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


def fold_norm(weight: Tensor, norm: nn.BatchNorm2d, *, repeats: int = 1) -> nn.Conv2d:
    """Return one convolution equal at inference to a convolution without bias and `norm`.

    Args:
      weight: of shape (outputs, inputs, kernel, kernel), an odd kernel.
      repeats: number of consecutive output channels for each channel of the norm.
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

    LAYER: ClassVar[type[ConvNorm | GroupConvNorm]] = ConvNorm

    def __init__(self, channels: int, *, pooling: bool = False) -> None:
        super().__init__()
        self.first = self.LAYER(channels, channels)
        self.second = self.LAYER(channels, channels, zero=True)
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


def two_layers(inputs: int, hidden: int) -> nn.Sequential:
    """Return a perceptron with one hidden layer and one output."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 1))


_DISTINCT = 3  # side of the smallest board on which the eight symmetries differ


@cache
def products() -> NDArray[np.int64]:
    """Return int64 of shape (8, 8): [a, b] is the symmetry b followed by a."""
    tables = point_tables(_DISTINCT)
    numbers = {table.tobytes(): number for number, table in enumerate(tables)}
    return np.array([[numbers[a[b].tobytes()] for b in tables] for a in tables], np.int64)


@cache
def sources(kernel: int) -> NDArray[np.int64]:
    """Return int64 of shape (8, points): [g, q] is the point of a window that g moves to q."""
    tables = point_tables(kernel)[:, :-1].astype(np.int64)
    return np.stack([tables[INVERSES[g]] for g in range(SYMMETRIES)])


class FieldNorm(nn.Module):
    """A convolution into fields, then a norm that each field shares among its symmetries.

    (n, channels, size, size) becomes (n, fields * 8, size, size).

    Args:
      inputs: planes or fields that the convolution reads.
      index: int64 of shape (8, ...): which free weights make those of each symmetry.
      free: free weights for each pair of an input and a field.
    """

    index: Tensor

    def __init__(
        self, inputs: int, fields: int, kernel: int, index: NDArray[np.int64], free: int
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(fields, inputs, free))
        nn.init.normal_(self.weight, std=math.sqrt(2 / (inputs * free)))
        self.norm = nn.BatchNorm2d(fields)
        self.register_buffer("index", torch.from_numpy(index), persistent=False)

    def expanded(self) -> Tensor:
        """Return the weights as an ordinary convolution's, (fields * 8, channels, k, k)."""
        fields = self.weight.shape[0]
        turned = self.weight[:, :, self.index].transpose(1, 2)
        return turned.reshape(fields * SYMMETRIES, -1, self.kernel, self.kernel)

    def forward(self, planes: Tensor) -> Tensor:
        """Return fields."""
        fields = functional.conv2d(planes, self.expanded(), None, 1, "same")
        n, channels, size, _ = fields.shape
        together = fields.reshape(n, channels // SYMMETRIES, SYMMETRIES * size, size)
        return cast("Tensor", self.norm(together)).reshape(n, channels, size, size)

    def inference_form(self) -> nn.Module:
        """Return one ordinary convolution that does the same at inference."""
        return fold_norm(self.expanded(), self.norm, repeats=SYMMETRIES)


class LiftNorm(FieldNorm):
    """A `FieldNorm` that reads ordinary planes."""

    def __init__(self, planes: int, fields: int, *, kernel: int = 3) -> None:
        super().__init__(planes, fields, kernel, sources(kernel), kernel**2)


class GroupConvNorm(FieldNorm):
    """A `FieldNorm` that reads fields."""

    def __init__(self, inputs: int, outputs: int, *, kernel: int = 3, zero: bool = False) -> None:
        # Between the input's g' and the output's g only g^-1 g' matters.
        relative = products()[np.array(INVERSES)]
        index = relative[:, :, None] * kernel**2 + sources(kernel)[:, None, :]
        super().__init__(inputs, outputs, kernel, index, SYMMETRIES * kernel**2)
        if zero:
            nn.init.zeros_(self.norm.weight)


class GroupBlock(ResidualBlock):
    """A residual block of fields."""

    LAYER = GroupConvNorm


class _FieldLayer(nn.Module):
    """A layer whose weights the symmetries of a field share."""

    def __init__(self, fields: int, outputs: int, inputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.normal_(self.weight, std=math.sqrt(1 / fields))

    def shared(self) -> Tensor:
        """Return the weights as weights of channels, each an eighth."""
        return self.weight.repeat_interleave(SYMMETRIES, 1) / SYMMETRIES

    def fill(self, layer: nn.Conv2d | nn.Linear, weight: Tensor) -> None:
        """Copy weights and the bias into an ordinary layer."""
        assert layer.bias is not None
        with torch.no_grad():
            layer.weight.copy_(weight)
            layer.bias.copy_(self.bias)


class PointsOfFields(_FieldLayer):
    """One plane from fields, which turns with the board: a weighted mean over symmetries."""

    def __init__(self, fields: int) -> None:
        super().__init__(fields, 1, fields)

    def forward(self, fields: Tensor) -> Tensor:
        """Return (n, 1, size, size)."""
        return functional.conv2d(fields, self.shared()[:, :, None, None], self.bias)

    def inference_form(self) -> nn.Module:
        """Return an ordinary convolution that does the same."""
        plain = nn.Conv2d(self.weight.shape[1] * SYMMETRIES, 1, 1).to(self.weight)
        self.fill(plain, self.shared()[:, :, None, None])
        return plain


class UnitsOfFields(_FieldLayer):
    """Units invariant under turns of the board, from fields pooled over the board."""

    def __init__(self, fields: int, units: int) -> None:
        super().__init__(fields, units, 2 * fields)

    def forward(self, fields: Tensor) -> Tensor:
        """Return (n, units)."""
        return functional.linear(board_pool(fields), self.shared(), self.bias)

    def inference_form(self) -> nn.Module:
        """Return ordinary pooling and an ordinary layer that do the same."""
        shared = self.shared()
        plain = nn.Linear(shared.shape[1], shared.shape[0]).to(shared)
        self.fill(plain, shared)
        return nn.Sequential(BoardPool(), plain)


class BoardPool(nn.Module):
    """Mean and maximum over the board, as a layer."""

    def forward(self, planes: Tensor) -> Tensor:
        """Return (n, 2 * channels)."""
        return board_pool(planes)
