"""Beliefs as increasing numbers of boards of a layer: splitting them, and following them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels.belief_leaves import kernel

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Values = NDArray[np.float64]


@kernel
def group(labels: Numbers, chosen: Numbers, ends: Numbers, out: Numbers) -> None:
    """Sort boards by their labels, keeping their order within each.

    Args:
      labels: (n,) of all boards of the layer, from 0 on.
      chosen: (m,) the belief.
      ends: (labels,) zeros; written: where each label's boards end.
      out: (m,) written.
    """
    for i in chosen:
        ends[labels[i]] += 1
    at = 0
    for label in range(len(ends)):
        count = ends[label]
        ends[label] = at
        at += count
    for i in chosen:
        label = labels[i]
        out[ends[label]] = i
        ends[label] += 1


@kernel
def least(column: Values, chosen: Numbers, missing: Numbers) -> tuple[float, int, int]:
    """Return the least known value of a belief's boards, whose it is, and how many have none.

    Args:
      column: (n,) values of the layer's boards, not-a-number where none is known.
      missing: (m,) written: the boards without one.
    """
    worst, which, lacking = np.inf, -1, 0
    for i in chosen:
        value = column[i]
        if np.isnan(value):
            missing[lacking] = i
            lacking += 1
        elif value < worst:
            worst, which = value, i
    return worst, which, lacking


@kernel
def mark_after(starts: Numbers, after: Numbers, chosen: Numbers, marks: Flags) -> None:
    """Mark what the boards of a belief may become.

    Args:
      starts, after: (n + 1,), (starts[n],) of each board the numbers of what follows; negative
        ones are none.
      marks: (numbers,) written where true.
    """
    for i in chosen:
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0:
                marks[after[at]] = True


@kernel
def find_sources(
    starts: Numbers, after: Numbers, chosen: Numbers, wanted: Flags, count: int, out: Numbers
) -> int:
    """Write boards that lead to all that is wanted, the first of the belief; return their number.

    Args:
      starts, after: as in `mark_after`.
      chosen: (m,) the belief, the boards to be preferred first.
      wanted, count: (numbers,) what must be led to, and how many that are; marks are used up.
      out: (m,) written.
    """
    found = 0
    for i in chosen:
        useful = False
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0 and wanted[after[at]]:
                wanted[after[at]] = False
                useful = True
                count -= 1
        if useful:
            out[found] = i
            found += 1
        if count == 0:
            break
    return found


@kernel
def all_after(starts: Numbers, after: Numbers, solved: Flags, out: Flags) -> None:
    """Write of each board whether all that follows is solved: (n,)."""
    for i in range(len(starts) - 1):
        every = True
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0 and not solved[after[at]]:
                every = False
                break
        out[i] = every
