"""Sets of Go games on disk: folders of shards, all of one board size.

`miai_go.learning.data.shard_files` defines the format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai_go.errors import DataError
from miai_go.learning.data.shard_files import (
    MANIFEST,
    Columns,
    ShardColumn,
    ShardFormat,
    ShardManifest,
    locked_set,
    numbered_folders,
)
from miai_go.learning.data.stored_games import NAME_BYTES, UNKNOWN, StoredGame
from miai_go.rules.coordinates import MAX_SIZE
from miai_go.rules.sizes import board_names

# Byte order and widths are fixed, so that a set has the same bytes on every machine. Games have
# different lengths: their moves follow each other without padding, found by offsets.
COLUMNS: Final[Mapping[str, ShardColumn]] = {
    "moves": ShardColumn("<i2", "move"),
    "offsets": ShardColumn("<i8", "offset"),
    "result": ShardColumn("|i1", "game"),
    "margin": ShardColumn("<f4", "game"),
    "half_komi": ShardColumn("<i2", "game"),
    "names": ShardColumn("|u1", "game", NAME_BYTES),
    "ratings": ShardColumn("<f4", "game", 2),
    "stones": ShardColumn("|i1", "game", "points", optional=True),
    "first": ShardColumn("|i1", "game", optional=True),
    "policy": ShardColumn("<f2", "move", "actions", optional=True),
    "weight": ShardColumn("<f2", "move", optional=True),
    "root_value": ShardColumn("<f2", "move", optional=True),
    "ownership": ShardColumn("|i1", "game", "points", optional=True),
}
"""Columns of a shard; `miai_go.learning.data.stored_games.StoredGame` documents their contents.

`moves` has the moves of all games one after another; those of game g begin at `offsets[g]`."""


def column_shape(column: ShardColumn, *, size: int, games: int, moves: int) -> tuple[int, ...]:
    """Return the shape of a column in a shard."""
    rows = {"move": moves, "game": games, "offset": games + 1}[column.per]
    widths = {"points": size * size, "actions": size * size + 1}
    width = widths[column.width] if isinstance(column.width, str) else column.width
    return (rows, width) if width else (rows,)


def columns_of(games: Sequence[StoredGame]) -> dict[str, NDArray[Any]]:
    """Return the columns of one or more games of the same size.

    Optional columns that only some of the games have are filled for the others: no stones, Black
    first, the moves played as policy targets, weight 1, unknown root values (nan), no owners (0).

    Raises:
      DataError: the sizes differ, or an array has the wrong shape.
    """
    size = games[0].size
    for game in games:
        _check(game, size)
    lengths = [len(game.moves) for game in games]
    moves = sum(lengths)
    columns: dict[str, NDArray[Any]] = {
        "moves": np.concatenate([game.moves for game in games]),
        "offsets": np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        "result": np.array([game.result for game in games]),
        "margin": np.array([game.margin for game in games]),
        "half_komi": np.array([game.half_komi for game in games]),
        "names": np.frombuffer(b"".join(game.name() for game in games), np.uint8).reshape(
            len(games), NAME_BYTES
        ),
        "ratings": np.array([game.ratings for game in games]),
    }
    if any(game.first != 1 or game.stones is not None for game in games):
        columns["first"] = np.array([game.first for game in games])
    _add_optional(columns, games, size, moves)
    return {
        name: np.ascontiguousarray(values, COLUMNS[name].dtype) for name, values in columns.items()
    }


def _add_optional(
    columns: dict[str, NDArray[Any]], games: Sequence[StoredGame], size: int, moves: int
) -> None:
    offsets = columns["offsets"]
    for name in ("stones", "ownership", "policy", "weight", "root_value"):
        if all(getattr(game, name) is None for game in games):
            continue
        column = COLUMNS[name]
        shape = column_shape(column, size=size, games=len(games), moves=moves)
        values = np.full(shape, _MISSING.get(name, 0), column.dtype)
        for g, game in enumerate(games):
            here = slice(offsets[g], offsets[g + 1])
            row = getattr(game, name)
            if row is not None:
                values[g if column.per == "game" else here] = row
            elif name == "policy":
                values[np.arange(here.start, here.stop), game.moves] = 1
        columns[name] = values


_MISSING: Final = {"root_value": np.nan, "weight": 1}
"""Entries of games that lack a column, other than 0."""


def _check(game: StoredGame, size: int) -> None:
    if game.size != size:
        raise DataError(f"a {game.size}x{game.size} game among games of {size}x{size}")
    if game.result not in (-1, 0, 1, UNKNOWN) or game.first not in (1, 2):
        raise DataError(f"a game with result {game.result} and first player {game.first}")
    for name in ("moves", "stones", "ownership", "policy", "weight", "root_value"):
        values = getattr(game, name)
        shape = column_shape(COLUMNS[name], size=size, games=1, moves=len(game.moves))
        expected = shape[1:] if COLUMNS[name].per == "game" else shape
        if values is not None and values.shape != expected:
            raise DataError(f"{name} of a game has shape {values.shape}, not {expected}")


class Manifest(ShardManifest):
    """Manifest of a shard of games.

    Attributes:
      size: points on a side.
      games, moves: numbers of games and moves.
      sources: names of the games' sources.
    """

    size: int = Field(ge=1, le=MAX_SIZE)
    games: int = Field(ge=1)
    moves: int = Field(ge=0)
    sources: tuple[str, ...]


GAME_SHARDS: Final = ShardFormat(
    name="miai-go-shard",
    version=1,
    manifest=Manifest,
    columns=COLUMNS,
    shape=lambda manifest, column: column_shape(
        column, size=manifest.size, games=manifest.games, moves=manifest.moves
    ),
    remedy="copy it or import the games again",
)


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Columns of games.

    Attributes:
      size: points on a side.
      columns: arrays by name, see `COLUMNS`; memory-mapped if the shard is a folder.
      manifest: of the folder; None for games in memory.
      folder: None for games in memory.
    """

    size: int
    columns: Columns
    manifest: Manifest | None = None
    folder: Path | None = None

    @classmethod
    def of(cls, games: list[StoredGame]) -> Self:
        """Return one or more games in memory. Raises `DataError` as `columns_of` does."""
        return cls(games[0].size, columns_of(games))

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True) -> Self:
        """Return the shard in a folder.

        Args:
          verify: whether the files' SHA-256 digests are compared with the manifest's.

        Raises:
          DataError: the shard is damaged or of another format.
        """
        manifest, columns = GAME_SHARDS.open(folder, verify=verify)
        _check_contents(folder, columns, size=manifest.size)
        return cls(manifest.size, columns, manifest, folder)

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.columns["result"])

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of moves of each game."""
        lengths: NDArray[np.int64] = np.diff(self.columns["offsets"])
        return lengths

    def game(self, index: int) -> StoredGame:
        """Return one game, copied."""
        columns = self.columns
        begin, end = (int(offset) for offset in columns["offsets"][index : index + 2])
        values: dict[str, Any] = {
            name: np.array(columns[name][index] if of.per == "game" else columns[name][begin:end])
            for name, of in COLUMNS.items()
            if name in columns and name not in ("offsets", "names", "margin", "ratings", "first")
        }
        values |= {name: int(values[name]) for name in ("result", "half_komi")}
        black, white = columns["ratings"][index]
        return StoredGame(
            size=self.size,
            margin=float(columns["margin"][index]),
            ratings=(float(black), float(white)),
            first=int(columns["first"][index]) if "first" in columns else 1,
            **values,
        )


def sets_in(folder: Path) -> list[Path]:
    """Return the sets in a folder: the folder itself, or those of `set_of_size` in it.

    Returns none where there is no shard. Raises `DataError` if the folder cannot be read.
    """
    if shard_folders(folder):
        return [folder]
    several = (set_of_size(folder, size) for size in range(1, MAX_SIZE + 1))
    return [path for path in several if path.is_dir() and shard_folders(path)]


def set_of_size(folder: Path, size: int) -> Path:
    """Return the set of one size in a folder with sets of several: its subfolder ``9x9``."""
    return folder / board_names(size)


def shard_folders(folder: Path) -> list[Path]:
    """Return the shards of a set, in order; a folder that is itself a shard is a set of one.

    Raises:
      DataError: the folder cannot be read.
    """
    if (folder / MANIFEST).is_file():
        return [folder]
    return [child for child in numbered_folders(folder) if (child / MANIFEST).is_file()]


def open_shards(folder: Path, *, verify: bool = True) -> list[Shard]:
    """Return the shards of a set, in order.

    Raises:
      DataError: the set is empty, a shard is damaged, or the board sizes differ.
    """
    shards = [Shard.open(child, verify=verify) for child in shard_folders(folder)]
    if not shards:
        raise DataError(f"{folder}: contains no shards; make some with: miai go data import")
    for shard in shards:
        if shard.size != shards[0].size:
            raise DataError(
                f"{shard.folder}: has {shard.size}x{shard.size} boards, but the set began with "
                f"{shards[0].size}x{shards[0].size}; use one set for each size"
            )
    return shards


def _check_contents(folder: Path, columns: Mapping[str, NDArray[Any]], *, size: int) -> None:
    """Check what readers rely on: games lie within the moves, moves and results are valid.

    Reads all moves and results.
    """
    offsets = columns["offsets"]
    fits = offsets[0] == 0 and offsets[-1] == len(columns["moves"])
    if not fits or (offsets[1:] < offsets[:-1]).any():
        raise DataError(f"{folder}: offsets.npy does not fit the moves; {GAME_SHARDS.remedy}")
    moves = columns["moves"]
    if len(moves) and not 0 <= moves.min() <= moves.max() <= size * size:
        raise DataError(f"{folder}: moves.npy contains moves off the board; {GAME_SHARDS.remedy}")
    if not np.isin(columns["result"], (-1, 0, 1, UNKNOWN)).all():
        raise DataError(f"{folder}: result.npy contains invalid results; {GAME_SHARDS.remedy}")


# Writing

GAMES_A_SHARD: Final = 20_000
# Bounds the largest column: a policy on 9x9 takes 164 bytes a move, so 330 MB a shard.
MOVES_A_SHARD: Final = 2_000_000


def write_shard(
    folder: Path,
    games: Sequence[StoredGame],
    *,
    sources: Sequence[str],
    settings: Mapping[str, Any],
) -> Path:
    """Write games of one size as the next shard of a set that is locked; return its folder.

    Raises:
      DataError: the shard cannot be written.
    """
    # After the highest number, not their count: where a shard is missing, none is overwritten.
    number = max((int(shard.name) for shard in numbered_folders(folder)), default=-1) + 1
    fields = {
        "size": games[0].size,
        "games": len(games),
        "moves": sum(len(game.moves) for game in games),
        "sources": list(sources),
        "settings": dict(settings),
    }
    return GAME_SHARDS.write(folder, number, columns_of(games), fields)


class ShardWriter(AbstractContextManager["ShardWriter"]):
    """Appends games to a shard set.

    Use it in a ``with`` statement, which finishes the last shard and lets other processes write to
    the set again. After an error, games that are not in a finished shard are dropped.

    Args:
      folder: of the set; made if missing, else extended.
      size: points on a side.
      sources: names of the games' sources, for the manifest.
      settings: plain data about how the games were made, for the manifest.
      games_a_shard, moves_a_shard: a shard is finished when it reaches either number.

    Attributes:
      written: games in the shards that this writer finished.

    Raises:
      DataError: the set has another board size, another process writes to it, or the folder cannot
        be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        size: int,
        sources: tuple[str, ...] = (),
        settings: Mapping[str, Any] | None = None,
        games_a_shard: int = GAMES_A_SHARD,
        moves_a_shard: int = MOVES_A_SHARD,
    ) -> None:
        self.folder = folder
        self.written = 0
        self._size = size
        self._sources = sources
        self._settings = dict(settings or {})
        self._limits = (games_a_shard, moves_a_shard)
        self._games: list[StoredGame] = []
        self._moves = 0
        # The lock is kept only if the set can be extended.
        with ExitStack() as lock:
            lock.enter_context(locked_set(folder))
            for shard in shard_folders(folder)[:1]:
                other = GAME_SHARDS.read_manifest(shard).size
                if other != size:
                    raise DataError(
                        f"{folder}: is a set of {other}x{other} games; write {size}x{size} games "
                        "to another folder"
                    )
            self._lock = lock.pop_all()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with self._lock:
            if kind is None:
                self.flush()

    def add(self, game: StoredGame) -> None:
        """Append a game, and write the shard if it is full.

        Raises:
          DataError: the game has another size, or the shard cannot be written.
        """
        if game.size != self._size:
            raise DataError(
                f"{self.folder}: a {game.size}x{game.size} game in a set of "
                f"{self._size}x{self._size}; use one set for each size"
            )
        self._games.append(game)
        self._moves += len(game.moves)
        if len(self._games) >= self._limits[0] or self._moves >= self._limits[1]:
            self.flush()

    def flush(self) -> Path | None:
        """Write the pending games as a shard; return its folder, or None without games.

        Raises:
          DataError: the shard cannot be written; the games stay pending.
        """
        if not self._games:
            return None
        shard = write_shard(
            self.folder, self._games, sources=self._sources, settings=self._settings
        )
        self.written += len(self._games)
        self._games, self._moves = [], 0
        return shard
