"""Beliefs as increasing numbers of boards of a layer: splitting and following them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels import kernel

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Values = NDArray[np.float64]


@kernel
def group(labels: Numbers, chosen: Numbers, ends: Numbers, out: Numbers) -> None:
    """Sort boards by their labels, keeping their order within each.

    Args:
      labels: (n,) of all boards of the layer, from 0 on.
      chosen: (m,) the belief.
      ends: (labels,) zeros; written: the end of each label's boards.
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
    """Return a belief's least known value, its board, and the number of unknown values.

    Args:
      column: (n,) values of the layer's boards, NaN if unknown.
      missing: (m,) written: the boards with unknown values.
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
    """Mark the successors of the boards of a belief.

    Args:
      starts, after: (n + 1,), (starts[n],) the numbers of each board's successors; negative ones
        are ends of the game.
      marks: (numbers,) written where true.
    """
    for i in chosen:
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0:
                marks[after[at]] = True


@kernel
def find_sources(
    starts: Numbers, after: Numbers, chosen: Numbers, targets: Flags, count: int, out: Numbers
) -> int:
    """Write boards that together lead to all targets; return their number.

    Args:
      starts, after: as in `mark_after`.
      chosen: (m,) the belief, preferred boards first.
      targets, count: (numbers,) marks of the targets, and their number; the marks are used up.
      out: (m,) written.
    """
    sources = 0
    for i in chosen:
        useful = False
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0 and targets[after[at]]:
                targets[after[at]] = False
                useful = True
                count -= 1
        if useful:
            out[sources] = i
            sources += 1
        if count == 0:
            break
    return sources


@kernel
def all_after(starts: Numbers, after: Numbers, solved: Flags, out: Flags) -> None:
    """Write for each board whether all its successors are solved: (n,)."""
    for i in range(len(starts) - 1):
        every = True
        for at in range(starts[i], starts[i + 1]):
            if after[at] >= 0 and not solved[after[at]]:
                every = False
                break
        out[i] = every
