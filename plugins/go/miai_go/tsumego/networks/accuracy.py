"""Accuracy of life-and-death networks on held-out positions with proved answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.learning.training.measuring import Answering, MeasureRow, Measures, tenths
from miai_go.tsumego.data.labelled_positions import LabelledPositions, folds_of, policy_targets
from miai_go.tsumego.networks.net_files import WHOLE, NetHeader, load_net, packed_net

if TYPE_CHECKING:
    from torch import nn

    from miai_go.nets.network import Outputs


BATCH: Final = 1024
_SIDES: Final = ("attacker", "defender")


@dataclass(frozen=True, slots=True, eq=False)
class LifeMeasures(Measures):
    """Measurements on life-and-death positions.

    Attributes:
      chance: predicted probability that the target is safe, float64 of shape (n,).
      safe: whether the target is safe, bool of shape (n,).
      side: who moves first, int8 of shape (n,).
      empty: empty points of the problem at its start, int64 of shape (n,).
      needed: whether a solving move is needed and exists, bool of shape (n,).
      solved: whether the policy's first choice succeeds, bool of shape (n,).
    """

    chance: NDArray[np.float64]
    safe: NDArray[np.bool_]
    side: NDArray[np.int8]
    empty: NDArray[np.int64]
    needed: NDArray[np.bool_]
    solved: NDArray[np.bool_]

    def figures(self) -> dict[str, float]:
        """Return accuracy, balanced accuracy, AUC, mean square error and policy accuracy.

        AUC and balanced accuracy need both answers to occur.
        """
        right = (self.chance >= 0.5) == self.safe
        out = {"positions": float(len(self.safe)), "accuracy": float(right.mean())}
        if 0 < self.safe.mean() < 1:
            out["balanced"] = float((right[self.safe].mean() + right[~self.safe].mean()) / 2)
            out["auc"] = area(self.chance, self.safe)
        out["error"] = float(((self.chance - self.safe) ** 2).mean())
        out["majority"] = float(max(self.safe.mean(), 1 - self.safe.mean()))
        if self.needed.any():
            out["move"] = float(self.solved[self.needed].mean())
        return out

    def by_side(self) -> list[MeasureRow]:
        """Return the figures for either first mover."""
        return self.rows("first", [(name, self.side == i) for i, name in enumerate(_SIDES)])

    def by_size(self) -> list[MeasureRow]:
        """Return the figures by the empty points of the problem's zone."""
        sizes = np.unique(self.empty).tolist()
        return self.rows("empty", [(size, self.empty == size) for size in sizes])

    def calibration(self) -> list[MeasureRow]:
        """Return for each tenth of the predictions their mean and the share that is safe."""
        return [
            {
                "told": float(self.chance[mask].mean()),
                "safe": float(self.safe[mask].mean()),
                "positions": int(mask.sum()),
            }
            for mask in tenths(self.chance, low=0.0)
            if mask.any()
        ]

    def calibration_error(self) -> float:
        """Return the mean distance of predicted and observed share of safe targets, by tenths."""
        total = 0.0
        for row in self.calibration():
            total += int(row["positions"]) * abs(float(row["told"]) - float(row["safe"]))
        return total / max(len(self.safe), 1)


def measure(
    answers: Answering,
    header: NetHeader,
    positions: LabelledPositions,
    rows: NDArray[np.int64],
    *,
    views: int = 1,
) -> LifeMeasures:
    """Measure a network on some positions of a set.

    Args:
      answers: the network.
      header: of its weights; names its planes.
      views: symmetries to average over, 1 to 8.
    """
    chances, solved = [], []
    for start in range(0, len(rows), BATCH):
        chance, right = _batch(answers, header, positions, rows[start : start + BATCH], views)
        chances.append(chance)
        solved.append(right)
    columns = positions.columns
    moves = columns["best"][rows] & np.uint64((1 << 63) - 1)
    return LifeMeasures(
        np.concatenate(chances),
        positions.safe(rows),
        columns["side"][rows],
        positions.empty_points()[rows],
        moves != 0,
        np.concatenate(solved),
    )


def _batch(
    answers: Answering,
    header: NetHeader,
    positions: LabelledPositions,
    rows: NDArray[np.int64],
    views: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    best, window = positions.columns["best"][rows], header.window
    chance = np.zeros(len(rows))
    solved = np.zeros(len(rows), np.bool_)
    for turn in range(views):
        seen = positions.views(rows, planes=header.planes, window=window, turn=turn)
        outputs = answers(seen.planes)
        assert outputs.value is not None
        chance += (np.asarray(outputs.value).astype(np.float64) + 1) / 2 / views
        if turn == 0 and outputs.policy is not None:
            right = policy_targets(best, seen.places, window)
            chosen = np.asarray(outputs.policy)[:, :-1].argmax(1)
            solved = right[np.arange(len(rows)), chosen] > 0
    return chance, solved


def area(chance: NDArray[np.float64], safe: NDArray[np.bool_]) -> float:
    """Return the AUC: the probability that a safe position gets the higher prediction."""
    # The rank sum of the safe positions (Mann and Whitney); equal predictions share their ranks.
    values, place = np.unique(chance, return_inverse=True)
    counts = np.bincount(place, minlength=len(values))
    ranks = np.cumsum(counts) - (counts - 1) / 2
    count = int(safe.sum())
    above = ranks[place][safe].sum() - count * (count + 1) / 2
    return float(above / (count * (len(safe) - count)))


def split_rows(
    positions: LabelledPositions, header: NetHeader
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the training and the held-out positions; all rows for both if unknown."""
    held = header.held_out
    if held is None:
        everything = np.arange(len(positions))
        return everything, everything
    folds = folds_of(positions, folds=held.folds, seed=held.seed, by=held.by)
    return np.flatnonzero(folds != held.fold), np.flatnonzero(folds == held.fold)


def measure_file(
    path: Path, positions: LabelledPositions, *, views: int = 1, limit: int | None = None
) -> LifeMeasures:
    """Measure a weights file on its held-out positions.

    Args:
      views: symmetries to average over.
      limit: maximum number of positions, a random sample by a fixed seed.

    Raises:
      WeightsError, MissingExtraError: it cannot be read.
    """
    net = load_net(path)
    rows = sampled_rows(split_rows(positions, net.header)[1], limit)
    return measure(answering(net.network), net.header, positions, rows, views=views)


def majority_accuracy(positions: LabelledPositions, header: NetHeader) -> float:
    """Return the accuracy of the more common answer for each first mover, as a baseline."""
    train, test = split_rows(positions, header)
    side, safe = positions.columns["side"], positions.safe()
    right = 0
    for mover in (0, 1):
        common = safe[train][side[train] == mover].mean() >= 0.5
        right += int((safe[test][side[test] == mover] == common).sum())
    return right / len(test)


def quantised_table(
    path: Path, positions: LabelledPositions, *, bits: Sequence[int], limit: int | None = None
) -> list[dict[str, Any]]:
    """Return bits per weight, bytes and figures at several numbers of bits, at first with all."""
    net = load_net(path)
    rows = sampled_rows(split_rows(positions, net.header)[1], limit)
    out = []
    for number in (WHOLE, *bits):
        size, network = packed_net(net, number)
        measures = measure(answering(network), net.header, positions, rows)
        out.append({"bits": number, "size": size, "figures": measures.figures()})
    return out


def answering(network: nn.Module) -> Callable[[NDArray[np.uint8]], Outputs]:
    """Return a network as a function of planes."""
    import torch

    def answer(planes: NDArray[np.uint8]) -> Outputs:
        with torch.inference_mode():
            outputs: Outputs = network(torch.from_numpy(planes).float())
        return outputs

    return answer


def sampled_rows(rows: NDArray[np.int64], limit: int | None) -> NDArray[np.int64]:
    """Return at most `limit` of the rows, a random sample by a fixed seed, in order."""
    if limit is None or len(rows) <= limit:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))
