"""The life-and-death networks: fully connected, and confined to the zone.

The zone's network has features at the points of the zone alone: the rest of the window never
changes, so only the first layer sees it. For n positions with N points in total, features have
shape (N, width).
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

import torch
from torch import Tensor, nn

from miai.errors import ParameterError
from miai_go.nets.network import NetworkShape, Outputs
from miai_go.tsumego.components import DenseParameters, ZoneParameters
from miai_go.tsumego.kernels.zone_net import ACROSS, HIDDEN, REACH

TARGET_BLOCK = 4
"""The plane of the target, in every set of planes."""


class DenseBlock(nn.Module):
    """Two layers with a skip connection; (n, width) in and out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, units: Tensor) -> Tensor:
        """Return units, none negative."""
        inner = torch.relu(self.first(units))
        return torch.relu(units + self.second(inner))


class DenseNet(nn.Module):
    """One layer that reads all planes, residual blocks, then a value and a policy.

    Planes of shape (n, planes, window, window) are read row by row, plane after plane.
    """

    def __init__(self, shape: NetworkShape, parameters: DenseParameters) -> None:
        super().__init__()
        width = parameters.width
        self.first = nn.Linear(shape.planes * shape.size**2, width)
        self.blocks = nn.Sequential(*(DenseBlock(width) for _ in range(parameters.blocks)))
        self.value = nn.Linear(width, 1)
        self.policy = nn.Linear(width, shape.actions)

    def forward(self, planes: Tensor) -> Outputs:
        """Return value and policy."""
        units = self.blocks(torch.relu(self.first(planes.contiguous().flatten(1))))
        return Outputs(policy=self.policy(units), value=torch.tanh(self.value(units)).squeeze(1))


ZONE: Final = 14
"""The plane of the zone's points."""

NOWHERE: Final = -1e9
"""The logit of points beyond the zone."""


class Ground(NamedTuple):
    """The points of all zones, N in total.

    Attributes:
      owner: the position of each point, int64 of shape (N,), ascending.
      place: its point of the window, int64 of shape (N,).
      near: the numbers of its eight neighbours and itself, row by row, N for none, int64 of shape
        (N, 9).
      target: the points of the targets' blocks, int64 of shape (T,).
      positions: number of positions.
    """

    owner: Tensor
    place: Tensor
    near: Tensor
    target: Tensor
    positions: int


def find_ground(planes: Tensor) -> Ground:
    """Return the points of the zones that planes show."""
    count, _, size, _ = planes.shape
    owner, row, column = planes[:, ZONE].nonzero(as_tuple=True)
    numbers = planes.new_full((count, size + 2, size + 2), len(owner), dtype=torch.int64)
    numbers[owner, row + 1, column + 1] = torch.arange(len(owner), device=planes.device)
    near = [numbers[owner, row + r, column + c] for r in range(3) for c in range(3)]
    target = planes[owner, TARGET_BLOCK, row, column].nonzero().squeeze(1)
    return Ground(owner, row * size + column, torch.stack(near, 1), target, count)


class Sight(nn.Module):
    """Features of each point from the planes around it: (n, planes, size, size) to (N, W)."""

    def __init__(self, planes: int, width: int) -> None:
        super().__init__()
        inputs = ACROSS**2 * planes
        # A row for each visible point, since quantised weights have one scale per row: walls set
        # the same planes at many points at once, whose errors would add up.
        self.weight = nn.Parameter(torch.empty(width * inputs // planes, planes))
        self.norm = nn.BatchNorm1d(width)
        nn.init.normal_(self.weight, std=(2 / inputs) ** 0.5)

    def forward(self, planes: Tensor, ground: Ground) -> Tensor:
        """Return features of points."""
        size = planes.shape[-1]
        padded = nn.functional.pad(planes, (REACH,) * 4).permute(0, 2, 3, 1).contiguous()
        row, column = ground.place // size, ground.place % size
        here = (ground.owner * padded.shape[1] + row) * padded.shape[2] + column
        steps = [r * padded.shape[2] + c for r in range(ACROSS) for c in range(ACROSS)]
        seen = here[:, None] + torch.tensor(steps, device=here.device)
        patches = padded.flatten(0, 2).index_select(0, seen.flatten())
        weight = self.weight.view(self.norm.num_features, -1)
        return cast("Tensor", self.norm(patches.view(-1, weight.shape[1]) @ weight.T))


class NearNorm(nn.Module):
    """A convolution of 3x3 within the zone, then batch normalisation: (N, W) to (N, W)."""

    def __init__(self, width: int, *, zero: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, 9 * width))
        self.norm = nn.BatchNorm1d(width)
        # He's initialisation, for the six or so neighbours that a point of a small zone has.
        nn.init.normal_(self.weight, std=(2 / (6 * width)) ** 0.5)
        # In the last layer of a block: it begins as the identity, so that gradients reach the first
        # layer at once.
        if zero:
            nn.init.zeros_(self.norm.weight)

    def forward(self, features: Tensor, ground: Ground) -> Tensor:
        """Return features of points."""
        rows = torch.cat((features, features.new_zeros(1, features.shape[1])))
        patches = rows.index_select(0, ground.near.flatten()).view(-1, self.weight.shape[1])
        return cast("Tensor", self.norm(patches @ self.weight.T))


class ZoneBlock(nn.Module):
    """Two convolutions with a skip connection; pooled features are added between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = NearNorm(width)
        self.spread = nn.Linear(4 * width, width)
        self.second = NearNorm(width, zero=True)

    def forward(self, features: Tensor, ground: Ground) -> Tensor:
        """Return features of points, none negative."""
        # Convolutions of 3x3 see a few points far; whether there is an eye on the other side comes
        # by this way.
        bias = self.spread(pool_zone(features, ground))
        inner = self.first(features, ground) + bias.index_select(0, ground.owner)
        return torch.relu(features + self.second(torch.relu(inner), ground))


class ZoneNet(nn.Module):
    """Residual convolutions within the zone, pooled over it and over the target's block.

    Raises:
      ParameterError: the planes do not show the zone.
    """

    def __init__(self, shape: NetworkShape, parameters: ZoneParameters) -> None:
        super().__init__()
        if shape.planes <= ZONE:
            raise ParameterError(
                "the network 'zone' needs planes that show the zone: set planes.planes = 'extended'"
            )
        width = parameters.width
        self.first = Sight(shape.planes, width)
        self.blocks = nn.ModuleList(ZoneBlock(width) for _ in range(parameters.height))
        self.points = nn.Linear(width, 1)
        self.none = nn.Linear(4 * width, 1)
        self.hidden = nn.Linear(4 * width, HIDDEN)
        self.value = nn.Linear(HIDDEN, 1)

    def forward(self, planes: Tensor) -> Outputs:
        """Return value and policy."""
        ground = find_ground(planes)
        features = torch.relu(self.first(planes, ground))
        for block in self.blocks:
            features = block(features, ground)
        summary = pool_zone(features, ground)
        logits = self.points(features).squeeze(1)
        policy = logits.new_full((ground.positions, planes.shape[-1] ** 2), NOWHERE)
        policy = policy.index_put((ground.owner, ground.place), logits)
        value = self.value(torch.relu(self.hidden(summary))).squeeze(1)
        return Outputs(policy=torch.cat((policy, self.none(summary)), 1), value=torch.tanh(value))


def pool_zone(features: Tensor, ground: Ground) -> Tensor:
    """Return means and maxima over zones and over targets' blocks: (n, 4 * width)."""
    target = features.index_select(0, ground.target)
    owner = ground.owner.index_select(0, ground.target)
    everywhere = _pool(features, ground.owner, ground.positions)
    return torch.cat((everywhere, _pool(target, owner, ground.positions)), 1)


def _pool(features: Tensor, owner: Tensor, count: int) -> Tensor:
    """Return mean and maximum of features, none negative, by owner; 0 where it has none."""
    each = torch.bincount(owner, minlength=count)
    total = features.new_zeros(count, features.shape[1]).index_add(0, owner, features)
    highest = torch.segment_reduce(features, "max", lengths=each, axis=0, initial=0.0)
    return torch.cat((total / each.clamp(min=1)[:, None], highest), 1)
