"""Layers: convolutions with their norm, residual blocks, pooling, and equivariant convolutions.

The equivariant ones are convolutions over the eight symmetries of the board (group p4m). A field is
eight channels, one for each symmetry g of `miai_go.rules.symmetry`, at channel field * 8 + g. When
the board is turned by t, what channel (field, g) shows at a point x is what (field, t^-1 g) showed
at t^-1 x before: the layers here keep this true (Cohen and Welling 2016, "Group equivariant
convolutional networks"). Each makes the weights of an ordinary layer from few free ones, so that at
inference it is an ordinary layer and costs no more.
"""

from __future__ import annotations

import math
from functools import cache
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from miai_go.rules.symmetry import INVERSES, SYMMETRIES, point_tables

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


_MARKED = 3  # side of the smallest board on which the eight symmetries differ


@cache
def products() -> NDArray[np.int64]:
    """Return int64 of shape (8, 8): [a, b] is the symmetry that does b and then a."""
    tables = point_tables(_MARKED)
    known = {table.tobytes(): number for number, table in enumerate(tables)}
    together = [[known[a[b].tobytes()] for b in tables] for a in tables]
    return np.array(together, np.int64)


@cache
def sources(kernel: int) -> NDArray[np.int64]:
    """Return int64 of shape (8, points): [g, q] is the point of a window that g moves to q."""
    tables = point_tables(kernel)[:, :-1].astype(np.int64)
    return np.stack([tables[INVERSES[g]] for g in range(SYMMETRIES)])


class LiftNorm(nn.Module):
    """A convolution of ordinary planes into fields, then a norm that is one for all of a field.

    (n, planes, size, size) becomes (n, fields * 8, size, size).
    """

    index: Tensor

    def __init__(self, planes: int, fields: int, *, kernel: int = 3) -> None:
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(fields, planes, kernel**2))
        nn.init.normal_(self.weight, std=math.sqrt(2 / (planes * kernel**2)))
        self.norm = nn.BatchNorm2d(fields)
        self.register_buffer("index", torch.from_numpy(sources(kernel)), persistent=False)

    def expanded(self) -> Tensor:
        """Return the weights as those of an ordinary convolution, (fields * 8, planes, k, k)."""
        fields, planes, _ = self.weight.shape
        turned = self.weight[:, :, self.index].permute(0, 2, 1, 3)
        return turned.reshape(fields * SYMMETRIES, planes, self.kernel, self.kernel)

    def forward(self, planes: Tensor) -> Tensor:
        """Return fields."""
        return _normed(functional.conv2d(planes, self.expanded(), None, 1, "same"), self.norm)

    def inference_form(self) -> nn.Module:
        """Return one ordinary convolution that does the same at inference."""
        return fold_norm(self.expanded(), self.norm, repeats=SYMMETRIES)


class GroupConvNorm(nn.Module):
    """A convolution of fields into fields, then a norm that is one for all of a field.

    (n, inputs * 8, size, size) becomes (n, outputs * 8, size, size).
    """

    index: Tensor

    def __init__(self, inputs: int, outputs: int, *, kernel: int = 3, zero: bool = False) -> None:
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(outputs, inputs, SYMMETRIES * kernel**2))
        nn.init.normal_(self.weight, std=math.sqrt(2 / (inputs * SYMMETRIES * kernel**2)))
        self.norm = nn.BatchNorm2d(outputs)
        if zero:
            nn.init.zeros_(self.norm.weight)
        # Between the input's g' and the output's g only g^-1 g' matters.
        relative = products()[np.array(INVERSES)]
        index = relative[:, :, None] * kernel**2 + sources(kernel)[:, None, :]
        self.register_buffer("index", torch.from_numpy(index), persistent=False)

    def expanded(self) -> Tensor:
        """Return the weights as an ordinary convolution's, (outputs * 8, inputs * 8, k, k)."""
        outputs, inputs, _ = self.weight.shape
        turned = self.weight[:, :, self.index].permute(0, 2, 1, 3, 4)
        shape = (outputs * SYMMETRIES, inputs * SYMMETRIES, self.kernel, self.kernel)
        return turned.reshape(shape)

    def forward(self, fields: Tensor) -> Tensor:
        """Return fields."""
        return _normed(functional.conv2d(fields, self.expanded(), None, 1, "same"), self.norm)

    def inference_form(self) -> nn.Module:
        """Return one ordinary convolution that does the same at inference."""
        return fold_norm(self.expanded(), self.norm, repeats=SYMMETRIES)


class GroupBlock(nn.Module):
    """A residual block of fields."""

    def __init__(self, fields: int) -> None:
        super().__init__()
        self.first = GroupConvNorm(fields, fields)
        self.second = GroupConvNorm(fields, fields, zero=True)

    def forward(self, fields: Tensor) -> Tensor:
        """Return fields of the same shape."""
        outer: Tensor = self.second(torch.relu(self.first(fields)))
        return torch.relu(outer + fields)


class PointsOfFields(nn.Module):
    """One plane from fields, which turns as the board does: the mean over symmetries, weighed."""

    def __init__(self, fields: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, fields))
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.normal_(self.weight, std=math.sqrt(1 / fields))

    def forward(self, fields: Tensor) -> Tensor:
        """Return (n, 1, size, size)."""
        return functional.conv2d(fields, _shared(self.weight)[:, :, None, None], self.bias)

    def inference_form(self) -> nn.Module:
        """Return an ordinary convolution that does the same."""
        plain = nn.Conv2d(self.weight.shape[1] * SYMMETRIES, 1, 1).to(self.weight)
        _fill(plain, _shared(self.weight)[:, :, None, None], self.bias)
        return plain


class UnitsOfFields(nn.Module):
    """Units that do not change when the board turns, from fields pooled over the board."""

    def __init__(self, fields: int, units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(units, 2 * fields))
        self.bias = nn.Parameter(torch.zeros(units))
        nn.init.normal_(self.weight, std=math.sqrt(1 / fields))

    def forward(self, fields: Tensor) -> Tensor:
        """Return (n, units)."""
        return functional.linear(board_pool(fields), _shared(self.weight), self.bias)

    def inference_form(self) -> nn.Module:
        """Return ordinary pooling and an ordinary layer that do the same."""
        shared = _shared(self.weight)
        plain = nn.Linear(shared.shape[1], shared.shape[0]).to(shared)
        _fill(plain, shared, self.bias)
        return nn.Sequential(BoardPool(), plain)


class BoardPool(nn.Module):
    """Mean and maximum over the board, as a layer."""

    def forward(self, planes: Tensor) -> Tensor:
        """Return (n, 2 * channels)."""
        return board_pool(planes)


def _normed(fields: Tensor, norm: nn.BatchNorm2d) -> Tensor:
    n, channels, size, _ = fields.shape
    together = fields.reshape(n, channels // SYMMETRIES, SYMMETRIES * size, size)
    return cast("Tensor", norm(together)).reshape(n, channels, size, size)


def _shared(weight: Tensor) -> Tensor:
    """Return weights of fields as weights of their channels, each an eighth."""
    return weight.repeat_interleave(SYMMETRIES, 1) / SYMMETRIES


def _fill(layer: nn.Conv2d | nn.Linear, weight: Tensor, bias: Tensor) -> None:
    assert layer.bias is not None
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
