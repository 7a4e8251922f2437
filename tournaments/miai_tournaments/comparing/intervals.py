"""Intervals of what a comparison measures: shares by Wilson, speed-ups by resampling roots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miai.seeds import derive_seed

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

REPLICATES = 2000
_LEAST_ROOTS = 5
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with the ends of its 95 % interval; these are None where too little is known."""

    value: float
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, float | None]:
        """Return it as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


def wilson(count: int, total: int) -> Interval | None:
    """Return a share with its 95 % interval (E. Wilson, JASA 1927); None of nothing."""
    if total == 0:
        return None
    share, weight = count / total, Z95**2 / total
    middle = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    low = 0.0 if count == 0 else middle - half
    high = 1.0 if count == total else middle + half
    return Interval(share, low, high)


def ratio_of_sums(
    above: Sequence[float], below: Sequence[float], *, name: Sequence[int | str]
) -> Interval | None:
    """Return sum(above) / sum(below) with the percentile interval of a bootstrap over roots.

    Roots are drawn with replacement, both figures of a root together. Below five roots there is
    no interval.

    Args:
      above, below: one figure a root each, at least 0.
      name: what the generator's seed derives from: the same figures give the same interval.

    Returns:
      None without roots, or where the sum below is 0.
    """
    if not above or sum(below) <= 0:
        return None
    ratio = sum(above) / sum(below)
    count = len(above)
    if count < _LEAST_ROOTS:
        return Interval(ratio)
    rng = np.random.default_rng(derive_seed("bootstrap", *name))
    pairs = np.array([above, below], dtype=float)  # (2, roots)
    ratios: list[float] = []
    most = max(1, _CHUNK // count)
    while (left := REPLICATES - len(ratios)) > 0:
        drawn = rng.integers(count, size=(min(left, most), count))
        sums = pairs[:, drawn].sum(axis=2)
        ratios += (sums[0] / np.maximum(sums[1], np.finfo(float).tiny)).tolist()
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return Interval(ratio, low, high)
