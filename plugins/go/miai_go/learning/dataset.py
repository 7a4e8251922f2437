"""Games as a data set: which ones, parted by game, served as batches of positions.

>>> data = GoDataset("games.zip", encoder=encoder, split="train")  # doctest: +SKIP
>>> for batch in data.batches(256, epoch=0):                       # doctest: +SKIP
...     train(batch.planes, batch.action)

What the games of a data set are like.
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
      sources: shard sets, or else folders, archives and files of SGF, which are imported into
        memory. What cannot be read is counted in `report`.
      encoder: makes the planes of batches; or the name of a component of kind ``go.encoder``; None
        for batches without planes.
      games: at most so many of the games, drawn by `seed`.
      seed: of that draw, and of batches where they are given none.
      avoid: games that are left out: names (16 bytes or 32 hexadecimal digits), another data set,
        or the name of a split.
      split: which part of the games; games are parted by name, see `miai_go.learning.games`.
      fractions: of the games for training, validation and test.
      filters: of games that are imported; by default all of the encoder's size with a result.
      verify: whether the digests of shards are checked.

    Attributes:
      size: points on a side.
      encoder: as given.
      report: of the import; None over shards.
      shards: where the games are, those that are left out included.

    Raises:
      DataError: a source cannot be read, no game is left, or sizes differ.
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
            raise DataError("a data set needs games, but there are none")
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
        """Return a data set over shards that are open; arguments as of the class.

        Raises:
          DataError: there is no shard, sizes differ, or no game is left.
        """
        if not shards:
            raise DataError("a data set needs games, but there are none")
        data = cls.__new__(cls)
        data.seed, data.report, data.shards = seed, None, list(shards)
        data._set_up(encoder, None, (), split, fractions)
        return data

    def __len__(self) -> int:
        """How many games there are."""
        return len(self._numbers)

    @property
    def positions(self) -> int:
        """How many positions there are, one before each move."""
        return int(self.lengths().sum())

    def names(self) -> NDArray[np.uint8]:
        """Return the games' names, uint8 of shape (games, 16)."""
        return self._column("names")[self._numbers]

    def lengths(self) -> NDArray[np.int64]:
        """Return how many moves each game has."""
        lengths: NDArray[np.int64] = self._lengths[self._numbers]
        return lengths

    def digest(self) -> str:
        """Return 32 hexadecimal digits that are the same for the same games in the same order."""
        return hashlib.blake2b(self.names().tobytes(), digest_size=16).hexdigest()

    def game(self, index: int) -> StoredGame:
        """Return one of the games, copied."""
        number = int(self._numbers[index])
        shard = int(np.searchsorted(self._begins, number, side="right")) - 1
        return self.shards[shard].game(number - int(self._begins[shard]))

    def left_out(self) -> str:
        """Return in a line which games of SGF were not taken, and why; empty where all were."""
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
        """Return the batches of one epoch, in which every position comes once.

        The same arguments give the same batches, whatever was asked before.

        Args:
          batch_size: positions; the last batch may have fewer.
          seed: of the order and the symmetries; by default the data set's.
          start: number of the first batch that is served, for going on with an epoch.
          symmetries: whether each position is turned by one of eight symmetries, drawn anew.
          shuffle: whether the order is drawn, or that of the games.
          one_per_game: of each game one position only, drawn anew every epoch (Silver et al.,
            Mastering the game of Go with deep neural networks and tree search, 2016, for values).
          targets_only: only positions whose policy target has a weight.
          drop_last: whether a last batch of fewer positions is left out.
          with_positions: whether batches hold positions beside planes.

        Raises:
          DataError: an argument is out of range, or no position is left.
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
        """Return the batches that were left when `BatchStream.state` was asked.

        Raises:
          DataError: the state is of other games, or none.
        """
        try:
            sampling, start = Sampling(**state["sampling"]), int(state["batch"])
            told = str(state["games"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this is no state of a stream of batches: {error!r}") from error
        if told != self.digest():
            raise DataError(
                "the data set has other games than when its batches were begun: give the same "
                "sources, split and limits, or begin anew"
            )
        return BatchStream(self, sampling, start=start, with_positions=with_positions)

    def locate(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shards of games of this data set, and their numbers there."""
        numbers = self._numbers[index]
        shards = np.searchsorted(self._begins, numbers, side="right") - 1
        return shards, numbers - self._begins[shards]

    def targets(self) -> NDArray[np.bool_]:
        """Return which positions, game after game, have a policy target that counts."""
        kept = []
        for s, shard in enumerate(self.shards):
            weight = shard.columns.get("weight")
            counts = (
                np.zeros(len(shard.columns["moves"]), np.bool_) if weight is None else weight > 0
            )
            offsets = shard.columns["offsets"]
            inside = self._numbers[
                (self._numbers >= self._begins[s]) & (self._numbers < self._begins[s + 1])
            ]
            kept += [
                counts[offsets[g] : offsets[g + 1]] for g in (inside - self._begins[s]).tolist()
            ]
        return np.concatenate(kept) if kept else np.zeros(0, np.bool_)

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
            raise DataError("a data set is made of shard sets, or of SGF, but not of both or none")
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
                f"{', '.join(map(str, sources))}: of {self.report.games} games none was taken"
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
            raise DataError("the shard sets are of different board sizes; use one size at a time")
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
            raise DataError(f"of {len(names)} games none is left in split {split!r}")

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
            f"the games are of {size}x{size}, but the encoder is for {encoder.size}x{encoder.size}"
        )
    return encoder


_RESULTS: Final = {1: "black", -1: "white", 0: "draw", 2: "unknown"}


def statistics(data: GoDataset, *, plies: int = 3, openings: int = 10) -> dict[str, Any]:
    """Return figures of all games in the shards of a data set, as plain data.

    Args:
      plies: length of the openings, which count as the same when they are up to symmetry.
      openings: how many of the commonest are told.
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
    """Return the first moves of the games that have so many, each turned to the least of eight.

    Games from a set-up have no opening.
    """
    columns = shard.columns
    long_enough = shard.lengths() >= plies
    if "stones" in columns:
        long_enough &= ~columns["stones"].any(axis=1)
    begins = columns["offsets"][:-1][long_enough]
    moves = columns["moves"][begins[:, None] + np.arange(plies)]
    turned = point_tables(shard.size)[:, moves]
    return [min(map(tuple, turned[:, g].tolist())) for g in range(len(begins))]
