"""When a search with a budget in seconds ends."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

_TRIED = 0.1
"""Share of the seconds that must have passed before the rate of simulations is believed."""


class SearchClock:
    """Says that the time of a search is over, or that the rest of it would change nothing.

    The most visited move is played. So once every simulation that there is still time for, at the
    rate so far, could not bring the second to as many visits as the first, the rest is saved
    (Huang, Coulom, Lin 2010, "Time management for Monte-Carlo tree search applied to the game of
    Go").

    Args:
      seconds: the budget.
      started: since when, as `time.perf_counter` tells.
      visits: asked for the visits of the moves at the root; None where time alone counts.
    """

    def __init__(
        self,
        seconds: float,
        *,
        started: float,
        visits: Callable[[], NDArray[np.int32]] | None = None,
    ) -> None:
        self._started = started
        self._seconds = seconds
        self._visits = visits
        self._before = int(visits().sum()) if visits is not None else 0

    def __call__(self) -> bool:
        """Return whether to stop."""
        passed = perf_counter() - self._started
        if passed >= self._seconds:
            return True
        if self._visits is None or passed < _TRIED * self._seconds:
            return False
        visits = np.sort(self._visits())
        rate = (int(visits.sum()) - self._before) / passed
        lead = int(visits[-1] - visits[-2]) if len(visits) > 1 else 0
        return lead > rate * (self._seconds - passed)
