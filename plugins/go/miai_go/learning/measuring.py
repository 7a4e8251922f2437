"""Accuracy of a network on recorded games: move prediction, values and their calibration.

Measuring weights on recorded games.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import numpy as np
from numpy.typing import NDArray

from miai.errors import ConfigError
from miai_go.learning.dataset import GoDataset
from miai_go.learning.filters import GameFilters
from miai_go.learning.split import SPLITS, Split
from miai_go.nets.inference import load_oracle
from miai_go.nets.network import Outputs
from miai_go.nets.parameters import Precision
from miai_go.shipped import find_weights

if TYPE_CHECKING:
    from miai_go.nets.oracle import Oracle


Answering = Callable[[NDArray[np.uint8]], "Outputs"]

_BATCH: Final = 512
_TOP: Final = 5
BINS: Final = 10
"""Of values from -1 to 1, for their calibration."""
PLIES_A_ROW: Final = 10
"""Move numbers that one row of the table by move number stands for."""


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """What was measured, one entry a position; arrays that do not apply are empty.

    Attributes:
      ply: moves made before, int64 of shape (n,).
      rank: how many other moves were held at least as likely as the one played, int64 of shape
        (n,).
      surprise: cross-entropy of the move played, in nats, float64 of shape (n,).
      value: predicted results, float64 of shape (n,), for the player to move.
      result: the results, float64 of shape (n,), nan where unknown.
    """

    ply: NDArray[np.int64]
    rank: NDArray[np.int64]
    surprise: NDArray[np.float64]
    value: NDArray[np.float64]
    result: NDArray[np.float64]

    def figures(self) -> dict[str, float]:
        """Return the means: top1, top5, cross_entropy, value_error (mean square), positions.

        value_sign is the share of positions whose winner the value names.
        """
        out: dict[str, float] = {"positions": float(len(self.ply))}
        if len(self.rank):
            out["top1"] = float((self.rank < 1).mean())
            out["top5"] = float((self.rank < _TOP).mean())
            out["cross_entropy"] = float(self.surprise.mean())
        known = self._known()
        if known.any():
            out["value_error"] = float(((self.value - self.result)[known] ** 2).mean())
            signs = np.sign(self.value[known]) == np.sign(self.result[known])
            out["value_sign"] = float(signs.mean())
        return out

    def line(self) -> str:
        """Return the figures as a line."""
        return "  ".join(f"{name} {value:.4g}" for name, value in self.figures().items())

    def by_ply(self) -> list[dict[str, float]]:
        """Return the figures for every ten move numbers."""
        rows = []
        for first in range(0, int(self.ply.max(initial=-1)) + 1, PLIES_A_ROW):
            here = (self.ply >= first) & (self.ply < first + PLIES_A_ROW)
            if here.any():
                rows.append({"from_ply": float(first), **self._only(here).figures()})
        return rows

    def calibration(self) -> list[dict[str, float]]:
        """Return for each tenth of the values their mean and the mean result, with counts."""
        known = self._known()
        place = np.clip(((self.value + 1) / 2 * BINS).astype(np.int64), 0, BINS - 1)
        rows = []
        for number in range(BINS):
            here = known & (place == number) if len(known) else known
            if here.any():
                rows.append(
                    {
                        "from": 2 * number / BINS - 1,
                        "value": float(self.value[here].mean()),
                        "result": float(self.result[here].mean()),
                        "positions": float(here.sum()),
                    }
                )
        return rows

    def _known(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.result) if len(self.value) else np.zeros(0, np.bool_)

    def _only(self, here: NDArray[np.bool_]) -> Measures:
        return Measures(
            self.ply[here],
            self.rank[here] if len(self.rank) else self.rank,
            self.surprise[here] if len(self.surprise) else self.surprise,
            self.value[here] if len(self.value) else self.value,
            self.result[here] if len(self.result) else self.result,
        )


def measure(
    answers: Answering,
    data: GoDataset,
    *,
    limit: int | None = None,
    targets_only: bool = False,
) -> Measures:
    """Return the measures of a network on games, every position as it was played.

    Args:
      answers: the network.
      limit: at most so many positions, drawn by the data set's seed.
      targets_only: measure positions that are marked as targets alone.

    Raises:
      DataError: a game cannot be played.
    """
    plies, ranks, surprises, values, results = [], [], [], [], []
    done = 0
    stream = data.batches(
        _BATCH, symmetries=False, shuffle=limit is not None, targets_only=targets_only
    )
    for batch in stream:
        assert batch.planes is not None
        outputs = answers(batch.planes)
        plies.append(batch.ply)
        results.append(batch.result.astype(np.float64))
        if outputs.policy is not None:
            rank, surprise = _rank_and_surprise(outputs.policy.numpy(), batch.action)
            ranks.append(rank)
            surprises.append(surprise)
        if outputs.value is not None:
            values.append(outputs.value.numpy().astype(np.float64))
        done += len(batch)
        if limit is not None and done >= limit:
            break
    return Measures(
        np.concatenate(plies),
        np.concatenate(ranks) if ranks else np.zeros(0, np.int64),
        np.concatenate(surprises) if surprises else np.zeros(0),
        np.concatenate(values) if values else np.zeros(0),
        np.concatenate(results),
    )


def _rank_and_surprise(
    logits: NDArray[np.float32], action: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rank and the cross-entropy of the moves that were played; ties count against."""
    wide = logits.astype(np.float64)
    played = wide[np.arange(len(wide)), action]
    highest = wide.max(1)
    total = highest + np.log(np.exp(wide - highest[:, None]).sum(1))
    rank: NDArray[np.int64] = (wide >= played[:, None]).sum(1).astype(np.int64) - 1
    return rank, total - played


def evaluate_weights(
    weights: str,
    sources: Sequence[Path],
    *,
    split: str = "all",
    limit: int | None = None,
    precision: str = "fp32",
    symmetry: str = "none",
    note: Callable[[str], None] | None = None,
) -> Measures:
    """Return the measures of weights on games.

    Args:
      note: is told in a line what was left out of SGF.

    Raises:
      ConfigError: an option has a value that there is not.
      WeightsError, DataError: weights or games cannot be read.
    """
    _check("split", split, SPLITS)
    _check("precision", precision, get_args(Precision))
    _check("symmetry", symmetry, ("none", "average"))
    oracle = load_oracle(
        find_weights(weights, default=""),
        precision=cast("Precision", precision),
        symmetry=cast(Any, symmetry),
    )
    filters = GameFilters(size=oracle.encoder.size)
    data = GoDataset(sources, encoder=oracle.encoder, split=cast(Split, split), filters=filters)
    if note is not None and (left_out := data.left_out()):
        note(left_out)
    return measure(lambda planes: _outputs(oracle, planes), data, limit=limit)


def _outputs(oracle: Oracle, planes: NDArray[np.uint8]) -> Outputs:
    import torch

    answers = oracle.infer(planes)
    found = (answers.policy, answers.value, answers.ownership, answers.score)
    return Outputs(*(None if a is None else torch.from_numpy(a.astype(np.float32)) for a in found))


def _check(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ConfigError(f"--{name} {value}: is none of {', '.join(known)}")
