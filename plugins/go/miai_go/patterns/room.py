"""Work space and constants of the pattern kernels."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.compiled import make_room
from miai_go.kernels import patterns as kernels
from miai_go.kernels.patterns import NEAR, OFFSETS, RINGS, SIDE, STATES, Room

_KEY_SEED = 20070601
"""Of the hash keys; weights fit no other."""
_COLOR_OF = (0, 1, 1, 1, 2, 2, 2, 3)


def pattern_room(size: int) -> Room:
    """Return what the kernels need on boards of one size."""
    masks, counts, roots, grid = make_room(size)
    width = size + 2 * kernels.MARGIN
    actions = size * size + 1
    return Room(
        masks=masks,
        counts=counts,
        roots=roots,
        grid=grid,
        codes=np.full(width * width, STATES - 1, np.uint8),
        steps=np.array([row * width + column for row, column in OFFSETS], np.int32),
        keys=pattern_keys(),
        hashes=np.zeros(24, np.uint32),
        moves=np.zeros(actions, np.int32),
        scores=np.zeros(actions, np.float32),
        features=np.zeros(actions * kernels.FAMILIES, np.int32),
    )


@cache
def pattern_keys() -> NDArray[np.uint32]:
    """Return the hash keys, laid out as `miai_go.kernels.patterns.Room` tells.

    The key of a point under symmetry g is the plain key of where g takes it, so that turning the
    board permutes the eight hashes.
    """
    rng = np.random.Generator(np.random.PCG64(_KEY_SEED))
    index = {offset: k for k, offset in enumerate(OFFSETS)}
    plain = rng.integers(1 << 32, size=(len(OFFSETS), STATES), dtype=np.uint32)
    far = RINGS[0]
    plain[far:] = plain[far:, :4][:, _COLOR_OF]
    patterns = np.empty((len(OFFSETS), STATES, 8), np.uint32)
    for k, offset in enumerate(OFFSETS):
        for g in range(8):
            patterns[k, :, g] = plain[index[_turned(offset, g)]]
    where = rng.integers(1 << 32, size=(kernels.PLACES, SIDE, SIDE), dtype=np.uint32)
    places = np.empty((kernels.PLACES, SIDE, SIDE, 8), np.uint32)
    for row in range(SIDE):
        for column in range(SIDE):
            for g in range(8):
                r, c = _turned((row - NEAR, column - NEAR), g)
                places[:, row, column, g] = where[:, r + NEAR, c + NEAR]
    keys = np.concatenate([patterns.ravel(), places.ravel()])
    keys.flags.writeable = True
    return keys


def _turned(offset: tuple[int, int], symmetry: int) -> tuple[int, int]:
    """Return an offset turned by `symmetry % 4` quarters, mirrored from 4 on."""
    row, column = offset
    for _ in range(symmetry % 4):
        row, column = column, -row
    return (row, -column) if symmetry >= 4 else (row, column)
