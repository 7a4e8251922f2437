"""Weights files: tensors as safetensors with a header, read strictly and written atomically.

The safetensors library lays out the tensors and checks their places. Before it sees a file, this
module refuses what weights never need: files and headers beyond a size, other dtypes, many
dimensions, unknown fields. Numbers that are not finite are refused as well. Plugins that import it
depend on `safetensors`.

A `FileHeader` is one line of JSON in a file's metadata. All kinds of weights share its digest,
history and strict reader; each adds its own fields.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError

from miai.errors import ParameterError, WeightsError
from miai.files import reading, write_bytes, writing
from miai.parameters import StrictModel, build_parameters
from miai.plain import dumps, loads

Tensors = dict[str, NDArray[Any]]

MAX_FILE_BYTES: Final = 1 << 30
MAX_JSON_BYTES: Final = 1 << 23
MAX_TENSORS: Final = 20_000
MAX_HEADER_BYTES: Final = 1 << 20
MAX_NAME: Final = 200
MAX_TEXT: Final = 4000
FORMAT_VERSION: Final = 1
_MAX_DIMENSIONS: Final = 8
_LENGTH: Final = struct.Struct("<Q")
_METADATA: Final = "__metadata__"
_DTYPES: Final = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4"), "I64": np.dtype("<i8")}


def read_metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a safetensors file without reading its tensors.

    Raises:
      WeightsError: the file cannot be read or is not a safetensors file.
    """
    return _read(path, whole=False)[1]


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Return the tensors of a file, read only, and its metadata.

    Raises:
      WeightsError: the file cannot be read, is truncated, longer than its header says or longer
        than `MAX_FILE_BYTES`, or its tensors overlap, leave gaps, have another dtype than float16,
        float32 and int64, or contain a number that is not finite.
    """
    data, metadata = _read(path, whole=True)
    try:
        tensors: Tensors = safetensors.numpy.load(data)
    except (SafetensorError, ValueError) as error:
        raise WeightsError(
            f"{path}: truncated or not what it says: its tensors do not fill the file exactly: "
            f"{error}"
        ) from None
    for name, array in tensors.items():
        _check_finite(path, name, array, "retrain it")
        array.flags.writeable = False
    return tensors, metadata


def write_tensors(path: Path, tensors: Tensors, metadata: Mapping[str, str]) -> None:
    """Write a safetensors file atomically.

    The same tensors with one metadata entry give the same bytes; the library orders entries at
    random.

    Raises:
      WeightsError: a tensor has another dtype than float16, float32 and int64 or is not finite, or
        the file cannot be written; an existing file is then unchanged.
    """
    for name, array in tensors.items():
        if array.dtype not in _DTYPES.values():
            raise WeightsError(
                f"{path}: '{name}' has dtype {array.dtype}, not float16, float32 or int64"
            )
        _check_finite(path, name, array, "not written")
    whole = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    with writing(path, WeightsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, safetensors.numpy.save(whole, dict(metadata) or None))


class TrainingRecord(StrictModel):
    """One step in the making of weights, such as a run of `miai go train sl`.

    Attributes:
      command: the command line, without paths of the machine.
      config: digest of its config, in hexadecimal; empty without one.
      data: a description of what it learned from.
      steps: optimiser steps.
      seed: seed of the run.
      date: the day it ended, as in 2026-11-21.
    """

    command: str = Field(max_length=MAX_TEXT)
    config: str = Field(default="", max_length=MAX_NAME)
    data: str = Field(default="", max_length=MAX_TEXT)
    steps: int = Field(default=0, ge=0)
    seed: int = 0
    date: str = Field(default="", max_length=MAX_NAME)


class FileHeader(StrictModel):
    """The header of a weights file, with the fields that all kinds have.

    Attributes:
      version: version of the format.
      history: the steps of training, the oldest first.
      licence: licence of the weights, as an SPDX expression; empty if unknown.
      sha256: digest of the rest of the header and of the weights, in hexadecimal; set by `write`.
    """

    KEY: ClassVar[str]
    """Name of the header in the metadata."""

    KIND: ClassVar[str]
    """The kind of weights, for messages."""

    REMEDY: ClassVar[str]
    """What to do with a file of another kind, for messages."""

    version: int = FORMAT_VERSION
    history: tuple[TrainingRecord, ...] = Field(default=(), max_length=MAX_NAME)
    licence: str = Field(default="", max_length=MAX_NAME)
    sha256: str = Field(default="", max_length=64)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the header of a file without reading the tensors.

        Raises:
          WeightsError: the file cannot be read, or is not a weights file of this kind.
        """
        return cls.of_metadata(read_metadata(Path(path)), where=str(path))

    @classmethod
    def read_all(cls, path: str | Path) -> tuple[Self, Tensors]:
        """Return the header and the tensors of a file after checking the digest.

        Raises:
          WeightsError: the file cannot be read, is not a weights file of this kind, or was changed
            after it was written.
        """
        tensors, metadata = read_tensors(Path(path))
        header = cls.of_metadata(metadata, where=str(path))
        if header.digest(tensors) != header.sha256:
            raise WeightsError(
                f"{path}: its digest does not fit its content: it was damaged or changed after it "
                "was written; copy it again"
            )
        return header, tensors

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, str], *, where: str) -> Self:
        """Return the header in a file's metadata.

        Raises:
          WeightsError: there is none, or it is too long, malformed, of another version, or has an
            unknown or wrong field.
        """
        text = metadata.get(cls.KEY)
        if text is None:
            raise WeightsError(f"{where}: has no header of {cls.KIND}; {cls.REMEDY}")
        if len(text) > MAX_HEADER_BYTES:
            raise WeightsError(f"{where}: its header exceeds {MAX_HEADER_BYTES} bytes")
        try:
            values = loads(text)
        except ValueError as error:
            raise WeightsError(f"{where}: its header is not JSON: {error}") from None
        if not isinstance(values, dict):
            raise WeightsError(f"{where}: its header is not a JSON object")
        version = values.get("version")
        if version != FORMAT_VERSION:
            raise WeightsError(
                f"{where}: weights of format version {version!r}; this miai reads version "
                f"{FORMAT_VERSION}: install the miai that wrote it"
            )
        try:
            return build_parameters(cls, values, where="header")
        except ParameterError as error:
            raise WeightsError(f"{where}: {'; '.join(str(error).splitlines())}") from None

    def write(self, path: str | Path, tensors: Tensors) -> Self:
        """Write weights and header atomically; return the header with its digest.

        Raises:
          WeightsError: the file cannot be written, or a tensor is not finite; an existing file is
            then unchanged.
        """
        signed = self.model_copy(update={"sha256": self.digest(tensors)})
        write_tensors(Path(path), tensors, {self.KEY: signed.to_json()})
        return signed

    def to_json(self) -> str:
        """Return the header as one line of JSON."""
        values = self.model_dump(mode="json")
        for name in ("history", "licence", "sha256"):  # last, as in the digests of old files
            values[name] = values.pop(name)
        return dumps(values)

    def digest(self, tensors: Tensors) -> str:
        """Return the digest of the header without its own digest, and of the weights."""
        unsigned = self.model_copy(update={"sha256": ""})
        total = hashlib.sha256(unsigned.to_json().encode("ascii"))
        for name in sorted(tensors):
            # With names and shapes: two tensors that changed places would have the same numbers.
            total.update(self._tensor_line(name, tensors[name]).encode())
            total.update(tensors[name].tobytes())
        return total.hexdigest()

    def _tensor_line(self, name: str, tensor: NDArray[Any]) -> str:
        """Return the line of a tensor in the digest, which precedes its numbers."""
        return f"\n{name} {tensor.dtype.str} {list(tensor.shape)}\n"


def _read(path: Path, *, whole: bool) -> tuple[bytes, dict[str, str]]:
    """Return the bytes of a file, or of its header alone, and its metadata; check bounds."""
    with reading(path, WeightsError), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        first = file.read(_LENGTH.size)
        if len(first) < _LENGTH.size:
            raise WeightsError(f"{path}: not a safetensors file: only {size} bytes")
        (length,) = _LENGTH.unpack(first)
        if size > MAX_FILE_BYTES:
            raise WeightsError(f"{path}: {size} bytes; the limit is {MAX_FILE_BYTES}")
        if length > min(MAX_JSON_BYTES, size - _LENGTH.size):
            raise WeightsError(
                f"{path}: not a safetensors file, or truncated: a header of {length} bytes in "
                f"a file of {size}; the limit is {MAX_JSON_BYTES}"
            )
        text = file.read(length)
        body = file.read(size) if whole else b""
    return first + text + body, _check_header(path, text)


def _check_header(path: Path, text: bytes) -> dict[str, str]:
    """Return the metadata in a header after checking the dtypes and shapes of its tensors."""
    try:
        layout = loads(text)
    except ValueError as error:
        raise WeightsError(
            f"{path}: not a safetensors file: its header is not JSON: {error}"
        ) from None
    if not isinstance(layout, dict):
        raise WeightsError(f"{path}: not a safetensors file: its header is not a JSON object")
    metadata = layout.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise WeightsError(f"{path}: not a safetensors file: its metadata are not strings")
    if len(layout) > MAX_TENSORS:
        raise WeightsError(f"{path}: {len(layout)} tensors; the limit is {MAX_TENSORS}")
    for name, entry in layout.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise WeightsError(f"{path}: '{name}' has no description of a tensor")
        if entry["dtype"] not in list(_DTYPES):
            raise WeightsError(
                f"{path}: '{name}' has dtype {entry['dtype']!r}; {', '.join(_DTYPES)} are read"
            )
        shape = entry["shape"]
        if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS:
            raise WeightsError(f"{path}: '{name}' has the shape {shape!r}")
    return metadata


def _check_finite(path: Path, name: str, array: NDArray[Any], remedy: str) -> None:
    if not np.isfinite(array).all():
        raise WeightsError(f"{path}: '{name}' contains numbers that are not finite: {remedy}")
