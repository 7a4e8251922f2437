"""Strict reading and atomic writing of safetensors files, without torch and without trust.

The format: eight bytes of length, little-endian; a JSON object of that length that names the
tensors with dtype, shape and place, and may hold texts under ``__metadata__``; then their bytes.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai.files import write_bytes
from miai.plain import dumps, loads
from miai_go.errors import WeightsError

Tensors = dict[str, NDArray[Any]]

MAX_FILE_BYTES: Final = 1 << 30
MAX_JSON_BYTES: Final = 1 << 23
MAX_TENSORS: Final = 20_000
_MAX_DIMENSIONS: Final = 8
_LENGTH: Final = struct.Struct("<Q")
_ALIGNMENT: Final = 8
_METADATA: Final = "__metadata__"
_DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}


def read_metadata(path: Path) -> dict[str, str]:
    """Return the texts that a safetensors file carries beside its tensors, read alone.

    Raises:
      WeightsError: it cannot be read or is no such file.
    """
    layout, _start = _layout(path)
    return _metadata(layout, path)


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Return the tensors of a file, read only, and its texts.

    Raises:
      WeightsError: it cannot be read, is truncated, longer than it says or longer than
        `MAX_FILE_BYTES`, or its tensors overlap, leave gaps, are of another dtype than float32
        and int64, or hold a number that is not finite.
    """
    layout, start = _layout(path)
    metadata = _metadata(layout, path)
    layout.pop(_METADATA, None)
    if len(layout) > MAX_TENSORS:
        raise WeightsError(f"{path}: {len(layout)} tensors; more than {MAX_TENSORS} are refused")
    places = [_place(name, entry, path) for name, entry in layout.items()]
    _check_places(places, path.stat().st_size - start, path)
    data = _read(path, start, sum(end - begin for _n, _d, _s, begin, end in places))
    tensors: Tensors = {}
    for name, dtype, shape, begin, end in places:
        array: NDArray[Any] = np.frombuffer(data[begin:end], dtype).reshape(shape)
        if not np.isfinite(array).all():
            raise WeightsError(f"{path}: '{name}' holds numbers that are not finite; retrain it")
        tensors[name] = array
    return tensors, metadata


def write_tensors(path: Path, tensors: Tensors, metadata: Mapping[str, str]) -> None:
    """Write a safetensors file, whole or not at all.

    Raises:
      WeightsError: a tensor is of another dtype than float32 and int64 or is not finite, or the
        file cannot be written; what was at `path` is then as it was.
    """
    layout: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    offset = 0
    for name, array in tensors.items():
        if array.dtype not in _NAMES:
            raise WeightsError(f"{path}: '{name}' is of dtype {array.dtype}, which is not written")
        if not np.isfinite(array).all():
            raise WeightsError(f"{path}: '{name}' holds numbers that are not finite: not written")
        end = offset + array.nbytes
        layout[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = dumps(layout).encode("ascii")
    text += b" " * (-len(text) % _ALIGNMENT)
    pieces = [_LENGTH.pack(len(text)), text, *(array.tobytes() for array in tensors.values())]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, *pieces)
    except OSError as error:
        raise WeightsError(f"{path}: cannot be written: {error.strerror}") from error


Place = tuple[str, "np.dtype[Any]", tuple[int, ...], int, int]


def _layout(path: Path) -> tuple[dict[str, Any], int]:
    """Return the JSON object of a file, and where the tensors begin."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(_LENGTH.size)
            if len(first) < _LENGTH.size:
                raise WeightsError(f"{path}: {size} bytes are no safetensors file")
            (length,) = _LENGTH.unpack(first)
            if size > MAX_FILE_BYTES:
                raise WeightsError(f"{path}: {size} bytes; more than {MAX_FILE_BYTES} are refused")
            if length > min(MAX_JSON_BYTES, size - _LENGTH.size):
                raise WeightsError(
                    f"{path}: no safetensors file, or a truncated one: a header of {length} bytes "
                    f"in a file of {size}; at most {MAX_JSON_BYTES} are read"
                )
            text = file.read(length)
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        layout = loads(text)
    except ValueError as error:
        raise WeightsError(f"{path}: no safetensors file: its header is no JSON: {error}") from None
    if not isinstance(layout, dict):
        raise WeightsError(f"{path}: no safetensors file: its header is no JSON object")
    return layout, _LENGTH.size + length


def _metadata(layout: Mapping[str, Any], path: Path) -> dict[str, str]:
    metadata = layout.get(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise WeightsError(f"{path}: no safetensors file: its metadata are no texts")
    return dict(metadata)


def _place(name: str, entry: object, path: Path) -> Place:
    """Return name, dtype, shape, begin and end of one tensor, checked against each other."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise WeightsError(f"{path}: '{name}' is not described as a tensor is")
    dtype = _DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise WeightsError(
            f"{path}: '{name}' is of dtype {entry['dtype']!r}; {', '.join(_DTYPES)} are read"
        )
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not (_are_sizes(shape) and len(shape) <= _MAX_DIMENSIONS and _are_sizes(offsets)):
        raise WeightsError(f"{path}: '{name}' has the shape {shape!r} at {offsets!r}")
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise WeightsError(
            f"{path}: '{name}' of shape {shape} does not fit into its place {offsets}"
        )
    return name, dtype, tuple(shape), offsets[0], offsets[1]


def _are_sizes(numbers: object) -> bool:
    """Return whether it is a list of numbers that a file of allowed length can have."""
    return isinstance(numbers, list) and all(
        type(number) is int and 0 <= number <= MAX_FILE_BYTES for number in numbers
    )


def _check_places(places: list[Place], available: int, path: Path) -> None:
    """Raise where tensors overlap or leave gaps, or the file has more or fewer bytes than said."""
    offset = 0
    for name, _dtype, _shape, begin, end in sorted(places, key=lambda place: place[3:]):
        if begin != offset:
            raise WeightsError(f"{path}: '{name}' overlaps another tensor or leaves a gap")
        offset = end
    if offset != available:
        raise WeightsError(
            f"{path}: {available} bytes of tensors where the header tells of {offset}: "
            f"{'truncated; copy it again' if available < offset else 'not what it says'}"
        )


def _read(path: Path, start: int, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(length)
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) != length:
        raise WeightsError(f"{path}: changed while it was read; read it again")
    return data
