"""Shards: folders of memory-mapped columns with a manifest, and sets of them.

A set is a folder of shards that are numbered from 000000 on, all of one board size. What stands in
the manifest is checked against the files' own headers; what does not agree is refused.

The columns of a shard: what they hold, their dtypes and shapes, and making them from games.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.errors import ParameterError
from miai.parameters import StrictModel, build_parameters
from miai_go.errors import DataError
from miai_go.learning.games import NAME_BYTES, UNKNOWN, StoredGame
from miai_go.rules.parameters import MAX_SIZE

Per = Literal["move", "game", "offset"]
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds.

    Attributes:
      dtype: as numpy writes it, byte order included.
      per: one entry for each move, for each game, or one more than games.
      width: entries of a row: "points", "actions", a number, or 0 for no second axis.
      optional: whether a shard may lack it.
    """

    dtype: str
    per: Per
    width: int | Literal["points", "actions"] = 0
    optional: bool = False

    def shape(self, *, size: int, games: int, moves: int) -> tuple[int, ...]:
        """Return the shape in a shard."""
        rows = {"move": moves, "game": games, "offset": games + 1}[self.per]
        widths = {"points": size * size, "actions": size * size + 1}
        width = widths[self.width] if isinstance(self.width, str) else self.width
        return (rows, width) if width else (rows,)


COLUMNS: Final[Mapping[str, Column]] = {
    "moves": Column("<i2", "move"),
    "offsets": Column("<i8", "offset"),
    "result": Column("|i1", "game"),
    "margin": Column("<f4", "game"),
    "half_komi": Column("<i2", "game"),
    "names": Column("|u1", "game", NAME_BYTES),
    "ratings": Column("<f4", "game", 2),
    "stones": Column("|i1", "game", "points", optional=True),
    "first": Column("|i1", "game", optional=True),
    "policy": Column("<f2", "move", "actions", optional=True),
    "weight": Column("<f2", "move", optional=True),
    "root_value": Column("<f2", "move", optional=True),
    "ownership": Column("|i1", "game", "points", optional=True),
}
"""The columns; what they hold is told at `miai_go.learning.games.StoredGame`.

`moves` has all moves of all games one after another; those of game g begin at `offsets[g]`."""


def columns_of(games: Sequence[StoredGame]) -> dict[str, NDArray[Any]]:
    """Return the columns of some games, at least one, all of one size.

    An optional column is there where any of the games has it. Then the others' rows are: no stones,
    Black first, policy targets of weight 0, unknown root values (nan) and no owners (0).

    Raises:
      DataError: the sizes differ, or an array of a game has not the shape that it must have.
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
        values = np.zeros(column.shape(size=size, games=len(games), moves=moves), column.dtype)
        if name == "root_value":
            values[:] = np.nan
        for g, game in enumerate(games):
            given = getattr(game, name)
            if given is not None:
                values[g if column.per == "game" else slice(offsets[g], offsets[g + 1])] = given
        columns[name] = values
    if "policy" in columns:
        _weigh(columns, games)


def _weigh(columns: dict[str, NDArray[Any]], games: Sequence[StoredGame]) -> None:
    """Give moves with a policy target the weight 1 where none was told, those without 0."""
    weight = columns.setdefault("weight", np.zeros(len(columns["moves"]), np.float16))
    offsets = columns["offsets"]
    for g, game in enumerate(games):
        here = slice(offsets[g], offsets[g + 1])
        if game.policy is None:
            weight[here] = 0
        elif game.weight is None:
            weight[here] = 1


def _check(game: StoredGame, size: int) -> None:
    if game.size != size:
        raise DataError(f"a {game.size}x{game.size} game among games of {size}x{size}")
    if game.result not in (-1, 0, 1, UNKNOWN) or game.first not in (1, 2):
        raise DataError(f"a game with result {game.result} and first player {game.first}")
    for name in ("moves", "stones", "ownership", "policy", "weight", "root_value"):
        given = getattr(game, name)
        shape = COLUMNS[name].shape(size=size, games=1, moves=len(game.moves))
        wanted = shape[1:] if COLUMNS[name].per == "game" else shape
        if given is not None and given.shape != wanted:
            raise DataError(f"{name} of a game has shape {given.shape}, not {wanted}")


FORMAT: Final = "miai-go-shard"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
SHARD_NAME: Final = re.compile(r"[0-9]{6}")

_MOST_MANIFEST_BYTES: Final = 4 * 1024**2


class ColumnFile(StrictModel):
    """What a manifest says of the file of one column, which is called ``column.npy``."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Manifest(StrictModel):
    """What a shard says of itself.

    Attributes:
      format, version: of the shard.
      size: points on a side.
      games, moves: how many it has.
      sources: names of what the games were taken from.
      settings: what decided which games were taken, or how they were made.
      columns: the files.
    """

    format: str
    version: int
    size: int = Field(ge=1, le=MAX_SIZE)
    games: int = Field(ge=1)
    moves: int = Field(ge=0)
    sources: tuple[str, ...]
    settings: dict[str, Any]
    columns: dict[str, ColumnFile]


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """The columns of some games.

    Attributes:
      size: points on a side.
      columns: arrays by name, see `miai_go.learning.shards.COLUMNS`; memory-mapped where the
      shard is
        a folder.
      manifest: of the folder; None for games in memory.
      folder: None for games in memory.
    """

    size: int
    columns: Columns
    manifest: Manifest | None = None
    folder: Path | None = None

    @classmethod
    def of(cls, games: list[StoredGame]) -> Self:
        """Return some games in memory, at least one. Raises `DataError` as `columns_of` does."""
        return cls(games[0].size, columns_of(games))

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True) -> Self:
        """Return the shard in a folder.

        Args:
          verify: whether the files are read once, to compare their digests with the manifest's.

        Raises:
          DataError: it is damaged, of another version, or no shard.
        """
        manifest = read_manifest(folder)
        columns = {name: _load(folder, name, manifest, verify=verify) for name in manifest.columns}
        _check_contents(folder, columns)
        return cls(manifest.size, columns, manifest, folder)

    @property
    def games(self) -> int:
        """How many games there are."""
        return len(self.columns["result"])

    def lengths(self) -> NDArray[np.int64]:
        """Return how many moves each game has."""
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


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a shard. Raises `DataError`."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_MANIFEST_BYTES + 1)
        if len(data) > _MOST_MANIFEST_BYTES:
            raise DataError(f"{path}: is larger than {_MOST_MANIFEST_BYTES} bytes; import again")
        values = json.loads(data)
        if not isinstance(values, dict):
            raise DataError(f"{path}: is no manifest of a shard; import again")
        for name, wanted in (("format", FORMAT), ("version", VERSION)):
            if values.get(name) != wanted:
                raise DataError(
                    f"{path}: {name} is {str(values.get(name))[:40]!r}, not {wanted!r}; import the "
                    "games again with this version"
                )
        manifest = build_parameters(Manifest, values, where=str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; it is no shard") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is no JSON: {error}; import again") from error
    except ParameterError as error:
        raise DataError(f"{error}; import again") from error
    _check_columns(path, manifest)
    return manifest


def shard_folders(folder: Path) -> list[Path]:
    """Return the shards of a set, in order; a folder that is a shard itself is a set of one.

    Raises:
      DataError: the folder cannot be read.
    """
    if (folder / MANIFEST).is_file():
        return [folder]
    try:
        return sorted(
            child
            for child in folder.iterdir()
            if SHARD_NAME.fullmatch(child.name) and (child / MANIFEST).is_file()
        )
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error


def open_shards(folder: Path, *, verify: bool = True) -> list[Shard]:
    """Return the shards of a set, in order, at least one.

    Raises:
      DataError: there is none, one is damaged, or the board sizes differ.
    """
    shards = [Shard.open(child, verify=verify) for child in shard_folders(folder)]
    if not shards:
        raise DataError(f"{folder}: holds no shards; make some with: miai go data import")
    for shard in shards:
        if shard.size != shards[0].size:
            raise DataError(
                f"{shard.folder}: is of {shard.size}x{shard.size} boards, but the set began with "
                f"{shards[0].size}x{shards[0].size}; keep the sizes in sets of their own"
            )
    return shards


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_columns(path: Path, manifest: Manifest) -> None:
    known, given = set(COLUMNS), set(manifest.columns)
    needed = {name for name, column in COLUMNS.items() if not column.optional}
    if given - known or needed - given:
        wrong = ", ".join(sorted((given - known) | (needed - given)))
        raise DataError(f"{path}: unknown or missing columns: {wrong}; import again")
    for name, file in manifest.columns.items():
        column = COLUMNS[name]
        shape = column.shape(size=manifest.size, games=manifest.games, moves=manifest.moves)
        if file.dtype != column.dtype or file.shape != shape:
            raise DataError(
                f"{path}: column {name} is {file.dtype} {file.shape}, not {column.dtype} {shape}; "
                "import again"
            )


def _load(folder: Path, name: str, manifest: Manifest, *, verify: bool) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    told = manifest.columns[name]
    try:
        if verify and digest_of(path) != told.sha256:
            raise DataError(f"{path}: is not what its manifest says; copy or import it again")
        empty = 0 in told.shape
        array: NDArray[Any] = np.load(path, mmap_mode=None if empty else "r", allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, SyntaxError, MemoryError, OverflowError, TypeError) as error:
        raise DataError(f"{path}: is damaged: {error}; copy or import it again") from error
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        raise DataError(f"{path}: is no plain array; copy or import it again")
    if array.dtype.str != told.dtype or array.shape != told.shape or not array.flags.c_contiguous:
        raise DataError(
            f"{path}: is {array.dtype.str} {array.shape}, but the manifest says {told.dtype} "
            f"{told.shape}; copy or import it again"
        )
    array.flags.writeable = False
    return array


def _check_contents(folder: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Check what is relied on without looking again: that games lie within the moves."""
    offsets = columns["offsets"]
    fits = offsets[0] == 0 and offsets[-1] == len(columns["moves"])
    if not fits or (offsets[1:] < offsets[:-1]).any():
        raise DataError(f"{folder}: offsets.npy does not fit the moves; copy or import it again")
    if not np.isin(columns["result"], (-1, 0, 1, UNKNOWN)).all():
        raise DataError(f"{folder}: result.npy holds what is no result; copy or import it again")
