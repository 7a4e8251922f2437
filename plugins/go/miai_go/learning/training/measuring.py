"""Accuracy of networks on held-out positions; move prediction and values on recorded games."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from miai.parameters import StrictModel, parameter
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.importing import GameFilters
from miai_go.learning.data.stored_games import Split
from miai_go.nets.inference import load_oracle, network_header
from miai_go.nets.network import Outputs, encoder_of
from miai_go.nets.network_parameters import Precision
from miai_go.nets.oracle import Answers
from miai_go.rules.sizes import board_names
from miai_go.shipped import find_weights

Answering = Callable[[NDArray[np.uint8]], "Outputs | Answers"]
"""A network as a function of planes, uint8 of shape (n, planes, size, size)."""
MeasureRow = dict[str, float | int | str]

_BATCH: Final = 512
_TOP: Final = 5
_NORMAL: Final = 1.96
BINS: Final = 10
"""Intervals of a calibration."""
PLIES_PER_ROW: Final = 10
"""Move numbers per row of the table by move number."""


@dataclass(frozen=True, slots=True, eq=False)
class Measures(ABC):
    """Measurements of a network, one array entry per position; unused arrays are empty."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Return the figures by name."""

    def parts(self) -> dict[str, Self]:
        """Return the measurements to report beside the whole, by name; here none."""
        return {}

    def line(self) -> str:
        """Return the figures as a line of text."""
        return "  ".join(f"{name} {value:.4g}" for name, value in self.figures().items())

    def only(self, mask: NDArray[np.bool_]) -> Self:
        """Return the measurements of some positions."""
        arrays = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(array[mask] if len(array) else array for array in arrays))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the measurements of several parts as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def rows(self, name: str, parts: Iterable[tuple[Any, NDArray[np.bool_]]]) -> list[MeasureRow]:
        """Return a row of figures for each part that has positions.

        Args:
          name: key of a part's own name in its row.
          parts: names and masks.
        """
        return [{name: key, **self.only(mask).figures()} for key, mask in parts if mask.any()]


def tenths(values: NDArray[np.float64], *, low: float) -> Iterator[NDArray[np.bool_]]:
    """Yield the masks of values in each tenth of the range from `low` to 1; nan is in none."""
    with np.errstate(invalid="ignore"):
        places = np.clip((values - low) / (1 - low) * BINS // 1, 0, BINS - 1)
    return (places == number for number in range(BINS))


@dataclass(frozen=True, slots=True, eq=False)
class GameMeasures(Measures):
    """Measurements on recorded games.

    Attributes:
      ply: moves made before, int64 of shape (n,).
      rank: number of other moves rated at least as likely as the move played, int64 of shape (n,).
      surprise: cross-entropy of the move played, in nats, float64 of shape (n,).
      value: predicted results for the player to move, float64 of shape (n,).
      result: results for the player to move, float64 of shape (n,), nan where unknown.
      game: the game's number, int64 of shape (n,).
      size: points on a side of the board, int64 of shape (n,).
    """

    ply: NDArray[np.int64]
    rank: NDArray[np.int64]
    surprise: NDArray[np.float64]
    value: NDArray[np.float64]
    result: NDArray[np.float64]
    game: NDArray[np.int64]
    size: NDArray[np.int64]

    def figures(self) -> dict[str, float]:
        """Return positions, top1, top5, cross_entropy, value_error (mean square) and value_sign.

        value_sign is the share of positions of decided games where the value has the sign of the
        result; a draw has no sign.
        """
        out: dict[str, float] = {"positions": float(len(self.ply))}
        if len(self.rank):
            out["top1"] = float((self.rank < 1).mean())
            out["top5"] = float((self.rank < _TOP).mean())
            out["cross_entropy"] = float(self.surprise.mean())
        known = self._known()
        if known.any():
            out["value_error"] = float(((self.value - self.result)[known] ** 2).mean())
        decided = known & (self.result != 0)
        if decided.any():
            signs = np.sign(self.value[decided]) == self.result[decided]
            out["value_sign"] = float(signs.mean())
        return out

    def parts(self) -> dict[str, Self]:
        """Return the measurements on each size of board, if there are several."""
        sizes = np.unique(self.size).tolist()
        if len(sizes) == 1:
            return {}
        return {board_names(size): self.only(self.size == size) for size in sizes}

    def by_ply(self) -> list[MeasureRow]:
        """Return the figures for every ten move numbers."""
        firsts = range(0, int(self.ply.max(initial=-1)) + 1, PLIES_PER_ROW)
        return self.rows(
            "from_ply",
            ((float(f), self.ply // PLIES_PER_ROW == f // PLIES_PER_ROW) for f in firsts),
        )

    def calibration(self) -> list[dict[str, float]]:
        """Return for each tenth of the values their mean and the mean result, with counts.

        ``margin_95`` is the half width of a 95 % interval of their difference, clustered by game
        because the positions of a game share its result (Liang and Zeger 1986); missing if all are
        of one game.
        """
        known = self._known()
        return [
            {
                "from": 2 * number / BINS - 1,
                "value": float(self.value[mask].mean()),
                "result": float(self.result[mask].mean()),
                **_margin((self.result - self.value)[mask], self.game[mask]),
                "positions": float(mask.sum()),
            }
            for number, tenth in enumerate(tenths(self.value, low=-1.0))
            if (mask := known & tenth).any()
        ]

    def _known(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.result) if len(self.value) else np.zeros(0, np.bool_)


def _margin(differences: NDArray[np.float64], games: NDArray[np.int64]) -> dict[str, float]:
    """Return the half width of a 95 % interval of the mean of differences, clustered by game."""
    _, game = np.unique(games, return_inverse=True)
    sums = np.bincount(game, weights=differences - differences.mean())
    count = len(sums)
    if count < 2:
        return {}
    deviation = np.sqrt((sums**2).sum() * count / (count - 1)) / len(differences)
    return {"margin_95": float(_NORMAL * deviation)}


def measure(
    answers: Answering, data: GoDataset, *, limit: int | None = None, targets_only: bool = False
) -> GameMeasures:
    """Measure a network on games, with every position in its original orientation.

    Args:
      answers: the network.
      limit: maximum number of positions, a random sample by the data set's seed.
      targets_only: measure only positions marked as targets.

    Raises:
      DataError: a game cannot be played.
    """
    stream = data.batches(
        _BATCH, symmetries=False, shuffle=limit is not None, targets_only=targets_only
    )
    parts, done = list[GameMeasures](), 0
    for batch in stream:
        assert batch.planes is not None
        outputs = answers(batch.planes)
        rank, surprise, value = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
        if outputs.policy is not None:
            rank, surprise = _rank_and_surprise(np.asarray(outputs.policy), batch.action)
        if outputs.value is not None:
            value = np.asarray(outputs.value).astype(np.float64)
        result, size = batch.result.astype(np.float64), np.full(len(batch), batch.size)
        parts.append(GameMeasures(batch.ply, rank, surprise, value, result, batch.game, size))
        done += len(batch)
        if limit is not None and done >= limit:
            break
    return GameMeasures.joined(parts).only(np.arange(done) < (limit or done))


def _rank_and_surprise(
    logits: NDArray[np.float32], action: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rank and cross-entropy of the moves played; ties count against the network."""
    wide = logits.astype(np.float64)
    played = wide[np.arange(len(wide)), action]
    highest = wide.max(1)
    total = highest + np.log(np.exp(wide - highest[:, None]).sum(1))
    # Ties count against the network: one with equal logits everywhere would else always be right.
    rank: NDArray[np.int64] = (wide >= played[:, None]).sum(1).astype(np.int64) - 1
    return rank, total - played


class SplitSettings(StrictModel):
    """The games that a network is measured on."""

    split: Split = parameter("all", help="Games to use")


class EvaluationSettings(SplitSettings):
    """How a network is measured."""

    positions: int = parameter(
        0, ge=0, help="Maximum positions, for a rollout policy to the end of a game; 0: all"
    )
    precision: Precision | None = parameter(
        None, help="Precision (default: fp32; that of an .onnx file)"
    )


def evaluate_weights(
    weights: str,
    sources: Sequence[Path],
    *,
    split: Split = "all",
    limit: int | None = None,
    precision: Precision | None = None,
    note: Callable[[str], None] | None = None,
) -> GameMeasures:
    """Measure weights on games.

    Args:
      precision: None for fp32, and for that of an ``.onnx`` file.
      note: receives a line about omitted SGF games, if any.

    Raises:
      WeightsError, DataError: weights or games cannot be read.
    """
    path = find_weights(weights)
    header = network_header(path)
    own: Precision = "auto" if path.suffix == ".onnx" else "fp32"
    encoders = {size: encoder_of(header, where=str(path), size=size) for size in header.sizes}
    filters = GameFilters(size=header.size)
    data = GoDataset(sources, encoder=encoders, split=split, filters=filters)
    if note is not None and (left_out := data.left_out()):
        note(left_out)
    oracles = {
        size: load_oracle(path, size=size, precision=precision or own) for size in data.sizes
    }
    return measure(lambda planes: oracles[planes.shape[-1]].infer(planes), data, limit=limit)
