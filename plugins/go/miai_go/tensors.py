"""Strict reading and atomic writing of safetensors files from anybody.

The library lays out and checks where tensors are. What it allows and weights never need is refused
here, before it sees the file: files and headers beyond a size, other dtypes, many dimensions,
unknown fields. Numbers that are not finite are refused as well.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from miai.files import write_bytes
from miai.plain import loads
from miai_go.errors import WeightsError

Tensors = dict[str, NDArray[Any]]

MAX_FILE_BYTES: Final = 1 << 30
MAX_JSON_BYTES: Final = 1 << 23
MAX_TENSORS: Final = 20_000
_MAX_DIMENSIONS: Final = 8
_LENGTH: Final = struct.Struct("<Q")
_METADATA: Final = "__metadata__"
_DTYPES: Final = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}


def read_metadata(path: Path) -> dict[str, str]:
    """Return the texts that a safetensors file carries beside its tensors, without reading these.

    Raises:
      WeightsError: the file cannot be read or is not a safetensors file.
    """
    return _read(path, whole=False)[1]


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Return the tensors of a file, read only, and its texts.

    Raises:
      WeightsError: the file cannot be read, is truncated, longer than its header says or longer
        than `MAX_FILE_BYTES`, or its tensors overlap, leave gaps, have another dtype than float32
        and int64, or contain a number that is not finite.
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

    The same tensors and a single text give the same bytes; the library orders texts at random.

    Raises:
      WeightsError: a tensor has another dtype than float32 and int64 or is not finite, or the file
        cannot be written; what was at `path` is then unchanged.
    """
    for name, array in tensors.items():
        if array.dtype not in _DTYPES.values():
            raise WeightsError(f"{path}: '{name}' has dtype {array.dtype}, which is not written")
        _check_finite(path, name, array, "not written")
    whole = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, safetensors.numpy.save(whole, dict(metadata) or None))
    except OSError as error:
        raise WeightsError(f"{path}: cannot be written: {error.strerror}") from error


def _read(path: Path, *, whole: bool) -> tuple[bytes, dict[str, str]]:
    """Return the bytes of a file, or of its header alone, and its texts, bounds checked."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(_LENGTH.size)
            if len(first) < _LENGTH.size:
                raise WeightsError(f"{path}: not a safetensors file: only {size} bytes")
            (length,) = _LENGTH.unpack(first)
            if size > MAX_FILE_BYTES:
                raise WeightsError(f"{path}: {size} bytes; more than {MAX_FILE_BYTES} are refused")
            if length > min(MAX_JSON_BYTES, size - _LENGTH.size):
                raise WeightsError(
                    f"{path}: not a safetensors file, or truncated: a header of {length} bytes in "
                    f"a file of {size}; at most {MAX_JSON_BYTES} are read"
                )
            text = file.read(length)
            body = file.read(size) if whole else b""
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror}") from error
    return first + text + body, _check_header(path, text)


def _check_header(path: Path, text: bytes) -> dict[str, str]:
    """Return the texts in a header whose tensors are all of kinds that are read."""
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
        raise WeightsError(f"{path}: not a safetensors file: its metadata are not texts")
    if len(layout) > MAX_TENSORS:
        raise WeightsError(f"{path}: {len(layout)} tensors; more than {MAX_TENSORS} are refused")
    for name, entry in layout.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise WeightsError(f"{path}: '{name}' is not described as a tensor is")
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
