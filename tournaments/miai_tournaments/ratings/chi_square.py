"""Tails and quantiles of the chi-square distribution, for whole degrees of freedom."""

from __future__ import annotations

import math

import numpy as np

_HALVINGS = 200


def chi_square_tail(value: float, degrees: int) -> float:
    """Return the chance that chi-square with `degrees` degrees of freedom exceeds `value`.

    The sum over the Poisson distribution that it is for an even number of degrees, and its
    counterpart for an odd one (Abramowitz and Stegun, 26.4.4 and 26.4.5), with terms in
    logarithms so that none overflows. Raises `ValueError` without a degree of freedom.
    """
    if degrees < 1:
        raise ValueError(f"chi-square of {degrees} degrees of freedom; there is at least one")
    if value <= 0:
        return 1.0
    half = value / 2
    powers = np.arange(degrees // 2) + (degrees % 2) / 2
    logs = [power * math.log(half) - half - math.lgamma(power + 1) for power in powers.tolist()]
    odd = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    return min(1.0, odd + math.fsum(math.exp(term) for term in logs))


def chi_square_quantile(tail: float, degrees: int) -> float:
    """Return the value that chi-square exceeds with chance `tail`, between 0 and 1."""
    low, high = 0.0, 1.0
    while chi_square_tail(high, degrees) > tail:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if chi_square_tail(middle, degrees) > tail:
            low = middle
        else:
            high = middle
    return high
