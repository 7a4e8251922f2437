"""The eight symmetries of a square board.

Symmetry `s` mirrors the rows if bit 0 of `s` is set, then the columns if bit 1 is, then exchanges
rows and columns if bit 2 is. 0 is the identity. The pass stays the pass.

>>> [int(point_tables(9)[s, 1]) for s in range(8)]
[1, 73, 7, 79, 9, 17, 63, 71]
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import symmetry as kernels
from miai_go.rules.coordinates import SYMMETRIES

INVERSES: Final[tuple[int, ...]] = (0, 1, 2, 3, 4, 6, 5, 7)
"""The inverse of each symmetry."""


@cache
def point_tables(size: int) -> NDArray[np.int16]:
    """Return int16 of shape (8, size * size + 1): [s, a] is the action that `a` becomes under `s`.

    The table is shared and read-only.
    """
    tables = np.empty((SYMMETRIES, size * size + 1), np.int16)
    row, column = np.divmod(np.arange(size * size), size)
    for s in range(SYMMETRIES):
        to_row = size - 1 - row if s & 1 else row
        to_column = size - 1 - column if s & 2 else column
        tables[s, :-1] = to_column * size + to_row if s & 4 else to_row * size + to_column
        tables[s, -1] = size * size
    # Shared by all callers through the cache.
    tables.flags.writeable = False
    return tables


def turned_cells(cells: Iterable[tuple[int, int]], symmetry: int) -> list[tuple[int, int]]:
    """Return cells (row, column) under a symmetry, shifted to the lowest rows and columns."""
    images = [(-r if symmetry & 1 else r, -c if symmetry & 2 else c) for r, c in cells]
    if symmetry & 4:
        images = [(c, r) for r, c in images]
    low, left = min(r for r, _ in images), min(c for _, c in images)
    return [(r - low, c - left) for r, c in images]


def inverse(symmetries: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the inverse of each symmetry."""
    return np.array(INVERSES, np.uint8)[symmetries]


def turned_planes(planes: NDArray[Any], symmetries: NDArray[np.uint8]) -> NDArray[Any]:
    """Return planes of shape (rows, planes, size, size), each row turned by its symmetry."""
    rows, count, size, _ = planes.shape
    out = np.empty_like(planes, order="C")
    flat = np.ascontiguousarray(planes).reshape(rows, count, size * size)
    kernels.turn_planes(flat, symmetries, point_tables(size), out.reshape(flat.shape))
    return out


def turned_policy(policy: NDArray[Any], symmetries: NDArray[np.uint8]) -> NDArray[Any]:
    """Return policies of shape (rows, size * size + 1), each row turned by its symmetry."""
    size = round((policy.shape[1] - 1) ** 0.5)
    out = np.empty_like(policy, order="C")
    kernels.turn_policy(np.ascontiguousarray(policy), symmetries, point_tables(size), out)
    return out
