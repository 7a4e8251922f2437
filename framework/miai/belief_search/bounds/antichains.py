"""`exact`: what is known of every subset and every superset, by antichains.

For each public part and depth there are the beliefs of which a lower bound is known, and those of
which an upper one is. Of two that say the same only the stronger is kept: of lower bounds the
larger belief, of upper bounds the smaller one. Where values are only won or not proved, what holds
at one depth holds beyond it too (B2).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from miai.belief_search.bounds.protocol import Known
from miai.belief_search.universe import Mask

_INFINITE = float("inf")
_Entry = tuple[Mask, float]
_Chain = dict[Hashable, dict[int, list[_Entry]]]  # by public part and depth


class ExactBounds:
    """Subset and superset bounds, without error.

    Args:
      explains: whether cores and closures are recorded in place of the beliefs searched.
      singles: whether states are tried alone first.
      across: whether bounds hold across depths: for problems of reachability alone.
    """

    def __init__(
        self, *, explains: bool = False, singles: bool = False, across: bool = False
    ) -> None:
        self.explains, self.singles, self._across = explains, singles, across
        self._lower: _Chain = {}
        self._upper: _Chain = {}
        self._counts = {"probes": 0, "hits": 0, "tests": 0, "entries": 0}

    def probe(self, public: Hashable, depth: int, belief: Mask) -> Known:
        """Return the greatest lower bound of a superset and the least upper one of a subset."""
        self._counts["probes"] += 1
        lower, closure, upper, core = -_INFINITE, 0, _INFINITE, 0
        for chain in self._chains(self._lower, public, depth, up_to=True):
            for larger, value in chain:
                self._counts["tests"] += 1
                if value > lower and not belief & ~larger:
                    lower, closure = value, larger
        for chain in self._chains(self._upper, public, depth, up_to=False):
            for smaller, value in chain:
                self._counts["tests"] += 1
                if value < upper and not smaller & ~belief:
                    upper, core = value, smaller
        self._counts["hits"] += closure != 0 or core != 0
        return Known(lower, upper, closure, core)

    def record_lower(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Keep it unless a larger belief is known to be worth as much."""
        chain = self._lower.setdefault(public, {}).setdefault(depth, [])
        if any(v >= value and not belief & ~larger for larger, v in chain):
            return
        before = len(chain)
        chain[:] = [(b, v) for b, v in chain if v > value or b & ~belief]
        chain.append((belief, value))
        self._counts["entries"] += len(chain) - before

    def record_upper(self, public: Hashable, depth: int, belief: Mask, value: float) -> None:
        """Keep it unless a smaller belief is known to be worth as little."""
        chain = self._upper.setdefault(public, {}).setdefault(depth, [])
        if any(v <= value and not smaller & ~belief for smaller, v in chain):
            return
        before = len(chain)
        chain[:] = [(b, v) for b, v in chain if v < value or belief & ~b]
        chain.append((belief, value))
        self._counts["entries"] += len(chain) - before

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, subset tests and entries."""
        return dict(self._counts)

    def _chains(
        self, chains: _Chain, public: Hashable, depth: int, *, up_to: bool
    ) -> Iterable[list[_Entry]]:
        by_depth = chains.get(public)
        if by_depth is None:
            return ()
        if not self._across:
            return (by_depth[depth],) if depth in by_depth else ()
        return [c for d, c in by_depth.items() if (d <= depth if up_to else d >= depth)]
