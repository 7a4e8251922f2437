"""How good a network of life and death is on positions with proved answers.

Networks measured on what they were not shown, several folds together, beside baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.learning.life_dataset import LabelledPositions, folds_of, policy_targets
from miai_go.learning.life_leaks import Neighbours, find_neighbours
from miai_go.nets.life_weights import WHOLE, NetHeader, load_net, packed_net

if TYPE_CHECKING:
    from torch import nn

    from miai_go.nets.network import Outputs


Answering = Callable[[NDArray[np.uint8]], "Outputs"]
Row = dict[str, float | int | str]

BATCH: Final = 1024
BINS: Final = 10
_SIDES: Final = ("attacker", "defender")


@dataclass(frozen=True, slots=True, eq=False)
class LifeMeasures:
    """What was measured, an entry a position.

    Attributes:
      chance: that the target is safe, as the network says, float64 of shape (n,).
      safe: whether it is, bool of shape (n,).
      side: who moves first.
      empty: empty points that its problem began with.
      needed: whether a move is needed and there is one, bool of shape (n,).
      found: whether the policy's first choice among the points succeeds, bool of shape (n,).
    """

    chance: NDArray[np.float64]
    safe: NDArray[np.bool_]
    side: NDArray[np.int8]
    empty: NDArray[np.int64]
    needed: NDArray[np.bool_]
    found: NDArray[np.bool_]

    def figures(self) -> dict[str, float]:
        """Return accuracy, balanced accuracy, AUC, mean square error, and the policy's accuracy.

        Where only one answer occurs, AUC and balanced accuracy are left out.
        """
        out = {"positions": float(len(self.safe))}
        out["accuracy"] = float((self.told == self.safe).mean())
        if 0 < self.safe.mean() < 1:
            right = self.told == self.safe
            out["balanced"] = float((right[self.safe].mean() + right[~self.safe].mean()) / 2)
            out["auc"] = area(self.chance, self.safe)
        out["error"] = float(((self.chance - self.safe) ** 2).mean())
        out["majority"] = float(max(self.safe.mean(), 1 - self.safe.mean()))
        if self.needed.any():
            out["move"] = float(self.found[self.needed].mean())
        return out

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether the network takes the target for safe."""
        return self.chance >= 0.5

    def line(self) -> str:
        """Return the figures as a line."""
        return "  ".join(f"{name} {value:.4g}" for name, value in self.figures().items())

    def by_side(self) -> list[Row]:
        """Return the figures for either first mover."""
        return self._rows("first", [(name, self.side == i) for i, name in enumerate(_SIDES)])

    def by_size(self) -> list[Row]:
        """Return the figures by the empty points of the problem's zone."""
        sizes = np.unique(self.empty).tolist()
        return self._rows("empty", [(size, self.empty == size) for size in sizes])

    def calibration(self) -> list[Row]:
        """Return for each tenth of the chances their mean and the share that is safe."""
        place = np.clip((self.chance * BINS).astype(np.int64), 0, BINS - 1)
        rows: list[Row] = []
        for number in range(BINS):
            here = place == number
            if here.any():
                told, safe = float(self.chance[here].mean()), float(self.safe[here].mean())
                rows.append({"told": told, "safe": safe, "positions": int(here.sum())})
        return rows

    def calibration_error(self) -> float:
        """Return the mean distance of told chance and share of safe targets, by tenths."""
        total = 0.0
        for row in self.calibration():
            total += int(row["positions"]) * abs(float(row["told"]) - float(row["safe"]))
        return total / max(len(self.safe), 1)

    def _rows(self, name: str, parts: list[tuple[Any, NDArray[np.bool_]]]) -> list[Row]:
        return [{name: key, **self.only(here).figures()} for key, here in parts if here.any()]

    def only(self, here: NDArray[np.bool_]) -> LifeMeasures:
        """Return the measures of some positions."""
        return LifeMeasures(
            self.chance[here],
            self.safe[here],
            self.side[here],
            self.empty[here],
            self.needed[here],
            self.found[here],
        )


def measure(
    answers: Answering,
    header: NetHeader,
    positions: LabelledPositions,
    rows: NDArray[np.int64],
    *,
    views: int = 1,
) -> LifeMeasures:
    """Return the measures of a network on some positions of a set.

    Args:
      answers: the network: planes to outputs.
      header: what it is fed.
      views: sides that each position is seen from, 1 to 8; the chances are averaged.
    """
    chances, found = [], []
    for at in range(0, len(rows), BATCH):
        chance, right = _batch(answers, header, positions, rows[at : at + BATCH], views)
        chances.append(chance)
        found.append(right)
    columns = positions.columns
    moves = columns["best"][rows] & np.uint64((1 << 63) - 1)
    return LifeMeasures(
        np.concatenate(chances),
        positions.safe(rows),
        columns["side"][rows],
        positions.empty_points()[rows],
        moves != 0,
        np.concatenate(found),
    )


def _batch(
    answers: Answering,
    header: NetHeader,
    positions: LabelledPositions,
    rows: NDArray[np.int64],
    views: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    from miai_go.nets.life_planes import encode

    c, window = positions.columns, header.window
    chance = np.zeros(len(rows))
    found = np.zeros(len(rows), np.bool_)
    for turn in range(views):
        seen = encode(
            positions.layout,
            c["problem"][rows],
            c["attackers"][rows],
            c["defenders"][rows],
            c["side"][rows],
            planes=header.planes,
            window=window,
            turns=np.full(len(rows), turn),
        )
        outputs = answers(seen.planes)
        assert outputs.value is not None
        chance += (outputs.value.numpy().astype(np.float64) + 1) / 2 / views
        if turn == 0 and outputs.policy is not None:
            right = policy_targets(c["best"][rows], seen.places, window)
            chosen = outputs.policy.numpy()[:, :-1].argmax(1)
            found = right[np.arange(len(rows)), chosen] > 0
    return chance, found


def area(chance: NDArray[np.float64], safe: NDArray[np.bool_]) -> float:
    """Return the area under the curve: how likely a safe position is told the higher chance."""
    values, place = np.unique(chance, return_inverse=True)
    counts = np.bincount(place, minlength=len(values))
    ranks = np.cumsum(counts) - (counts - 1) / 2
    count = int(safe.sum())
    above = ranks[place][safe].sum() - count * (count + 1) / 2
    return float(above / (count * (len(safe) - count)))


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
    positions: LabelledPositions, header: NetHeader
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which positions a network was trained on, and which were held out; all if unknown."""
    held = header.held_out
    if held is None:
        everything = np.arange(len(positions))
        return everything, everything
    folds = folds_of(positions, folds=held.folds, seed=held.seed, by=held.by)
    return np.flatnonzero(folds != held.fold), np.flatnonzero(folds == held.fold)


def measure_file(
    path: Path, positions: LabelledPositions, *, views: int = 1, limit: int | None = None
) -> LifeMeasures:
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


def pooled(measures: Sequence[LifeMeasures]) -> LifeMeasures:
    """Return the measures of several folds as one."""
    return LifeMeasures(
        *(
            np.concatenate([getattr(m, name) for m in measures])
            for name in ("chance", "safe", "side", "empty", "needed", "found")
        )
    )


def find_baselines(
    positions: LabelledPositions, header: NetHeader, *, sample: int = 300, seed: int = 0
) -> Baselines:
    """Return what can be predicted without a network, with the split of a network."""
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
    path: Path, positions: LabelledPositions, *, bits: Sequence[int], limit: int | None = None
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
