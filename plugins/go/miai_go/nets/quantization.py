"""Weights of few bits: integers and one scale for each row, packed into words.

A row is what makes one unit or channel. Its scale is the one of several that loses least, in
squares, when the weights are rounded to whole multiples of it. Tensors of one dimension (biases,
norms) keep 32 bits: they are few.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import WeightsError
from miai_go.tensors import Tensors

WHOLE: Final = 32
BITS: Final = (8, 7, 6, 5, 4, 3, 2)
_PACKED, _SCALES, _SHAPE = ".packed", ".scales", ".shape"
_TRIED: Final = np.linspace(0.4, 1.0, 25)
_MOST_ENTRIES: Final = 1 << 28


def packed_tensors(tensors: Tensors, bits: int) -> Tensors:
    """Return what is written: tensors of two dimensions and more as packed integers and scales."""
    out: Tensors = {}
    for name, array in tensors.items():
        if bits == WHOLE or array.ndim < 2:
            out[name] = array
            continue
        whole, scales = quantize(array.reshape(len(array), -1), bits)
        out[name + _PACKED] = pack(whole, bits)
        out[name + _SCALES] = scales
        out[name + _SHAPE] = np.array(array.shape, np.int64)
    return out


def unpacked_tensors(stored: Tensors, bits: int, *, where: str) -> dict[str, NDArray[Any]]:
    """Return the tensors that `packed_tensors` was given, rounded.

    Raises:
      WeightsError: parts are missing or do not fit together.
    """
    if bits == WHOLE:
        return dict(stored)
    out: dict[str, NDArray[Any]] = {}
    for name, array in stored.items():
        base, _, part = name.rpartition(".")
        if f".{part}" == _PACKED:
            out[base] = _unpacked(stored, base, bits, where)
        elif f".{part}" not in (_SCALES, _SHAPE):
            out[name] = array
        elif base + _PACKED not in stored:
            raise WeightsError(f"{where}: '{name}' belongs to nothing")
    return out


def quantize(rows: NDArray[Any], bits: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return whole numbers and a scale a row whose product is near the rows.

    Args:
      rows: of shape (rows, columns).
      bits: from 2 to 8; the numbers are from -2 ** (bits - 1) + 1 to 2 ** (bits - 1) - 1.
    """
    top = (1 << (bits - 1)) - 1
    wide = rows.astype(np.float64)
    reach = np.abs(wide).max(1, keepdims=True)
    reach[reach == 0] = 1.0
    best = np.full(len(rows), np.inf)
    scales = reach[:, 0] / top
    for share in _TRIED:
        scale = reach * share / top
        error = ((np.clip(np.rint(wide / scale), -top, top) * scale - wide) ** 2).sum(1)
        better = error < best
        best[better], scales[better] = error[better], scale[better, 0]
    kept = scales.astype(np.float32)
    whole = np.clip(np.rint(wide / kept[:, None]), -top, top).astype(np.int64)
    return whole, kept


def pack(whole: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the lowest bits of numbers, one after another, as 64-bit words."""
    flat = whole.reshape(-1).astype(np.uint64)
    places = np.arange(bits, dtype=np.uint64)
    ones = (flat[:, None] >> places & np.uint64(1)).astype(np.uint8).reshape(-1)
    padded = np.zeros(-(-len(ones) // 64) * 64, np.uint8)
    padded[: len(ones)] = ones
    return np.packbits(padded, bitorder="little").view("<i8").astype(np.int64)


def unpack(words: NDArray[np.int64], count: int, bits: int) -> NDArray[np.int64]:
    """Return the numbers that `pack` was given."""
    ones = np.unpackbits(words.astype("<i8").view(np.uint8), count=count * bits, bitorder="little")
    values = (ones.reshape(count, bits).astype(np.int64) << np.arange(bits)).sum(1)
    half = 1 << (bits - 1)
    signed: NDArray[np.int64] = np.where(values >= half, values - 2 * half, values)
    return signed


def _unpacked(stored: Tensors, base: str, bits: int, where: str) -> NDArray[np.float32]:
    try:
        words, scales = stored[base + _PACKED], stored[base + _SCALES]
        shape = tuple(stored[base + _SHAPE].tolist())
    except KeyError as error:
        raise WeightsError(f"{where}: {error} is missing") from None
    whole_shape = len(shape) >= 2 and all(type(n) is int and 0 < n < _MOST_ENTRIES for n in shape)
    count = int(np.prod([float(n) for n in shape])) if whole_shape else 0
    fits = (
        0 < count < _MOST_ENTRIES
        and words.dtype == np.int64
        and words.shape == (-(-count * bits // 64),)
        and scales.dtype == np.float32
        and scales.shape == shape[:1]
    )
    if not fits:
        raise WeightsError(f"{where}: '{base}' of shape {shape} is not packed as its header says")
    rows = unpack(words, count, bits).reshape(shape[0], -1)
    return (rows * scales[:, None].astype(np.float64)).astype(np.float32).reshape(shape)
