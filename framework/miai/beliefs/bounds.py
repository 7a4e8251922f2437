"""Bounds on beliefs: what a search records, and what follows from it for other beliefs.

A value never grows when states are added (B1 in docs/belief-search.md). So with the same public
part and depth, a belief is worth at most what any of its subsets is worth, and at least what any of
its supersets is worth.

A search talks to `Bounds`. The bounds `none`, `table`, `singles`, `exact` and `cores` are here,
those by sketches in `miai.beliefs.sketches`. `LimitedBounds` adds a memory limit to any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

from miai.beliefs.protocol import UNKNOWN, BoundEntry, Bounds, Mask, ProbeResult
from miai.beliefs.retention import Retention
from miai.beliefs.sets import Universe, bytes_of
from miai.errors import ParameterError
from miai.parameters import Parameters, parameter
from miai.plugins.kinds import BOUNDS, RETENTION
from miai.plugins.loader import registry

# -- bounds without inference ---------------------------------------------------------------------


class NoBounds:
    """Records nothing."""

    explains = singles = infers = False
    nbytes = 0

    def probe(self, public: Hashable, depth: int, belief: Mask) -> ProbeResult:
        """Return infinite bounds."""
        return UNKNOWN

    def record(self, entry: BoundEntry, value: float) -> BoundEntry | None:
        """Return None."""
        return None

    def forget(self, entry: BoundEntry) -> None:
        """Do nothing."""

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return nothing."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return nothing."""
        return {}


class TableBounds(NoBounds):
    """A transposition table of beliefs."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._values: dict[BoundEntry, float] = {}
        self._probes = self._hits = 0

    def probe(self, public: Hashable, depth: int, belief: Mask) -> ProbeResult:
        """Return the bounds recorded for an equal belief."""
        self._probes += 1
        below = BoundEntry(True, public, depth, belief)
        above = BoundEntry(False, public, depth, belief)
        lower, upper = self._values.get(below), self._values.get(above)
        if lower is None and upper is None:
            return UNKNOWN
        self._hits += 1
        return ProbeResult(
            UNKNOWN.lower if lower is None else lower,
            UNKNOWN.upper if upper is None else upper,
            belief if lower is not None else 0,
            belief if upper is not None else 0,
            tuple(e for e, v in ((below, lower), (above, upper)) if v is not None),
        )

    def record(self, entry: BoundEntry, value: float) -> BoundEntry | None:
        """Store the bound unless an equal belief has one as strong."""
        earlier = self._values.get(entry)
        if earlier is None:
            self.nbytes += bytes_of(entry.belief)
        elif value <= earlier if entry.lower else value >= earlier:
            return None
        self._values[entry] = value
        return entry

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still stored."""
        if self._values.pop(entry, None) is not None:
            self.nbytes -= bytes_of(entry.belief)

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, entries and bytes."""
        counts = {"probes": self._probes, "hits": self._hits}
        return {**counts, "entries": len(self._values), "bytes": self.nbytes}


class SinglesBounds(TableBounds):
    """A table; the search tries each state alone first, as most lost beliefs fail by one."""

    singles = infers = True


# -- bounds from subsets and supersets ------------------------------------------------------------

Chain: TypeAlias = dict[Mask, float]
"""Bounds on beliefs of one public part and depth."""

_Chains = dict[Hashable, dict[int, Chain]]  # by public part and depth


class ExactBounds:
    """Bounds from all subsets and supersets, without error.

    For each public part and depth there is an antichain of lower bounds and one of upper bounds: of
    two beliefs with the same bound the former keeps the larger, the latter the smaller.

    Args:
      explains: whether cores and closures are recorded in place of beliefs.
      singles: whether states are tried alone first.
      across: whether bounds hold across depths (B2): for reachability problems only.
    """

    def __init__(
        self, *, explains: bool = False, singles: bool = False, across: bool = False
    ) -> None:
        self.explains, self.singles, self.infers = explains, singles, True
        self._across = across
        self.nbytes = 0
        self._lower: _Chains = {}
        self._upper: _Chains = {}
        self._replaced: list[BoundEntry] = []
        self._counts = {"probes": 0, "hits": 0, "tests": 0, "entries": 0}

    def probe(self, public: Hashable, depth: int, belief: Mask) -> ProbeResult:
        """Return the best lower bound of a superset and the best upper bound of a subset."""
        self._counts["probes"] += 1
        lower, upper = UNKNOWN.lower, UNKNOWN.upper
        closure = core = 0
        entries = []
        for chain_depth, chain in self._chains(self._lower, public, depth, up_to=True):
            self._counts["tests"] += len(chain)
            value, larger = best_superset(chain, belief, lower)
            if larger:
                lower, closure, below = value, larger, chain_depth
        for chain_depth, chain in self._chains(self._upper, public, depth, up_to=False):
            self._counts["tests"] += len(chain)
            value, smaller = best_subset(chain, belief, upper)
            if smaller:
                upper, core, above = value, smaller, chain_depth
        if closure:
            entries.append(BoundEntry(True, public, below, closure))
        if core:
            entries.append(BoundEntry(False, public, above, core))
        self._counts["hits"] += bool(entries)
        return ProbeResult(lower, upper, closure, core, tuple(entries)) if entries else UNKNOWN

    def record(self, entry: BoundEntry, value: float) -> BoundEntry | None:
        """Store the bound unless it follows from another; drop those that follow from it."""
        lower, public, depth, belief = entry
        chains = self._lower if lower else self._upper
        chain = chains.setdefault(public, {}).setdefault(depth, {})
        stronger, weaker = (supersets, subsets) if lower else (subsets, supersets)
        if any(stronger(chain, belief, value)):
            return None
        redundant = list(weaker(chain, belief, value))
        self._replaced += [entry._replace(belief=other) for other in redundant]
        self._drop(chain, redundant)
        chain[belief] = value
        self._counts["entries"] += 1
        self.nbytes += bytes_of(belief)
        return entry

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still stored."""
        chains = self._lower if entry.lower else self._upper
        chain = chains.get(entry.public, {}).get(entry.depth, {})
        self._drop(chain, [entry.belief] if entry.belief in chain else [])

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return the entries that stronger ones replaced since the last call."""
        entries, self._replaced = self._replaced, []
        return entries

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, subset tests, entries and bytes."""
        return {**self._counts, "bytes": self.nbytes}

    def _drop(self, chain: Chain, beliefs: Iterable[Mask]) -> None:
        for belief in beliefs:
            del chain[belief]
            self._counts["entries"] -= 1
            self.nbytes -= bytes_of(belief)

    def _chains(
        self, chains: _Chains, public: Hashable, depth: int, *, up_to: bool
    ) -> list[tuple[int, Chain]]:
        """Return the chains whose bounds hold at a depth, each with its own depth."""
        by_depth = chains.get(public, {})
        if not self._across:
            return [(depth, by_depth[depth])] if depth in by_depth else []
        return [(d, c) for d, c in by_depth.items() if (d <= depth if up_to else d >= depth)]


def best_superset(chain: Chain, belief: Mask, floor: float) -> tuple[float, Mask]:
    """Return the greatest bound above a floor of a superset, and the superset; else floor and 0."""
    best, which = floor, 0
    for larger, value in chain.items():
        if value > best and not belief & ~larger:
            best, which = value, larger
    return best, which


def best_subset(chain: Chain, belief: Mask, ceiling: float) -> tuple[float, Mask]:
    """Return the lowest bound below a ceiling of a subset, and the subset; else ceiling and 0."""
    best, which = ceiling, 0
    for smaller, value in chain.items():
        if value < best and not smaller & ~belief:
            best, which = value, smaller
    return best, which


def supersets(chain: Chain, belief: Mask, minimum: float) -> Iterator[Mask]:
    """Iterate over the supersets with a bound of at least `minimum`."""
    return (mask for mask, value in chain.items() if value >= minimum and not belief & ~mask)


def subsets(chain: Chain, belief: Mask, maximum: float) -> Iterator[Mask]:
    """Iterate over the subsets with a bound of at most `maximum`."""
    return (mask for mask, value in chain.items() if value <= maximum and not mask & ~belief)


# -- a memory limit -------------------------------------------------------------------------------

MIN_LIMIT = 4096
"""Minimum memory limit in bytes; one entry of a large belief takes hundreds."""


class LimitedBounds:
    """Keeps other bounds below a memory limit.

    Args:
      retention: chooses what to forget.
      limit: approximate bytes that the entries may take.

    Raises:
      ValueError: the limit is too small for one entry.
    """

    def __init__(self, bounds: Bounds, retention: Retention, *, limit: int) -> None:
        if limit < MIN_LIMIT:
            raise ValueError(
                f"a limit of {limit} bytes is too small for one entry; use at least {MIN_LIMIT}"
            )
        self.explains, self.singles = bounds.explains, bounds.singles
        self.infers = bounds.infers
        self._bounds, self._retention, self._limit = bounds, retention, limit
        self._entries: dict[int, BoundEntry] = {}
        self._forgotten = 0

    @property
    def nbytes(self) -> int:
        """Approximate size of the entries in bytes."""
        return self._bounds.nbytes

    def probe(self, public: Hashable, depth: int, belief: Mask) -> ProbeResult:
        """Return the bounds on a belief; the entries behind them count as used."""
        result = self._bounds.probe(public, depth, belief)
        for entry in result.entries:
            self._retention.used(_name(entry))
        return result

    def record(self, entry: BoundEntry, value: float) -> BoundEntry | None:
        """Record a bound, and forget entries until there is room."""
        retained_entry = self._bounds.record(entry, value)
        for weaker_entry in self._bounds.take_replaced():
            self._entries.pop(_name(weaker_entry), None)
        if retained_entry is None:
            return None
        name = _name(retained_entry)
        self._entries[name] = retained_entry
        self._retention.added(name)
        while self._bounds.nbytes > self._limit:
            victim = self._retention.victim()
            old_entry = self._entries.pop(name if victim is None else victim, None)
            if old_entry is None:
                continue  # it was replaced before
            self._bounds.forget(old_entry)
            self._forgotten += 1
            if victim is None:
                return None
        return retained_entry

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry."""
        self._bounds.forget(entry)
        self._entries.pop(_name(entry), None)

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return nothing."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the bounds and the number of forgotten entries."""
        return {**self._bounds.statistics(), "forgotten": self._forgotten}


def _name(entry: BoundEntry) -> int:
    """Return a 64-bit name that is the same in every process."""
    return int.from_bytes(blake2b(repr(entry).encode(), digest_size=8).digest(), "little")


# -- components -----------------------------------------------------------------------------------


class BoundsParameters(Parameters):
    """Parameters of `table`, `singles` and `exact`."""

    limit: int | None = parameter(
        None, ge=MIN_LIMIT, unit="bytes", help="Approximate memory limit of entries (default: none)"
    )
    retention: str = parameter(
        "lru", component="retention", help="Policy that chooses what to forget at the limit"
    )


class CoresParameters(BoundsParameters):
    """Parameters of `cores`."""

    singles: bool = parameter(True, help="Try each state of a belief alone before the whole belief")


def none(universe: Universe[Any], parameters: Parameters) -> Bounds:
    """Record nothing."""
    return NoBounds()


def table(universe: Universe[Any], parameters: BoundsParameters) -> Bounds:
    """Record beliefs in a table."""
    return limited(TableBounds(), parameters)


def singles(universe: Universe[Any], parameters: BoundsParameters) -> Bounds:
    """Record beliefs in a table, and try states alone first."""
    return limited(SinglesBounds(), parameters)


def exact(universe: Universe[Any], parameters: BoundsParameters) -> Bounds:
    """Bound beliefs by all subsets and supersets, in antichains."""
    return limited(ExactBounds(), parameters)


def cores(universe: Universe[Any], parameters: CoresParameters) -> Bounds:
    """Bound beliefs by cores and closures, and try states alone first."""
    across = universe.problem.reachability
    return limited(
        ExactBounds(explains=True, singles=parameters.singles, across=across), parameters
    )


def limited(bounds: Bounds, parameters: BoundsParameters) -> Bounds:
    """Return bounds with the memory limit of their parameters.

    Raises:
      ParameterError: the limit has no room for one entry.
    """
    limit = parameters.limit
    if limit is None:
        return bounds
    minimum = getattr(bounds, "entry_bytes", MIN_LIMIT)
    if limit < minimum:
        raise ParameterError(
            f"limit: {limit} bytes have no room for one entry; use at least {minimum}"
        )
    retention = registry().build(RETENTION, parameters.retention)
    return LimitedBounds(bounds, retention, limit=limit)


MakeBounds: TypeAlias = Callable[[Universe[Any]], Bounds]
"""Makes the bounds of one search from its universe."""


def named_bounds(name: str, **parameters: Any) -> MakeBounds:
    """Return a factory of registered bounds.

    Raises:
      UnknownComponentError: no bounds have that name.
      ParameterError: a parameter is unknown or invalid.
    """
    component = registry().get(BOUNDS, name)
    component.fill(parameters)  # raises now rather than when the first search begins
    return lambda universe: component.build(universe, values=parameters)
