"""Layers that turn with the board: convolutions over the eight symmetries (group p4m).

A FIELD is eight channels, one for each symmetry g of `miai_go.symmetry`, at channel
field * 8 + g. When the board is turned by t, what channel (field, g) shows at a point x is what
(field, t^-1 g) showed at t^-1 x before: the layers here keep this true (Cohen and Welling 2016,
"Group equivariant convolutional networks"). Each makes the weights of an ordinary layer from few
free ones, so that at inference it is an ordinary layer and costs no more.
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

from miai_go.networks.layers import board_pool, fold_norm
from miai_go.symmetry import INVERSES, SYMMETRIES, point_tables

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
