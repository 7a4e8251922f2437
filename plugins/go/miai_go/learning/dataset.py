"""Data sets of games: selection, splits, batches of positions, statistics.

>>> data = GoDataset("games.zip", encoder=encoder, split="train")  # doctest: +SKIP
>>> for batch in data.batches(256, epoch=0):                       # doctest: +SKIP
...     train(batch.planes, batch.action)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import DataError
from miai_go.kinds import ENCODER
from miai_go.learning.batches import BatchStream, Sampling
from miai_go.learning.games import FRACTIONS, Split, StoredGame, in_split, is_listed, sample_games
from miai_go.learning.importing import GameFilters, ImportReport, import_games
from miai_go.learning.shards import COLUMNS, Shard, open_shards, shard_folders
from miai_go.nets.encoder import Encoder
from miai_go.rules.coordinates import vertex
from miai_go.rules.symmetry import point_tables

Sources: TypeAlias = str | Path | Sequence[str | Path]


class GoDataset:
    """Games of one board size.

    Args:
      sources: shard sets; or folders, archives and files of SGF, which are imported into memory.
      encoder: makes the planes of batches: an encoder, the name of a component of kind
        ``go.encoder``, or None for batches without planes.
      games: maximum number of games, a random sample.
      seed: seed of that sample, and the default seed of batches.
      avoid: games to leave out: names (16 bytes or 32 hexadecimal digits), another data set, or the
        name of a split.
      split: part of the games, see `miai_go.learning.games`.
      fractions: shares of the games for training, validation and test.
      filters: of imported games; by default all games of the encoder's size with a result.
      verify: whether the digests of shards are checked.

    Attributes:
      size: points on a side.
      encoder: the encoder.
      report: of the import; None for shards.
      shards: shards with the games and those left out.

    Raises:
      DataError: a source cannot be read, no game remains, or sizes differ.
    """

    def __init__(
        self,
        sources: Sources,
        *,
        encoder: Encoder | str | None = None,
        games: int | None = None,
        seed: int = 0,
        avoid: Iterable[str | bytes] | GoDataset | Split = (),
        split: Split = "all",
        fractions: tuple[float, float, float] = FRACTIONS,
        filters: GameFilters | None = None,
        verify: bool = True,
    ) -> None:
        self.seed = seed
        self.report: ImportReport | None = None
        self.shards = self._open(_as_paths(sources), encoder, filters, verify=verify)
        self._set_up(encoder, games, avoid, split, fractions)

    @classmethod
    def of_games(
        cls,
        stored: Sequence[StoredGame],
        *,
        encoder: Encoder | str | None = None,
        games: int | None = None,
        seed: int = 0,
        avoid: Iterable[str | bytes] | GoDataset | Split = (),
        split: Split = "all",
        fractions: tuple[float, float, float] = FRACTIONS,
    ) -> Self:
        """Return a data set of games in memory; arguments as of the class."""
        if not stored:
            raise DataError("a data set needs at least one game")
        data = cls.__new__(cls)
        data.seed, data.report, data.shards = seed, None, [Shard.of(list(stored))]
        data._set_up(encoder, games, avoid, split, fractions)
        return data

    @classmethod
    def of_shards(
        cls,
        shards: Sequence[Shard],
        *,
        encoder: Encoder | str | None = None,
        split: Split = "all",
        fractions: tuple[float, float, float] = FRACTIONS,
        seed: int = 0,
    ) -> Self:
        """Return a data set of open shards; arguments as of the class.

        Raises:
          DataError: there is no shard, sizes differ, or no game remains.
        """
        if not shards:
            raise DataError("a data set needs at least one game")
        data = cls.__new__(cls)
        data.seed, data.report, data.shards = seed, None, list(shards)
        data._set_up(encoder, None, (), split, fractions)
        return data

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
        one_per_game: bool = False,
        targets_only: bool = False,
        drop_last: bool = False,
        with_positions: bool = False,
    ) -> BatchStream:
        """Return the batches of one epoch, which has every position once.

        The same arguments give the same batches.

        Args:
          batch_size: positions of a batch; the last one may have fewer.
          seed: of order and symmetries; by default the data set's.
          start: number of the first batch, to continue an epoch.
          symmetries: whether each position gets a random one of the eight symmetries.
          shuffle: whether the order is random, or that of the games.
          one_per_game: whether an epoch has only one random position of each game (Silver et al.,
            Mastering the game of Go with deep neural networks and tree search, 2016, for values).
          targets_only: whether to drop positions whose policy target has no weight.
          drop_last: whether to drop a last, smaller batch.
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
            one_per_game=one_per_game,
            targets_only=targets_only,
            drop_last=drop_last,
        )
        return BatchStream(self, sampling, start=start, with_positions=with_positions)

    def resume(self, state: Mapping[str, Any], *, with_positions: bool = False) -> BatchStream:
        """Return the remaining batches of a stream with this `BatchStream.state`.

        Raises:
          DataError: the state is malformed, or of other games.
        """
        try:
            sampling, start = Sampling(**state["sampling"]), int(state["batch"])
            digest = str(state["games"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the state of a stream of batches: {error!r}") from error
        if digest != self.digest():
            raise DataError(
                "the data set has other games than when its batches began: use the same sources, "
                "split and limits, or start again"
            )
        return BatchStream(self, sampling, start=start, with_positions=with_positions)

    def locate(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shard numbers of games, and the numbers of the games in these shards."""
        numbers = self._numbers[index]
        shards = np.searchsorted(self._begins, numbers, side="right") - 1
        return shards, numbers - self._begins[shards]

    def targets(self) -> NDArray[np.bool_]:
        """Return which positions, game after game, have a policy target with a weight."""
        rows = []
        for s, shard in enumerate(self.shards):
            weight = shard.columns.get("weight")
            counts = (
                np.zeros(len(shard.columns["moves"]), np.bool_) if weight is None else weight > 0
            )
            offsets = shard.columns["offsets"]
            inside = self._numbers[
                (self._numbers >= self._begins[s]) & (self._numbers < self._begins[s + 1])
            ]
            rows += [
                counts[offsets[g] : offsets[g + 1]] for g in (inside - self._begins[s]).tolist()
            ]
        return np.concatenate(rows) if rows else np.zeros(0, np.bool_)

    def _open(
        self,
        sources: list[Path],
        encoder: Encoder | str | None,
        filters: GameFilters | None,
        *,
        verify: bool,
    ) -> list[Shard]:
        are_shards = [source.is_dir() and bool(shard_folders(source)) for source in sources]
        if not sources or (any(are_shards) and not all(are_shards)):
            raise DataError(
                "the sources of a data set are shard sets or SGF, not both and not none"
            )
        if all(are_shards):
            return [s for source in sources for s in open_shards(source, verify=verify)]
        if filters is None:
            filters = (
                GameFilters(size=encoder.size) if isinstance(encoder, Encoder) else GameFilters()
            )
        self.report = ImportReport()
        games = list(import_games(sources, filters, self.report))
        if not games:
            raise DataError(
                f"{', '.join(map(str, sources))}: none of {self.report.games} games was imported"
                f"{self.report.reasons()}"
            )
        return [Shard.of(games)]

    def _set_up(
        self,
        encoder: Encoder | str | None,
        games: int | None,
        avoid: Iterable[str | bytes] | GoDataset | Split,
        split: Split,
        fractions: tuple[float, float, float],
    ) -> None:
        self.size = self.shards[0].size
        if any(shard.size != self.size for shard in self.shards):
            raise DataError("the shard sets have different board sizes; use one size at a time")
        self.encoder = _encoder(encoder, self.size)
        self._begins = np.cumsum([0, *(shard.games for shard in self.shards)], dtype=np.int64)
        self._lengths = np.concatenate([shard.lengths() for shard in self.shards])
        names = self._column("names")
        wanted = in_split(names, split, fractions)
        if isinstance(avoid, GoDataset):
            wanted &= ~is_listed(names, (row.tobytes() for row in avoid.names()))
        elif isinstance(avoid, str):
            wanted &= ~in_split(names, avoid, fractions)
        else:
            wanted &= ~is_listed(names, avoid)
        self._numbers = np.flatnonzero(wanted)
        if games is not None:
            self._numbers = self._numbers[sample_games(names[self._numbers], games, self.seed)]
        if not len(self._numbers):
            raise DataError(f"none of {len(names)} games remains in split {split!r}")

    def _column(self, name: str) -> NDArray[Any]:
        return np.concatenate([shard.columns[name] for shard in self.shards])


def _as_paths(sources: Sources) -> list[Path]:
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    return [Path(source) for source in given]


def _encoder(encoder: Encoder | str | None, size: int) -> Encoder | None:
    if isinstance(encoder, str):
        from miai.plugins.loader import registry

        built: Encoder = registry().get(ENCODER, encoder).build(size, values={})
        return built
    if encoder is not None and encoder.size != size:
        raise DataError(
            f"the games are on {size}x{size}, but the encoder is for {encoder.size}x{encoder.size}"
        )
    return encoder


_RESULTS: Final = {1: "black", -1: "white", 0: "draw", 2: "unknown"}


def statistics(data: GoDataset, *, plies: int = 3, openings: int = 10) -> dict[str, Any]:
    """Return figures of all games in the shards of a data set, as plain data.

    Args:
      plies: length of the openings, which are counted up to symmetry.
      openings: number of the most frequent openings to return.
    """
    lengths = np.concatenate([shard.lengths() for shard in data.shards])
    results: Counter[str] = Counter()
    komi: Counter[float] = Counter()
    first_moves: Counter[tuple[int, ...]] = Counter()
    for shard in data.shards:
        results.update(_RESULTS[int(r)] for r in shard.columns["result"])
        komi.update((shard.columns["half_komi"] / 2).tolist())
        first_moves.update(_openings(shard, plies))
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
        "openings": [
            {"moves": [vertex(move, data.size) for move in moves], "games": count}
            for moves, count in first_moves.most_common(openings)
        ],
    }


_PLAIN: Final = {name for name, column in COLUMNS.items() if not column.optional}


def _spread(values: Any) -> dict[str, float]:
    return {
        "least": float(values.min()),
        "median": float(np.median(values)),
        "mean": round(float(values.mean()), 2),
        "greatest": float(values.max()),
    }


def _openings(shard: Shard, plies: int) -> list[tuple[int, ...]]:
    """Return the openings of all long enough games without a set-up, in canonical symmetry."""
    columns = shard.columns
    long_enough = shard.lengths() >= plies
    if "stones" in columns:
        long_enough &= ~columns["stones"].any(axis=1)
    begins = columns["offsets"][:-1][long_enough]
    moves = columns["moves"][begins[:, None] + np.arange(plies)]
    turned = point_tables(shard.size)[:, moves]
    return [min(map(tuple, turned[:, g].tolist())) for g in range(len(begins))]
