"""A data set of life and death: positions with proved answers, split so that nothing leaks.

`sources` are problems, `growing` plays on from them, `making` writes shards, `dataset` reads them,
`splits` decides what is held out, `leaks` measures how near the rest is to it.

Shards of positions: folders of memory-mapped columns with a manifest.

A set is a folder of shards, numbered from 000000 on. A shard is written into a folder with a hidden
name, brought to the disk and renamed, so that one that is there is whole.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.errors import ParameterError
from miai.files import atomic_file, sync_folder, write_text
from miai.parameters import StrictModel, build_parameters
from miai_go.errors import DataError
from miai_go.learning.life_columns import COLUMNS, Columns
from miai_go.learning.shards import digest_of

FORMAT: Final = "miai-tsumego-shard"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
_NAME: Final = re.compile(r"[0-9]{6}")
_UNFINISHED: Final = ".unfinished-"
_MOST_MANIFEST_BYTES: Final = 1 << 20
_AGAIN: Final = "copy it again, or make the set anew in another folder"


class LifeColumnFile(StrictModel):
    """What a manifest says of the file of one column, which is called ``column.npy``."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class LifeManifest(StrictModel):
    """What a shard says of itself.

    Attributes:
      format, version: of the shard.
      settings: how the set is made, plain data; the same in all shards.
      next_source: number of the first source that comes after this shard.
      columns: the files.
    """

    format: str
    version: int
    settings: dict[str, Any]
    next_source: int = Field(ge=0)
    columns: dict[str, LifeColumnFile]

    def rows(self, per: str) -> int:
        """Return how many positions, problems or links it has."""
        return next(self.columns[n].shape[0] for n, c in COLUMNS.items() if c.per == per)


def shard_folders(folder: Path) -> list[Path]:
    """Return the shards of a set, in order. Raises `DataError` where it cannot be read."""
    try:
        return sorted(p for p in folder.iterdir() if _NAME.fullmatch(p.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error


def read_manifest(folder: Path) -> LifeManifest:
    """Return the manifest of a shard. Raises `DataError`."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_MANIFEST_BYTES + 1)
        values = json.loads(data) if len(data) <= _MOST_MANIFEST_BYTES else None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise DataError(f"{path}: is no manifest of a shard of life and death; {_AGAIN}")
        if values.get("version") != VERSION:
            raise DataError(
                f"{path}: is of version {str(values.get('version'))[:40]}, not {VERSION}; {_AGAIN}"
            )
        manifest = build_parameters(LifeManifest, values, where=str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; {_AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is no JSON: {error}; {_AGAIN}") from error
    except ParameterError as error:
        raise DataError(f"{error}; {_AGAIN}") from error
    _check_columns(path, manifest)
    return manifest


def open_shard(
    folder: Path, *, verify: bool = True
) -> tuple[LifeManifest, dict[str, NDArray[Any]]]:
    """Return a shard's manifest and its columns, memory-mapped.

    Args:
      verify: whether digests are compared with the manifest's.

    Raises:
      DataError: it is damaged.
    """
    manifest = read_manifest(folder)
    columns = {name: _load(folder, name, manifest, verify=verify) for name in COLUMNS}
    return manifest, columns


def write_shard(
    folder: Path, number: int, columns: Columns, *, settings: Mapping[str, Any], next_source: int
) -> None:
    """Write a shard of a set, whole or not at all. Raises `DataError`."""
    draft = folder / f"{_UNFINISHED}{os.getpid()}"
    try:
        draft.mkdir()
        files = {name: _write(draft, name, values) for name, values in columns.items()}
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "settings": dict(settings),
            "next_source": next_source,
            "columns": files,
        }
        write_text(draft / MANIFEST, json.dumps(manifest, indent=1))
        draft.rename(folder / f"{number:06}")
        sync_folder(folder)
    except OSError as error:
        raise DataError(
            f"{folder}: a shard cannot be written: {error.strerror}; those before it are whole"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def prepare_folder(folder: Path) -> None:
    """Make the folder of a set, and remove what a killed run left. Raises `DataError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}") from error


def _write(draft: Path, name: str, values: NDArray[Any]) -> dict[str, Any]:
    path = draft / f"{name}.npy"
    with atomic_file(path) as file:
        np.save(file, values, allow_pickle=False)
    return {"dtype": values.dtype.str, "shape": list(values.shape), "sha256": digest_of(path)}


def _check_columns(path: Path, manifest: LifeManifest) -> None:
    if set(manifest.columns) != set(COLUMNS):
        wrong = ", ".join(sorted(set(manifest.columns) ^ set(COLUMNS)))
        raise DataError(f"{path}: unknown or missing columns: {wrong}; {_AGAIN}")
    for name, column in COLUMNS.items():
        told = manifest.columns[name]
        rows = manifest.rows(column.per) if told.shape else -1
        shape = (rows, column.width) if column.width else (rows,)
        if told.dtype != column.dtype or told.shape != shape:
            raise DataError(
                f"{path}: column {name} is {told.dtype} {told.shape}, not {column.dtype} {shape}; "
                f"{_AGAIN}"
            )


def _load(folder: Path, name: str, manifest: LifeManifest, *, verify: bool) -> NDArray[Any]:
    path, told = folder / f"{name}.npy", manifest.columns[name]
    try:
        if verify and digest_of(path) != told.sha256:
            raise DataError(f"{path}: is not what its manifest says; {_AGAIN}")
        mode: Any = None if 0 in told.shape else "r"
        array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, SyntaxError, MemoryError, OverflowError, TypeError) as error:
        raise DataError(f"{path}: is damaged: {error}; {_AGAIN}") from error
    fits = isinstance(array, np.ndarray) and not array.dtype.hasobject
    if not fits or array.dtype.str != told.dtype or array.shape != told.shape:
        raise DataError(f"{path}: is not of the shape that its manifest says; {_AGAIN}")
    return array
