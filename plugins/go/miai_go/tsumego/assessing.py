"""Networks measured on what they were not shown, several folds together, beside baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miai_go.tsumego.data.dataset import Positions
from miai_go.tsumego.data.leaks import Neighbours, find_neighbours
from miai_go.tsumego.data.splits import folds_of
from miai_go.tsumego.evaluating import Answering, Measures, measure
from miai_go.tsumego.networks.files import NetHeader, load_net, packed_net
from miai_go.tsumego.quantising import WHOLE

if TYPE_CHECKING:
    from torch import nn

    from miai_go.networks.protocol import Outputs


@dataclass(frozen=True, slots=True)
class Baselines:
    """What needs no network.

    Attributes:
      majority: accuracy of the commoner answer for each first mover.
      neighbour: accuracy of the nearest training position's answer, on a sample.
      neighbours: that sample, and how far away they are.
    """

    majority: float
    neighbour: float
    neighbours: Neighbours


@dataclass(frozen=True, slots=True)
class QuantisedRow:
    """What so many bits a weight cost.

    Attributes:
      bits: of a weight; 32 for the network as it was trained.
      size: of the file, bytes.
      figures: of `Measures`.
    """

    bits: int
    size: int
    figures: dict[str, float]


def split_rows(
    positions: Positions, header: NetHeader
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which positions a network was trained on, and which were held out; all if unknown."""
    held = header.held_out
    if held is None:
        everything = np.arange(len(positions))
        return everything, everything
    folds = folds_of(positions, folds=held.folds, seed=held.seed, by=held.by)
    return np.flatnonzero(folds != held.fold), np.flatnonzero(folds == held.fold)


def measure_file(
    path: Path, positions: Positions, *, views: int = 1, limit: int | None = None
) -> Measures:
    """Return the measures of a weights file on the positions that it was not shown.

    Args:
      views: sides that each position is seen from, averaged.
      limit: at most so many positions, drawn by a fixed seed.

    Raises:
      WeightsError, MissingExtraError: it cannot be read.
    """
    net = load_net(path)
    rows = _sampled(split_rows(positions, net.header)[1], limit)
    return measure(answering(net.network), net.header, positions, rows, views=views)


def pooled(measures: Sequence[Measures]) -> Measures:
    """Return the measures of several folds as one."""
    return Measures(
        *(
            np.concatenate([getattr(m, name) for m in measures])
            for name in ("chance", "safe", "side", "empty", "needed", "found")
        )
    )


def find_baselines(
    positions: Positions, header: NetHeader, *, sample: int = 300, seed: int = 0
) -> Baselines:
    """Return what can be foretold without a network, with the split of a network."""
    train, test = split_rows(positions, header)
    side, safe = positions.columns["side"], positions.safe()
    right = 0
    for mover in (0, 1):
        commoner = safe[train][side[train] == mover].mean() >= 0.5
        right += int((safe[test][side[test] == mover] == commoner).sum())
    near = find_neighbours(positions, train, test, sample=sample, seed=seed, window=header.window)
    agrees = float((safe[near.rows] == safe[near.neighbours]).mean())
    return Baselines(right / len(test), agrees, near)


def quantised_table(
    path: Path, positions: Positions, *, bits: Sequence[int], limit: int | None = None
) -> list[QuantisedRow]:
    """Return what each number of bits a weight costs, the network as it was trained first."""
    net = load_net(path)
    rows = _sampled(split_rows(positions, net.header)[1], limit)
    out = []
    for number in (WHOLE, *bits):
        size, network = packed_net(net, number)
        measures = measure(answering(network), net.header, positions, rows)
        out.append(QuantisedRow(number, size, measures.figures()))
    return out


def answering(network: nn.Module) -> Answering:
    """Return a network as a function of planes."""
    import torch

    def answer(planes: NDArray[np.uint8]) -> Outputs:
        with torch.inference_mode():
            outputs: Outputs = network(torch.from_numpy(planes).float())
        return outputs

    return answer


def _sampled(rows: NDArray[np.int64], limit: int | None) -> NDArray[np.int64]:
    if limit is None or len(rows) <= limit:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))
