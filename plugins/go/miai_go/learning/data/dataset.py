"""Data sets of games: selection, splits, streams of batches, statistics.

The order of batches depends on seeds alone. A `Prefetcher` makes them ahead of the training in a
thread; the kernels release the GIL.

>>> data = GoDataset("games.zip", encoder=encoder, split="train")  # doctest: +SKIP
>>> for batch in data.batches(256, epoch=0):                       # doctest: +SKIP
...     train(batch.planes, batch.action)
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import DataError
from miai_go.learning.data.batches import Batch, Rows, make_batch
from miai_go.learning.data.importing import GameFilters, ImportReport, import_games
from miai_go.learning.data.shards import COLUMNS, Shard, open_shards, sets_in
from miai_go.learning.data.stored_games import FRACTIONS, SPLITS, UNKNOWN, Split, StoredGame
from miai_go.nets.encoder import Encoder, Encoders
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.sizes import board_names, sizes_of

Sources: TypeAlias = str | Path | Sequence[str | Path]
EncoderChoice: TypeAlias = Encoder | Encoders | None


_RARE: Final = 0.05
"""Share of the games with the lowest komi, and with the highest, which the range leaves out."""


class GoDataset:
    """Games, of one board size or several.

    Args:
      sources: shard sets, or folders with a set for each size; or folders, archives and files of
        SGF, which are imported into memory.
      encoder: makes the planes of batches: an encoder, a mapping from sizes to encoders, or None
        for batches without planes.
      games: maximum number of games, a random sample.
      seed: seed of that sample, and the default seed of batches.
      split: part of the games, see `miai_go.learning.data.stored_games`.
      fractions: shares of the games for training, validation and test.
      filters: of imported games; by default all games of the encoders' sizes with a result.

    Attributes:
      sizes: points on a side of the boards of its games, ascending.
      encoders: the encoders by size; empty without encoder.
      report: of the import; None for shards.
      shards: shards with the games and those left out.

    Raises:
      DataError: a source cannot be read, no game remains, or there is no encoder for a size.
    """

    def __init__(
        self,
        sources: Sources,
        *,
        encoder: EncoderChoice = None,
        games: int | None = None,
        seed: int = 0,
        split: Split = "all",
        fractions: tuple[float, float, float] = FRACTIONS,
        filters: GameFilters | None = None,
    ) -> None:
        if filters is None:
            sizes = tuple(_by_size(encoder))
            filters = GameFilters(size=sizes) if sizes else GameFilters()
        given = [sources] if isinstance(sources, str | Path) else sources
        self.shards, self.report = _opened([Path(source) for source in given], filters)
        self._set_up(encoder, games, split, fractions, seed)

    @classmethod
    def of_games(cls, stored: Sequence[StoredGame], *, encoder: EncoderChoice = None) -> Self:
        """Return a data set of games in memory; arguments and errors as of `of_shards`."""
        return cls.of_shards(shards_of(stored), encoder=encoder)

    @classmethod
    def of_shards(
        cls,
        shards: Sequence[Shard],
        *,
        encoder: EncoderChoice = None,
        games: int | None = None,
        seed: int = 0,
        split: Split = "all",
        fractions: tuple[float, float, float] = FRACTIONS,
    ) -> Self:
        """Return a data set of open shards; arguments as of the class.

        Raises:
          DataError: there is no shard, no encoder for a size, or no game remains.
        """
        if not shards:
            raise DataError("a data set needs at least one game")
        data = cls.__new__(cls)
        data.report, data.shards = None, list(shards)
        data._set_up(encoder, games, split, fractions, seed)
        return data

    @property
    def size(self) -> int:
        """Points on a side of all boards. Raises `DataError` if there are several sizes."""
        if len(self.sizes) > 1:
            raise DataError(
                f"games of {board_names(self.sizes)}, where one size of board is needed; name the "
                "set of one size"
            )
        return self.sizes[0]

    def __len__(self) -> int:
        """Number of games."""
        return len(self._numbers)

    @property
    def positions(self) -> int:
        """Number of positions, one before each move."""
        return int(self.lengths().sum())

    def names(self) -> NDArray[np.uint8]:
        """Return the names of the games, uint8 of shape (games, 16)."""
        return self._column("names")[self._numbers]

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of moves of each game."""
        lengths: NDArray[np.int64] = self._lengths[self._numbers]
        return lengths

    def board_sizes(self) -> NDArray[np.uint8]:
        """Return the points on a side of each game's board."""
        sizes: NDArray[np.uint8] = self._game_sizes[self._numbers]
        return sizes

    def komi(self) -> NDArray[np.float64]:
        """Return the komi of each game in points."""
        komi: NDArray[np.float64] = self._column("half_komi")[self._numbers] / 2
        return komi

    def komi_range(self) -> tuple[float, float]:
        """Return the range of komi of nine tenths of the games, in points."""
        low, high = np.quantile(self.komi(), (_RARE, 1 - _RARE), method="nearest")
        return float(low), float(high)

    def searched(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the values of searches and the results, for the player to move, and the plies.

        Of all positions that have both.
        """
        roots, results, plies = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, np.int64)]
        for index in range(len(self)):
            game = self.game(index)
            if game.root_value is None or game.result == UNKNOWN:
                continue
            known = np.flatnonzero(~np.isnan(game.root_value))
            roots.append(game.root_value[known].astype(np.float64))
            results.append(game.result * game.sides()[known].astype(np.float64))
            plies.append(known)
        return np.concatenate(roots), np.concatenate(results), np.concatenate(plies)

    def of_size(self, size: int) -> Self:
        """Return the games of one size. Raises `DataError` if there are none."""
        if size not in self.sizes:
            raise DataError(f"there is no game of {board_names(size)}")
        data = copy(self)
        numbers = np.cumsum(self._game_sizes == size) - 1
        data.shards = [shard for shard in self.shards if shard.size == size]
        data._index()
        data._numbers = numbers[self._numbers[self.board_sizes() == size]]
        data.sizes = (size,)
        data.encoders = {size: self.encoders[size]} if self.encoders else {}
        return data

    def digest(self) -> str:
        """Return a digest of the games' names in order, 32 hexadecimal digits."""
        return hashlib.blake2b(self.names().tobytes(), digest_size=16).hexdigest()

    def game(self, index: int) -> StoredGame:
        """Return a copy of a game."""
        number = int(self._numbers[index])
        shard = int(np.searchsorted(self._begins, number, side="right")) - 1
        return self.shards[shard].game(number - int(self._begins[shard]))

    def left_out(self) -> str:
        """Return `ImportReport.left_out`; empty for shards."""
        return self.report.left_out() if self.report is not None else ""

    def batches(
        self,
        batch_size: int,
        *,
        seed: int | None = None,
        epoch: int = 0,
        start: int = 0,
        symmetries: bool = True,
        shuffle: bool = True,
        targets_only: bool = False,
        drop_last: bool = False,
        with_positions: bool = False,
    ) -> BatchStream:
        """Return the batches of one epoch, which has every position once.

        The same arguments give the same batches. All positions of a batch are of one board size.

        Args:
          batch_size: positions of a batch; the last one of each size may have fewer.
          seed: of order and symmetries; by default the data set's.
          start: number of the first batch, to continue an epoch.
          symmetries: whether each position gets a random one of the eight symmetries.
          shuffle: whether the order is random; otherwise by size, and games as they are stored.
          targets_only: whether to drop positions whose policy target has no weight.
          drop_last: whether to drop the last, smaller batch of each size that has a whole one.
          with_positions: whether batches have positions beside planes.

        Raises:
          DataError: an argument is out of range, or no position remains.
        """
        sampling = Sampling(
            batch_size=batch_size,
            seed=self.seed if seed is None else seed,
            epoch=epoch,
            symmetries=symmetries,
            shuffle=shuffle,
            targets_only=targets_only,
            drop_last=drop_last,
        )
        return BatchStream(self, sampling, start=start, with_positions=with_positions)

    def locate(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shard numbers of games, and the numbers of the games in these shards."""
        numbers = self._numbers[index]
        shards = np.searchsorted(self._begins, numbers, side="right") - 1
        return shards, numbers - self._begins[shards]

    def targets(self) -> NDArray[np.bool_]:
        """Return which positions, game after game, have a policy target with a weight.

        Where a shard has no weights, those are all: the move that was played is the target.
        """
        rows = []
        for s, shard in enumerate(self.shards):
            weight = shard.columns.get("weight")
            counts = (
                np.ones(len(shard.columns["moves"]), np.bool_) if weight is None else weight > 0
            )
            offsets = shard.columns["offsets"]
            inside = self._numbers[
                (self._numbers >= self._begins[s]) & (self._numbers < self._begins[s + 1])
            ]
            rows += [
                counts[offsets[g] : offsets[g + 1]] for g in (inside - self._begins[s]).tolist()
            ]
        return np.concatenate(rows) if rows else np.zeros(0, np.bool_)

    def _index(self) -> None:
        """Number the games of the shards."""
        counts = [shard.games for shard in self.shards]
        self._begins = np.cumsum([0, *counts], dtype=np.int64)
        self._lengths = np.concatenate([shard.lengths() for shard in self.shards])
        sizes = np.array([shard.size for shard in self.shards], np.uint8)
        self._game_sizes = np.repeat(sizes, counts)

    def _set_up(
        self,
        encoder: EncoderChoice,
        games: int | None,
        split: Split,
        fractions: tuple[float, float, float],
        seed: int,
    ) -> None:
        self.seed = seed
        self._index()
        names = self._column("names")
        self._numbers = np.flatnonzero(in_split(names, split, fractions))
        if games is not None:
            self._numbers = self._numbers[sample_games(names[self._numbers], games, seed)]
        if not len(self._numbers):
            larger = (
                f", or give it a larger share (data.{split})"
                if split in ("validation", "test")
                else ""
            )
            raise DataError(
                f"none of {len(names)} games remains in split {split!r}; add games{larger}"
            )
        self.sizes = sizes_of(np.unique(self.board_sizes()).tolist())
        self.encoders = _encoders_for(encoder, self.sizes)

    def _column(self, name: str) -> NDArray[Any]:
        return np.concatenate([shard.columns[name] for shard in self.shards])


def _opened(sources: list[Path], filters: GameFilters) -> tuple[list[Shard], ImportReport | None]:
    """Open shard sets, or import SGF and records. Raises `DataError` for both and for none."""
    are_sets = {source.is_dir() and bool(sets_in(source)) for source in sources}
    if len(are_sets) != 1:
        raise DataError("the sources of a data set are shard sets or SGF, not both and not none")
    if are_sets == {True}:
        folders = [folder for source in sources for folder in sets_in(source)]
        return [shard for folder in folders for shard in open_shards(folder)], None
    report = ImportReport()
    games = list(import_games(sources, filters, report))
    if not games:
        names = ", ".join(map(str, sources))
        if not report.games:
            raise DataError(f"{names}: has no games, neither SGF nor shards")
        raise DataError(f"{names}: none of {report.games} games was imported{report.reasons()}")
    return shards_of(games), report


def shards_of(games: Sequence[StoredGame]) -> list[Shard]:
    """Return games in memory, a shard for each size of board."""
    sizes = sizes_of(game.size for game in games)
    return [Shard.of([game for game in games if game.size == size]) for size in sizes]


def _by_size(encoder: EncoderChoice) -> Mapping[int, Encoder]:
    if isinstance(encoder, Mapping):
        return encoder
    return {encoder.size: encoder} if isinstance(encoder, Encoder) else {}


def _encoders_for(encoder: EncoderChoice, sizes: tuple[int, ...]) -> dict[int, Encoder]:
    if encoder is None:
        return {}
    encoders = _by_size(encoder)
    if strange := set(sizes) - set(encoders):
        raise DataError(
            f"there are games on {board_names(strange)}, but the encoder is for "
            f"{board_names(encoders)}: leave their sources out, or take weights or sizes for them"
        )
    return {size: encoders[size] for size in sizes}


# Streams of batches

# What a seed is drawn for, so that no two draws are the same.
_ORDER: Final = 1
_TURNS: Final = 3
_SIZES: Final = 4


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling of positions; see `GoDataset.batches`."""

    batch_size: int
    seed: int
    epoch: int
    symmetries: bool
    shuffle: bool
    targets_only: bool
    drop_last: bool

    def __post_init__(self) -> None:
        """Raise `DataError` if a number is out of range."""
        if self.batch_size < 1 or self.epoch < 0 or self.seed < 0:
            raise DataError(
                f"batch_size {self.batch_size}, epoch {self.epoch} and seed {self.seed} must be at "
                "least 1, 0 and 0"
            )

    def generator(self, purpose: int, number: int = 0) -> np.random.Generator:
        """Return the random generator for one purpose in this epoch."""
        # A generator for each purpose and batch, so that a batch depends on its number and not on
        # which were made before it.
        return np.random.default_rng([self.seed, self.epoch, purpose, number])


class BatchStream:
    """Iterator over the batches of one epoch, from a given one.

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
        self._sizes, self._edges = self._arranged()
        if not 0 <= start <= len(self):
            raise DataError(f"there is no batch {start}: the epoch has {len(self)}")

    def __len__(self) -> int:
        """Number of batches in the epoch, including those before `start`."""
        return len(self._sizes)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch. Raises `DataError` if a shard is damaged."""
        if self.next_batch >= len(self):
            raise StopIteration
        batch = self.batch(self.next_batch)
        self.next_batch += 1
        return batch

    def rows(self, number: int) -> Rows:
        """Return the positions of a batch by number, without advancing."""
        sampling = self.sampling
        here = slice(self._edges[number, 0], self._edges[number, 1])
        games = self._games[here].astype(np.int64)
        shard, game = self._data.locate(games)
        turns = np.zeros(len(games), np.uint8)
        if sampling.symmetries:
            drawn = sampling.generator(_TURNS, number).integers(0, SYMMETRIES, len(games))
            turns = drawn.astype(np.uint8)
        plies = self._plies[here].astype(np.int64)
        return Rows(int(self._sizes[number]), shard, game, games, plies, turns)

    def batch(self, number: int) -> Batch:
        """Return a batch by number, without advancing."""
        rows = self.rows(number)
        return make_batch(
            self._data.shards,
            rows,
            self._data.encoders.get(rows.size),
            with_positions=self._with_positions,
        )

    def _arranged(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sort the positions by size; return the size of each batch, and where it lies among them.

        The latter is of shape (batches, 2). The seed draws the order of the sizes; each goes
        through its positions in their order.
        """
        sampling, sizes = self.sampling, self._data.board_sizes()[self._games]
        if len(self._data.sizes) > 1:
            by_size = np.argsort(sizes, kind="stable")
            self._games, self._plies = self._games[by_size], self._plies[by_size]
        turns, edges, end = [], [], 0
        for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
            begin, end = end, end + int(count)
            starts = np.arange(begin, end, sampling.batch_size)
            ends = np.minimum(starts + sampling.batch_size, end)
            if sampling.drop_last and len(starts) > 1 and end - starts[-1] < sampling.batch_size:
                starts, ends = starts[:-1], ends[:-1]
            turns.append(np.full(len(starts), size, np.int64))
            edges.append(np.stack((starts, ends), 1))
        order = np.concatenate(turns)
        if sampling.shuffle and len(turns) > 1:
            order = sampling.generator(_SIZES).permutation(order)
        # The rank of each batch among those of its size: however the sizes are mixed, each goes
        # through its positions in their order.
        places = np.argsort(np.argsort(order, kind="stable"))
        return order, np.concatenate(edges)[places]


def _order(data: GoDataset, sampling: Sampling) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Return games and plies of all positions in the order of the epoch."""
    lengths = data.lengths()
    kept = data.targets() if sampling.targets_only else None
    begins = np.concatenate(([0], np.cumsum(lengths)))
    positions = np.arange(begins[-1]) if kept is None else np.flatnonzero(kept)
    if not len(positions):
        raise DataError("no position is left: the games have no moves, or none has a target")
    if sampling.shuffle:
        positions = sampling.generator(_ORDER).permutation(positions)
    games = np.searchsorted(begins, positions, side="right") - 1
    # Six bytes a position: the order of ten million positions takes 60 MB.
    return games.astype(np.int32), (positions - begins[games]).astype(np.int16)


class Prefetcher(AbstractContextManager["Prefetcher"]):
    """Iterator over the batches of a stream that makes some of them in advance.

    Used in a ``with`` statement, which ends the thread; the stream is not used beside it.

    Args:
      stream: what is made ahead.
      depth: batches that wait at most.

    Attributes:
      waited: seconds for which the taker of the batches had to wait for them so far.
    """

    def __init__(self, stream: BatchStream, *, depth: int = 4) -> None:
        self.waited = 0.0
        self._stream = stream
        # One thread, so that batches are made in the order in which they are taken.
        self._pool = ThreadPoolExecutor(1, "go-batches")
        self._numbers = iter(range(stream.next_batch, len(stream)))
        self._ahead: deque[Future[Batch]] = deque()
        for _ in range(max(1, depth)):
            self._make_another()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of batches in the epoch."""
        return len(self._stream)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch. Raises the error of making it."""
        if not self._ahead:
            raise StopIteration
        began = time.perf_counter()
        try:
            batch = self._ahead.popleft().result()
        except BaseException:
            self.close()
            raise
        self.waited += time.perf_counter() - began
        self._make_another()
        return batch

    def close(self) -> None:
        """End the thread and drop the waiting batches."""
        self._ahead.clear()
        self._pool.shutdown(cancel_futures=True)

    def _make_another(self) -> None:
        number = next(self._numbers, None)
        if number is not None:
            self._ahead.append(self._pool.submit(self._stream.batch, number))


# Statistics

_RESULTS: Final = {1: "black", -1: "white", 0: "draw", 2: "unknown"}


def statistics(data: GoDataset) -> dict[str, Any]:
    """Return figures of all games in the shards of a data set, as plain data."""
    lengths = np.concatenate([shard.lengths() for shard in data.shards])
    results: Counter[str] = Counter()
    komi: Counter[float] = Counter()
    for shard in data.shards:
        results.update(_RESULTS[int(r)] for r in shard.columns["result"])
        komi.update((shard.columns["half_komi"] / 2).tolist())
    ratings = np.concatenate([shard.columns["ratings"].ravel() for shard in data.shards])
    known = ratings[np.isfinite(ratings)]
    return {
        "size": data.size,
        "games": len(lengths),
        "moves": int(lengths.sum()),
        "shards": len(data.shards),
        "length": _spread(lengths),
        "results": dict(results.most_common()),
        "komi": {f"{value:g}": count for value, count in komi.most_common()},
        "rating": _spread(known) if len(known) else None,
        "columns": sorted({name for shard in data.shards for name in shard.columns} - _PLAIN),
    }


_PLAIN: Final = {name for name, column in COLUMNS.items() if not column.optional}


def _spread(values: Any) -> dict[str, float]:
    return {
        "least": float(values.min()),
        "median": float(np.median(values)),
        "mean": round(float(values.mean()), 2),
        "greatest": float(values.max()),
    }


# Splits


def in_split(
    names: NDArray[np.uint8], split: str, fractions: tuple[float, float, float] = FRACTIONS
) -> NDArray[np.bool_]:
    """Return which games, by their names of shape (games, 16), are in a split.

    Raises:
      DataError: the split is unknown, or the fractions are negative or do not sum to 1.
    """
    if split not in SPLITS:
        raise DataError(f"unknown split {split!r}; use one of {', '.join(SPLITS)}")
    if len(fractions) != len(FRACTIONS) or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise DataError(f"fractions {fractions} of train, validation and test do not sum to 1")
    if split == "all":
        return np.ones(len(names), np.bool_)
    place = [*SPLITS].index(split) - 1
    # The first half of a name decides its split, the second whether it is sampled, so that a sample
    # is the same share of every split.
    position = _words(names)[:, 0] / 2.0**64
    begin = sum(fractions[:place])
    end = begin + fractions[place] if split != "test" else np.inf
    inside: NDArray[np.bool_] = (position >= begin) & (position < end)
    return inside


def sample_games(names: NDArray[np.uint8], count: int, seed: int) -> NDArray[np.int64]:
    """Return ascending indices of a random sample of `count` games, or of all if they are fewer.

    The sample depends on the seed and the names, not on their order.
    """
    order = np.random.default_rng(seed).integers(0, 2**64, dtype=np.uint64)
    with np.errstate(over="ignore"):
        # The games with the least hashes: whether one is among them hardly depends on the others,
        # so a sample changes little when games are added.
        mixed = (_words(names)[:, 1] ^ order) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    chosen: NDArray[Any] = np.sort(np.argsort(mixed, kind="stable")[:count])
    return chosen.astype(np.int64)


def _words(names: NDArray[np.uint8]) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = np.ascontiguousarray(names).view("<u8").astype(np.uint64)
    return words
