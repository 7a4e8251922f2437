"""The last move: requests valued board by board, nothing following them, and boards alone."""

from __future__ import annotations

import numpy as np

from miai.belief_search.search import Line
from miai_rbc.actions import action_of
from miai_rbc.belief_minimax.found import Found, Meter
from miai_rbc.belief_minimax.kernels.leaves import Values
from miai_rbc.belief_minimax.kernels.subsets import Numbers, least
from miai_rbc.belief_minimax.layers import Layer
from miai_rbc.engines.protocol import WIN

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 4096
"""Boards valued between two looks at what they are worth."""


class LastMove:
    """Values beliefs one own move before the end.

    Args:
      meter: counts, and stops the search.
      forgiven: the worst boards at each leaf, which do not count.
      explains: whether closures are found.
    """

    def __init__(self, meter: Meter, *, forgiven: int, explains: bool) -> None:
        self.meter = meter
        self._forgiven, self._explains = forgiven, explains

    def value(
        self, layer: Layer, chosen: Numbers, request: int, alpha: float, beta: float
    ) -> Found:
        """Return the worst board after a request that nothing follows, the forgiven left out."""
        self.meter.count(1)
        line: Line = ((action_of(request), None),)
        column = layer.column(request)
        if self._forgiven:
            value, core = self._quantile(layer, request, column, chosen, alpha)
            return Found(value, core=core, line=line)
        missing = np.empty(len(chosen), np.int64)
        worst, which, lacking = least(column, chosen, missing)
        self.meter.leaves += len(chosen) - lacking
        for some in _chunks(missing[:lacking]):
            if worst <= alpha:
                break
            self._fill(layer, request, some)
            at = int(np.argmin(column[some]))
            if column[some[at]] < worst:
                worst, which = float(column[some[at]]), int(some[at])
        closure = None
        if self._explains and worst >= beta:
            closure = np.flatnonzero(column >= beta)
        return Found(worst, core=np.array([which]), closure=closure, line=line)

    def _quantile(
        self, layer: Layer, request: int, column: Values, chosen: Numbers, alpha: float
    ) -> tuple[float, Numbers | None]:
        """Return the least value but for the forgiven ones, and who has it or less."""
        k = self._forgiven
        if len(chosen) <= k:
            return float(WIN), None
        missing = chosen[np.isnan(column[chosen])]
        self.meter.leaves += len(chosen) - len(missing)
        for some in _chunks(missing):
            known = chosen[~np.isnan(column[chosen])]
            if len(known) > k and np.partition(column[known], k)[k] <= alpha:
                break
            self._fill(layer, request, some)
        known = chosen[~np.isnan(column[chosen])]
        lowest = known[np.argpartition(column[known], k)[: k + 1]]
        return float(column[lowest].max()), np.sort(lowest)

    def _fill(self, layer: Layer, request: int, some: Numbers) -> None:
        self.meter.count(0)
        self.meter.leaves += len(some)
        layer.fill(request, some)

    def refuting(self, layer: Layer, chosen: Numbers, alpha: float) -> Found | None:
        """Return the value of a board that alone is worth at most alpha; None without one."""
        for some in _chunks(chosen[layer.best[chosen] <= alpha]):
            left = some
            self.meter.singles += len(left)
            self.meter.count(len(left))
            for request in layer.requests():
                missing = left[np.isnan(layer.column(request)[left])]
                if len(missing):
                    self.meter.count(len(missing))
                    self._fill(layer, request, missing)
                left = left[layer.best[left] <= alpha]
                if len(left) == 0:
                    break
            if len(left):
                at = int(np.argmin(layer.best[left]))
                return Found(float(layer.best[left[at]]), core=left[at : at + 1])
        return None

    def refuting_known(self, layer: Layer, chosen: Numbers, alpha: float) -> Found | None:
        """As `refuting`, of what is known already: the smallest of cores."""
        columns = np.stack([layer.column(request)[chosen] for request in layer.requests()])
        values = columns.max(axis=0)  # not-a-number where one is
        at = int(np.argmin(np.where(values <= alpha, values, np.inf)))
        if not values[at] <= alpha:
            return None
        return Found(float(values[at]), core=chosen[at : at + 1])


def _chunks(some: Numbers) -> list[Numbers]:
    """Return boards in chunks that grow: the first few may settle it."""
    cuts, size = [0], _FIRST_CHUNK
    while cuts[-1] + size < len(some):
        cuts.append(cuts[-1] + size)
        size = min(2 * size, _LARGEST_CHUNK)
    ends = [*cuts[1:], len(some)]
    return [some[a:b] for a, b in zip(cuts, ends, strict=True) if a < b]
