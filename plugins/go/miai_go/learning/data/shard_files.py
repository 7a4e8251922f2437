"""Shards on disk, for any kind of data set: folders of memory-mapped columns with a manifest.

A set is a folder of shards, numbered from 000000 on. A shard is written into a folder with a hidden
name, synced to disk and renamed, so that readers only see whole ones. One process writes a set at a
time; any number read it. Nothing is unpickled, and files that disagree with their manifest are
refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.errors import ParameterError
from miai.files import atomic_file, locked, reading, sync_folder, write_text, writing
from miai.parameters import StrictModel, build_parameters
from miai_go.errors import DataError

Columns = Mapping[str, NDArray[Any]]

MANIFEST: Final = "manifest.json"
_SHARD_NAME: Final = re.compile(r"[0-9]{6}")
_UNREADABLE = (ValueError, EOFError, SyntaxError, MemoryError, OverflowError, TypeError)
LOCK: Final = ".lock"
"""File that a process which writes to a folder has locked; it stays behind."""
_UNFINISHED: Final = ".unfinished-"
_MAX_MANIFEST_BYTES: Final = 4 * 1024**2


@dataclass(frozen=True, slots=True)
class ShardColumn:
    """Layout of a column.

    Attributes:
      dtype: as numpy writes it, byte order included.
      per: what a row belongs to; the data set's own word.
      width: entries of a row: a number, 0 for no second axis, or the data set's word for a number
        that depends on the manifest.
      optional: whether a shard may lack it.
    """

    dtype: str
    per: str
    width: int | str = 0
    optional: bool = False


class ColumnFile(StrictModel):
    """Manifest entry for the file of one column, ``NAME.npy``."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class ShardManifest(StrictModel):
    """Fields that every shard's manifest has.

    Attributes:
      format, version: of the shard.
      settings: how the set was made, plain data.
      columns: files by column name.
    """

    format: str
    version: int
    settings: dict[str, Any]
    columns: dict[str, ColumnFile]


M = TypeVar("M", bound=ShardManifest)


@dataclass(frozen=True, kw_only=True)
class ShardFormat(Generic[M]):
    """A kind of shard: its columns, its manifest, and reading and writing both.

    Attributes:
      name, version: format and version that the manifest states.
      manifest: model of the manifest.
      columns: layouts by name.
      shape: expected shape of a column, computed from the manifest.
      remedy: what to do about a shard that is damaged or of another version.
    """

    name: str
    version: int
    manifest: type[M]
    columns: Mapping[str, ShardColumn]
    shape: Callable[[M, ShardColumn], tuple[int, ...]]
    remedy: str

    def read_manifest(self, folder: Path) -> M:
        """Return the manifest of a shard, checked against the declared columns.

        Raises:
          DataError: it is missing, damaged or of another format.
        """
        path = folder / MANIFEST
        with reading(path, DataError, remedy=self.remedy), path.open("rb") as file:
            # One byte more tells a file that is too long without reading all of it.
            data = file.read(_MAX_MANIFEST_BYTES + 1)
        if len(data) > _MAX_MANIFEST_BYTES:
            raise DataError(f"{path}: larger than {_MAX_MANIFEST_BYTES} bytes; {self.remedy}")
        try:
            values = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: not valid JSON: {error}; {self.remedy}") from error
        if not isinstance(values, dict):
            raise DataError(f"{path}: not a manifest of a shard; {self.remedy}")
        for name, expected in (("format", self.name), ("version", self.version)):
            if values.get(name) != expected:
                actual = str(values.get(name))[:40]
                raise DataError(f"{path}: {name} is {actual!r}, not {expected!r}; {self.remedy}")
        try:
            manifest = build_parameters(self.manifest, values, where=str(path))
        except ParameterError as error:
            raise DataError(f"{error}; {self.remedy}") from error
        self._check_columns(path, manifest)
        return manifest

    def open(self, folder: Path, *, verify: bool = True) -> tuple[M, dict[str, NDArray[Any]]]:
        """Return the manifest of a shard and its columns, read-only and memory-mapped.

        Args:
          verify: whether the files' SHA-256 digests are compared with the manifest's.

        Raises:
          DataError: the shard is damaged or of another format.
        """
        manifest = self.read_manifest(folder)
        files = manifest.columns
        return manifest, {
            name: self._load(folder / f"{name}.npy", files[name], verify=verify)
            for name in self.columns
            if name in files
        }

    def write(self, folder: Path, number: int, columns: Columns, fields: Mapping[str, Any]) -> Path:
        """Write a shard of a set, whole or not at all; return its folder.

        Args:
          fields: manifest fields other than format, version and columns.

        Raises:
          DataError: the shard cannot be written.
        """
        draft = folder / f"{_UNFINISHED}{os.getpid()}"
        try:
            draft.mkdir()
            files = {name: self._save(draft, name, values) for name, values in columns.items()}
            head = {"format": self.name, "version": self.version}
            text = json.dumps({**head, **fields, "columns": files}, indent=1)
            write_text(draft / MANIFEST, text)
            shard = folder / f"{number:06}"
            # The rename shows the whole shard at once; syncing the folder keeps it after a power
            # failure.
            draft.rename(shard)
            sync_folder(folder)
        except OSError as error:
            raise DataError(
                f"{folder}: a shard cannot be written: {error.strerror}; earlier shards are whole"
            ) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return shard

    def _save(self, draft: Path, name: str, values: NDArray[Any]) -> dict[str, Any]:
        path = draft / f"{name}.npy"
        with atomic_file(path) as file:
            np.save(file, values, allow_pickle=False)
        return {
            "dtype": self.columns[name].dtype,
            "shape": list(values.shape),
            "sha256": digest_of(path),
        }

    def _check_columns(self, path: Path, manifest: M) -> None:
        names = set(manifest.columns)
        required = {name for name, column in self.columns.items() if not column.optional}
        if wrong := (names - set(self.columns)) | (required - names):
            listed = ", ".join(sorted(wrong))
            raise DataError(f"{path}: unknown or missing columns: {listed}; {self.remedy}")
        for name, file in manifest.columns.items():
            column = self.columns[name]
            shape = self.shape(manifest, column)
            if file.dtype != column.dtype or file.shape != shape:
                raise DataError(
                    f"{path}: column {name} is {file.dtype} {file.shape}, not {column.dtype} "
                    f"{shape}; {self.remedy}"
                )

    def _load(self, path: Path, file: ColumnFile, *, verify: bool) -> NDArray[Any]:
        with reading(path, DataError):
            # The digest first: nothing of a file that was changed is parsed.
            if verify and digest_of(path) != file.sha256:
                raise DataError(f"{path}: is not what its manifest says; {self.remedy}")
            # An empty array cannot be mapped.
            mode: Any = None if 0 in file.shape else "r"
            try:
                array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
            except _UNREADABLE as error:
                raise DataError(f"{path}: is damaged: {error}; {self.remedy}") from error
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            raise DataError(f"{path}: not a plain array; {self.remedy}")
        contiguous = array.flags.c_contiguous
        if array.dtype.str != file.dtype or array.shape != file.shape or not contiguous:
            raise DataError(
                f"{path}: is {array.dtype.str} {array.shape}, but the manifest says {file.dtype} "
                f"{file.shape}; {self.remedy}"
            )
        array.flags.writeable = False
        return array


def numbered_folders(folder: Path) -> list[Path]:
    """Return the shards of a set, in order. Raises `DataError` if the set cannot be read."""
    with reading(folder, DataError):
        return sorted(child for child in folder.iterdir() if _SHARD_NAME.fullmatch(child.name))


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make a folder for games, and keep other processes from writing there while the block runs.

    Raises:
      DataError: another process writes there, or the folder cannot be written.
    """
    busy = DataError(
        f"{folder}: another process is writing games there; wait for it, or use another --out"
    )
    with ExitStack() as lock:
        with writing(folder, DataError):
            folder.mkdir(parents=True, exist_ok=True)
            lock.enter_context(locked(folder / LOCK, busy))
        yield


@contextmanager
def locked_set(folder: Path) -> Iterator[None]:
    """Lock the folder of a set, as `locked_folder` does, and remove what killed writers left.

    Raises:
      DataError: the folder is itself a shard, another process writes there, or it cannot be
        written.
    """
    with writing(folder, DataError):
        if (folder / MANIFEST).is_file():
            raise DataError(f"{folder}: is a shard itself; name the set that contains it")
    with locked_folder(folder):
        with writing(folder, DataError):
            for leftover in folder.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(leftover)
        yield


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
