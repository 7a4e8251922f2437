"""The batches of an epoch, in an order that is drawn by seeds alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.data.batch import Batch, Rows, make_batch
from miai_go.errors import DataError
from miai_go.symmetry import SYMMETRIES

if TYPE_CHECKING:
    from miai_go.data.dataset import GoDataset

# What a seed is drawn for, so that no two draws are the same.
_ORDER: Final = 1
_PLIES: Final = 2
_TURNS: Final = 3


@dataclass(frozen=True, slots=True)
class Sampling:
    """How positions are drawn; see `miai_go.data.dataset.GoDataset.batches`."""

    batch_size: int
    seed: int
    epoch: int
    symmetries: bool
    shuffle: bool
    one_per_game: bool
    targets_only: bool
    drop_last: bool

    def __post_init__(self) -> None:
        """Raise `DataError` where a number is out of range."""
        if self.batch_size < 1 or self.epoch < 0 or self.seed < 0:
            raise DataError(
                f"batch_size {self.batch_size}, epoch {self.epoch} and seed {self.seed} must be at "
                "least 1, 0 and 0"
            )

    def generator(self, purpose: int, number: int = 0) -> np.random.Generator:
        """Return the generator for one purpose in this epoch."""
        return np.random.default_rng([self.seed, self.epoch, purpose, number])


class BatchStream:
    """Iterates over the batches of one epoch, from one of them on.

    Args:
      data: the games.
      sampling: how they are drawn.
      start: number of the first batch.
      with_positions: whether batches hold positions beside planes.

    Attributes:
      next_batch: number of the batch that comes next.

    Raises:
      DataError: no position is left, or the epoch has fewer batches than `start`.
    """

    def __init__(
        self, data: GoDataset, sampling: Sampling, *, start: int = 0, with_positions: bool = False
    ) -> None:
        self.sampling = sampling
        self.next_batch = start
        self._data = data
        self._with_positions = with_positions
        self._games, self._plies = _order(data, sampling)
        if not 0 <= start <= len(self):
            raise DataError(f"there is no batch {start}: the epoch has {len(self)}")

    def __len__(self) -> int:
        """How many batches the epoch has, those before `start` included."""
        count, rest = divmod(len(self._games), self.sampling.batch_size)
        return count + (1 if rest and not self.sampling.drop_last else 0)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch. Raises `DataError` where a shard is damaged."""
        if self.next_batch >= len(self):
            raise StopIteration
        batch = self.batch(self.next_batch)
        self.next_batch += 1
        return batch

    def batch(self, number: int) -> Batch:
        """Return one of the batches, without moving on."""
        sampling = self.sampling
        here = slice(number * sampling.batch_size, (number + 1) * sampling.batch_size)
        games = self._games[here].astype(np.int64)
        shard, game = self._data.locate(games)
        turns = np.zeros(len(games), np.uint8)
        if sampling.symmetries:
            drawn = sampling.generator(_TURNS, number).integers(0, SYMMETRIES, len(games))
            turns = drawn.astype(np.uint8)
        rows = Rows(shard, game, games, self._plies[here].astype(np.int64), turns)
        return make_batch(
            self._data.shards, rows, self._data.encoder, with_positions=self._with_positions
        )

    def state(self) -> dict[str, Any]:
        """Return plain data from which `GoDataset.resume` goes on with the next batch."""
        return {
            "games": self._data.digest(),
            "sampling": asdict(self.sampling),
            "batch": self.next_batch,
        }


def _order(data: GoDataset, sampling: Sampling) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Return games and plies of all positions of the epoch, in its order."""
    lengths = data.lengths()
    kept = data.targets() if sampling.targets_only else None
    begins = np.concatenate(([0], np.cumsum(lengths)))
    if sampling.one_per_game:
        positions = _one_each(begins, kept, sampling)
    else:
        positions = np.arange(begins[-1]) if kept is None else np.flatnonzero(kept)
    if not len(positions):
        raise DataError("no position is left: the games have no moves, or none has a target")
    if sampling.shuffle:
        positions = sampling.generator(_ORDER).permutation(positions)
    games = np.searchsorted(begins, positions, side="right") - 1
    return games.astype(np.int32), (positions - begins[games]).astype(np.int16)


def _one_each(
    begins: NDArray[np.int64], kept: NDArray[np.bool_] | None, sampling: Sampling
) -> NDArray[np.int64]:
    """Return one position of each game that has any, drawn evenly among those kept."""
    if kept is None:
        counts, before = np.diff(begins), begins[:-1]
        candidates = None
    else:
        candidates = np.flatnonzero(kept)
        edges = np.searchsorted(candidates, begins)
        counts, before = np.diff(edges), edges[:-1]
    drawn = sampling.generator(_PLIES).random(len(counts))
    chosen = (before + (drawn * counts).astype(np.int64))[counts > 0]
    return chosen if candidates is None else candidates[chosen]
