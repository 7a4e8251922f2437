"""`exact`: what is known of every subset and every superset, by antichains.

For each public part and depth there are the beliefs of which a lower bound is known, and those of
which an upper one is. Of two that say the same only the stronger is kept: of lower bounds the
larger belief, of upper bounds the smaller one. Where values are only won or not proved, what holds
at one depth holds beyond it too (B2).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from miai.belief_search.bounds.chains import (
    Chain,
    best_subset,
    best_superset,
    has_subset,
    has_superset,
    subsets,
    supersets,
)
from miai.belief_search.bounds.protocol import UNKNOWN, AnyBelief, Entry, Known
from miai.belief_search.sets import Belief, bytes_of

_Chains = dict[Hashable, dict[int, Chain]]  # by public part and depth


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
        self.explains, self.singles, self.infers = explains, singles, True
        self._across = across
        self.held = 0
        self._lower: _Chains = {}
        self._upper: _Chains = {}
        self._replaced: list[Entry] = []
        self._counts = {"probes": 0, "hits": 0, "tests": 0, "entries": 0}

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return the greatest lower bound of a superset and the least upper one of a subset."""
        self._counts["probes"] += 1
        lower, upper = UNKNOWN.lower, UNKNOWN.upper
        closure: AnyBelief = 0
        core: AnyBelief = 0
        used = []
        for at, chain in self._chains(self._lower, public, depth, up_to=True):
            self._counts["tests"] += len(chain)
            value, larger = best_superset(chain, belief, lower)
            if larger:
                lower, closure, below = value, larger, at
        for at, chain in self._chains(self._upper, public, depth, up_to=False):
            self._counts["tests"] += len(chain)
            value, smaller = best_subset(chain, belief, upper)
            if smaller:
                upper, core, above = value, smaller, at
        if closure:
            used.append(Entry(True, public, below, closure))
        if core:
            used.append(Entry(False, public, above, core))
        self._counts["hits"] += bool(used)
        return Known(lower, upper, closure, core, tuple(used)) if used else UNKNOWN

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Keep it unless a larger belief is known to be worth as much."""
        chain = self._lower.setdefault(public, {}).setdefault(depth, {})
        if has_superset(chain, belief, value):
            return None
        self._replace(chain, Entry(True, public, depth, belief), subsets(chain, belief, value))
        return self._keep(chain, Entry(True, public, depth, belief), value)

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> Entry | None:
        """Keep it unless a smaller belief is known to be worth as little."""
        chain = self._upper.setdefault(public, {}).setdefault(depth, {})
        if has_subset(chain, belief, value):
            return None
        self._replace(chain, Entry(False, public, depth, belief), supersets(chain, belief, value))
        return self._keep(chain, Entry(False, public, depth, belief), value)

    def forget(self, entry: Entry) -> None:
        """Forget an entry, if it is still there."""
        chains = self._lower if entry.lower else self._upper
        chain = chains.get(entry.public, {}).get(entry.depth, {})
        self._drop(chain, [entry.belief] if entry.belief in chain else [])

    def take_replaced(self) -> Sequence[Entry]:
        """Return the entries that gave way to stronger ones."""
        gone, self._replaced = self._replaced, []
        return gone

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, subset tests, entries and bytes."""
        return {**self._counts, "bytes": self.held}

    def _keep(self, chain: Chain, entry: Entry, value: float) -> Entry:
        chain[entry.belief] = value
        self._counts["entries"] += 1
        self.held += bytes_of(entry.belief)
        return entry

    def _replace(self, chain: Chain, entry: Entry, beliefs: Iterable[Belief]) -> None:
        """Drop what an entry says better."""
        gone = list(beliefs)
        self._replaced += [entry._replace(belief=belief) for belief in gone]
        self._drop(chain, gone)

    def _drop(self, chain: Chain, beliefs: Iterable[Belief]) -> None:
        for belief in beliefs:
            del chain[belief]
            self._counts["entries"] -= 1
            self.held -= bytes_of(belief)

    def _chains(
        self, chains: _Chains, public: Hashable, depth: int, *, up_to: bool
    ) -> list[tuple[int, Chain]]:
        """Return the chains whose bounds hold at a depth, each with its own."""
        by_depth = chains.get(public, {})
        if not self._across:
            return [(depth, by_depth[depth])] if depth in by_depth else []
        return [(d, c) for d, c in by_depth.items() if (d <= depth if up_to else d >= depth)]
