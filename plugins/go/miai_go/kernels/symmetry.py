"""Turning and mirroring planes and policies, each row by a symmetry of its own.

Tables map each action to its place; see `miai_go.rules.symmetry`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel


@kernel
def turn_planes(
    planes: NDArray[Any],
    symmetries: NDArray[np.uint8],
    tables: NDArray[np.int16],
    out: NDArray[Any],
) -> None:
    """Write planes, turned by each row's symmetry, into `out`.

    Args:
      planes: any dtype, of shape (rows, planes, points); a view of (rows, planes, size, size).
      symmetries: of each row, from 0 to 7.
      tables: of shape (8, points + 1), see `miai_go.rules.symmetry.point_tables`.
      out: of the shape of `planes`, without shared memory.
    """
    points = planes.shape[2]
    for row in range(planes.shape[0]):
        table = tables[symmetries[row]]
        for plane in range(planes.shape[1]):
            for action in range(points):
                out[row, plane, table[action]] = planes[row, plane, action]


@kernel
def turn_policy(
    policy: NDArray[Any],
    symmetries: NDArray[np.uint8],
    tables: NDArray[np.int16],
    out: NDArray[Any],
) -> None:
    """Write policies of shape (rows, points + 1), turned by each row's symmetry, into `out`.

    Logits, probabilities or masks, of any dtype; the pass stays last. `out` shares no memory with
    `policy`.
    """
    for row in range(policy.shape[0]):
        table = tables[symmetries[row]]
        for action in range(policy.shape[1]):
            out[row, table[action]] = policy[row, action]
