"""What is known of beliefs that were searched, as bounds on the values of others.

A value never grows when states are added (B1 in docs/belief-search.md). So a belief that contains
another is worth at most as much, and one that is contained in another at least as much, with the
same public part and depth. `miai.beliefs.bounds` says what a search asks; every
other module is one way to answer.

What a search asks of bounds: `Bounds`.

`exact`: what is known of every subset and every superset, by antichains.

For each public part and depth there are the beliefs of which a lower bound is known, and those of
which an upper one is. Of two that say the same only the stronger is kept: of lower bounds the
larger belief, of upper bounds the smaller one. Where values are only won or not proved, what holds
at one depth holds beyond it too (B2).

One belief against a chain: the beliefs of which bounds are known, at one public part and depth.

Chains hold beliefs of one kind. Masks are compared where they stand, without a call: most of the
time of a search over small games is spent here.

`none` remembers nothing; `table` remembers beliefs and knows them again when they are equal.

Bounds with a limit in bytes: a retention policy says what is forgotten.

The bounds that the framework registers, with their parameters. Imports nothing heavy.

Bounds by the names that plugins registered them under.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

from miai.beliefs.retention import Retention
from miai.beliefs.sets import Belief, HashedSet, Universe, bytes_of, subset_test
from miai.errors import ParameterError
from miai.parameters import Parameters, parameter
from miai.plugins.loader import registry

if TYPE_CHECKING:
    Masks: TypeAlias = dict[int, float]
    Sets: TypeAlias = dict[HashedSet, float]


_INFINITE = float("inf")

AnyBelief: TypeAlias = Any
"""A `miai.beliefs.sets.Belief`. A search hands in beliefs of one kind, and gets back beliefs
of that kind, which these annotations do not follow."""


class BoundEntry(NamedTuple):
    """The name of something remembered: a bound on the value of one belief.

    Attributes:
      lower: whether the value is at least so much; else at most.
      public, depth, belief: of which it is a bound; where beliefs are not kept, a key of it.
    """

    lower: bool
    public: Hashable
    depth: int
    belief: AnyBelief


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the value of a belief, to the player who searches.

    Attributes:
      lower, upper: it lies between them; infinite where nothing is known.
      closure: a belief that contains the one asked for and is worth at least `lower`; 0 for none.
      core: a belief that is contained in the one asked for and is worth at most `upper`; 0 for
        none.
      used: what it follows from.
    """

    lower: float = -_INFINITE
    upper: float = _INFINITE
    closure: AnyBelief = 0
    core: AnyBelief = 0
    used: tuple[BoundEntry, ...] = ()


UNKNOWN = Known()


@runtime_checkable
class Bounds(Protocol):
    """Remembers values of beliefs and bounds those of others by them.

    Attributes:
      explains: whether it is worth to find, for every result, the fewest states that refute and
        the most states that are won by the same strategy; a search then hands in those.
      singles: whether a belief's states should each be tried alone before the belief is searched.
      infers: whether it bounds beliefs by others: that needs worst cases (B1).
    """

    explains: bool
    singles: bool
    infers: bool

    @property
    def held(self) -> int:
        """Bytes that the entries take, about."""

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return what follows for a belief from all that was recorded."""

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Take in that a belief is worth at least `value`; return the entry if there is one."""

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Take in that a belief is worth at most `value`; return the entry if there is one."""

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still there."""

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return the entries that gave way to others since it was last asked."""

    def statistics(self) -> Mapping[str, int]:
        """Return counts for the record: probes, hits, entries, bytes."""


__all__ = ["UNKNOWN", "Bounds", "Known"]

Chain: TypeAlias = dict[Belief, float]
"""Beliefs and the bounds of their values."""


def best_superset(chain: Chain, belief: Belief, floor: float) -> tuple[float, Belief]:
    """Return the greatest bound above a floor of a belief that contains one; else floor and 0."""
    best, which = floor, cast(Belief, 0)
    if isinstance(belief, int):
        for mask, value in cast("Masks", chain).items():
            if value > best and not belief & ~mask:
                best, which = value, mask
        return best, which
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    for larger, value in cast("Sets", chain).items():
        if value > best and larger.size >= size and contains(larger.hashes, hashes):
            best, which = value, larger
    return best, which


def best_subset(chain: Chain, belief: Belief, ceiling: float) -> tuple[float, Belief]:
    """Return the least bound below a ceiling of a belief within one; else ceiling and 0."""
    best, which = ceiling, cast(Belief, 0)
    if isinstance(belief, int):
        for mask, value in cast("Masks", chain).items():
            if value < best and not mask & ~belief:
                best, which = value, mask
        return best, which
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    for smaller, value in cast("Sets", chain).items():
        if value < best and smaller.size <= size and contains(hashes, smaller.hashes):
            best, which = value, smaller
    return best, which


def has_superset(chain: Chain, belief: Belief, least: float) -> bool:
    """Return whether a belief that contains one has a bound of at least so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return any(value >= least and not belief & ~mask for mask, value in masks)
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return any(
        value >= least and larger.size >= size and contains(larger.hashes, hashes)
        for larger, value in cast("Sets", chain).items()
    )


def has_subset(chain: Chain, belief: Belief, most: float) -> bool:
    """Return whether a belief within one has a bound of at most so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return any(value <= most and not mask & ~belief for mask, value in masks)
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return any(
        value <= most and smaller.size <= size and contains(hashes, smaller.hashes)
        for smaller, value in cast("Sets", chain).items()
    )


def subsets(chain: Chain, belief: Belief, most: float) -> list[Belief]:
    """Return the beliefs within one whose bounds are at most so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return [mask for mask, value in masks if value <= most and not mask & ~belief]
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return [
        smaller
        for smaller, value in cast("Sets", chain).items()
        if value <= most and smaller.size <= size and contains(hashes, smaller.hashes)
    ]


def supersets(chain: Chain, belief: Belief, least: float) -> list[Belief]:
    """Return the beliefs that contain one and whose bounds are at least so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return [mask for mask, value in masks if value >= least and not belief & ~mask]
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return [
        larger
        for larger, value in cast("Sets", chain).items()
        if value >= least and larger.size >= size and contains(larger.hashes, hashes)
    ]


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
        self._replaced: list[BoundEntry] = []
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
            used.append(BoundEntry(True, public, below, closure))
        if core:
            used.append(BoundEntry(False, public, above, core))
        self._counts["hits"] += bool(used)
        return Known(lower, upper, closure, core, tuple(used)) if used else UNKNOWN

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Keep it unless a larger belief is known to be worth as much."""
        chain = self._lower.setdefault(public, {}).setdefault(depth, {})
        if has_superset(chain, belief, value):
            return None
        self._replace(chain, BoundEntry(True, public, depth, belief), subsets(chain, belief, value))
        return self._keep(chain, BoundEntry(True, public, depth, belief), value)

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Keep it unless a smaller belief is known to be worth as little."""
        chain = self._upper.setdefault(public, {}).setdefault(depth, {})
        if has_subset(chain, belief, value):
            return None
        self._replace(
            chain, BoundEntry(False, public, depth, belief), supersets(chain, belief, value)
        )
        return self._keep(chain, BoundEntry(False, public, depth, belief), value)

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still there."""
        chains = self._lower if entry.lower else self._upper
        chain = chains.get(entry.public, {}).get(entry.depth, {})
        self._drop(chain, [entry.belief] if entry.belief in chain else [])

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return the entries that gave way to stronger ones."""
        gone, self._replaced = self._replaced, []
        return gone

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, subset tests, entries and bytes."""
        return {**self._counts, "bytes": self.held}

    def _keep(self, chain: Chain, entry: BoundEntry, value: float) -> BoundEntry:
        chain[entry.belief] = value
        self._counts["entries"] += 1
        self.held += bytes_of(entry.belief)
        return entry

    def _replace(self, chain: Chain, entry: BoundEntry, beliefs: Iterable[Belief]) -> None:
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


class NoBounds:
    """Knows nothing."""

    explains = singles = infers = False
    held = 0

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return that nothing is known."""
        return UNKNOWN

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Remember nothing."""
        return None

    record_upper = record_lower

    def forget(self, entry: BoundEntry) -> None:
        """Have nothing to forget."""

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return nothing."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return nothing."""
        return {}


class TableBounds:
    """A transposition table of beliefs."""

    explains = singles = infers = False

    def __init__(self) -> None:
        self.held = 0
        self._values: dict[BoundEntry, float] = {}
        self._probes = self._hits = 0

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return what was recorded of this very belief."""
        self._probes += 1
        below = BoundEntry(True, public, depth, belief)
        above = BoundEntry(False, public, depth, belief)
        lower, upper = self._values.get(below), self._values.get(above)
        if lower is None and upper is None:
            return UNKNOWN
        self._hits += 1
        return Known(
            UNKNOWN.lower if lower is None else lower,
            UNKNOWN.upper if upper is None else upper,
            belief if lower is not None else 0,
            belief if upper is not None else 0,
            tuple(e for e, v in ((below, lower), (above, upper)) if v is not None),
        )

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Keep the greatest lower bound."""
        entry = BoundEntry(True, public, depth, belief)
        return self._keep(entry, value) if value > self._values.get(entry, -1e999) else None

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Keep the least upper bound."""
        entry = BoundEntry(False, public, depth, belief)
        return self._keep(entry, value) if value < self._values.get(entry, 1e999) else None

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry, if it is still there."""
        if self._values.pop(entry, None) is not None:
            self.held -= bytes_of(entry.belief)

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return nothing: no entry gives way to another."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of probes, hits, entries and bytes."""
        counts = {"probes": self._probes, "hits": self._hits}
        return {**counts, "entries": len(self._values), "bytes": self.held}

    def _keep(self, entry: BoundEntry, value: float) -> BoundEntry:
        if entry not in self._values:
            self.held += bytes_of(entry.belief)
        self._values[entry] = value
        return entry


class SinglesBounds(TableBounds):
    """A table, and every state of a belief tried alone first: most lost beliefs fail by one."""

    singles = infers = True


class LimitedBounds:
    """Other bounds, kept below a limit.

    Args:
      bounds: what remembers.
      retention: what chooses what to forget.
      limit: bytes that the entries may take, about.

    Raises:
      ValueError: the limit is less than one entry takes.
    """

    def __init__(self, bounds: Bounds, retention: Retention, *, limit: int) -> None:
        if limit < LEAST_LIMIT:
            raise ValueError(f"a limit of {limit} bytes has no room for one entry; {LEAST_LIMIT}")
        self.explains, self.singles = bounds.explains, bounds.singles
        self.infers = bounds.infers
        self._bounds, self._retention, self._limit = bounds, retention, limit
        self._entries: dict[int, BoundEntry] = {}
        self._forgotten = 0

    @property
    def held(self) -> int:
        """Bytes that the entries take, about."""
        return self._bounds.held

    def probe(self, public: Hashable, depth: int, belief: AnyBelief) -> Known:
        """Return what follows from what is remembered; what it follows from was used."""
        known = self._bounds.probe(public, depth, belief)
        for entry in known.used:
            self._retention.used(_name(entry))
        return known

    def record_lower(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """Take it in, and forget as much as it takes."""
        return self._kept(self._bounds.record_lower(public, depth, belief, value))

    def record_upper(
        self, public: Hashable, depth: int, belief: AnyBelief, value: float
    ) -> BoundEntry | None:
        """As `record_lower`."""
        return self._kept(self._bounds.record_upper(public, depth, belief, value))

    def forget(self, entry: BoundEntry) -> None:
        """Forget an entry."""
        self._bounds.forget(entry)
        self._entries.pop(_name(entry), None)

    def take_replaced(self) -> Sequence[BoundEntry]:
        """Return nothing: who asks this does not forget."""
        return ()

    def statistics(self) -> Mapping[str, int]:
        """Return those of the bounds, and how many entries were forgotten."""
        return {**self._bounds.statistics(), "forgotten": self._forgotten}

    def _kept(self, entry: BoundEntry | None) -> BoundEntry | None:
        for replaced in self._bounds.take_replaced():
            self._entries.pop(_name(replaced), None)
        if entry is None:
            return None
        name = _name(entry)
        self._entries[name] = entry
        self._retention.added(name)
        while self._bounds.held > self._limit:
            victim = self._retention.victim()
            forgotten = self._entries.pop(name if victim is None else victim, None)
            if forgotten is None:
                continue  # it gave way to another before
            self._bounds.forget(forgotten)
            self._forgotten += 1
            if victim is None:
                return None
        return entry


LEAST_LIMIT = 4096
"""Bytes; one entry of a large belief takes hundreds."""


def _name(entry: BoundEntry) -> int:
    """Return a name of 64 bits that is the same in every process."""
    return int.from_bytes(blake2b(repr(entry).encode(), digest_size=8).digest(), "little")


class BoundsParameters(Parameters):
    """How much is remembered."""

    limit: int | None = parameter(
        None, ge=LEAST_LIMIT, unit="bytes", help="that entries may take, about; none: no limit"
    )
    retention: str = parameter(
        "lru", component="retention", help="what is forgotten when there is no more room"
    )


class CoresParameters(BoundsParameters):
    """Parameters of `cores`."""

    singles: bool = parameter(
        True, help="try each state of a belief alone before it is searched as a whole"
    )


class SketchParameters(BoundsParameters):
    """Parameters of `dominance`."""

    k: int = parameter(64, ge=1, le=65_536, unit="hashes", help="of a sketch")


class MinHashParameters(SketchParameters):
    """Parameters of `minhash`."""

    threshold: float = parameter(
        0.9, gt=0, le=1, help="least estimated share of the smaller belief in the larger one"
    )


class ReferenceParameters(MinHashParameters):
    """Parameters of `reference-minhash`."""

    verified: bool = parameter(True, help="whether what the sketches let through is tested exactly")


def none(universe: Universe[Any], parameters: Parameters) -> Bounds:
    """Return bounds that know nothing."""
    return NoBounds()


def table(universe: Universe[Any], parameters: BoundsParameters) -> Bounds:
    """Return a table of beliefs."""
    return _limited(TableBounds(), parameters)


def singles(universe: Universe[Any], parameters: BoundsParameters) -> Bounds:
    """Return a table, states being tried alone first."""
    return _limited(SinglesBounds(), parameters)


def exact(universe: Universe[Any], parameters: BoundsParameters) -> Bounds:
    """Return subset and superset bounds by antichains."""
    return _limited(ExactBounds(), parameters)


def cores(universe: Universe[Any], parameters: CoresParameters) -> Bounds:
    """Return antichains of cores and closures, states tried alone, across depths if allowed."""
    across = universe.problem.reachability
    return _limited(
        ExactBounds(explains=True, singles=parameters.singles, across=across), parameters
    )


def dominance(universe: Universe[Any], parameters: SketchParameters) -> Bounds:
    """Return bounds by one-sided sketches, tested exactly."""
    return _dominance(universe, parameters, verified=True)


def approx_dominance(universe: Universe[Any], parameters: SketchParameters) -> Bounds:
    """Return bounds by one-sided sketches alone: some are false."""
    return _dominance(universe, parameters, verified=False)


def minhash(universe: Universe[Any], parameters: MinHashParameters) -> Bounds:
    """Return bounds by estimated resemblance, tested exactly."""
    return _minhash(universe, parameters, verified=True)


def approx_minhash(universe: Universe[Any], parameters: MinHashParameters) -> Bounds:
    """Return bounds by estimated resemblance alone, the seed's rule: some are false."""
    return _minhash(universe, parameters, verified=False)


def reference_minhash(universe: Universe[Any], parameters: ReferenceParameters) -> Bounds:
    """Return bounds by the MinHash of datasketch."""
    from miai.beliefs.sketches import ReferenceBounds

    given = parameters
    bounds = ReferenceBounds(
        universe, k=given.k, verified=given.verified, threshold=given.threshold
    )
    return _limited(bounds, given)


def _dominance(universe: Universe[Any], given: SketchParameters, *, verified: bool) -> Bounds:
    from miai.beliefs.sketches import DominanceBounds

    return _limited(DominanceBounds(universe, k=given.k, verified=verified), given)


def _minhash(universe: Universe[Any], given: MinHashParameters, *, verified: bool) -> Bounds:
    from miai.beliefs.sketches import MinHashBounds

    bounds = MinHashBounds(universe, k=given.k, verified=verified, threshold=given.threshold)
    return _limited(bounds, given)


def _limited(bounds: Bounds, given: BoundsParameters) -> Bounds:
    if given.limit is None:
        return bounds
    least = getattr(bounds, "entry_bytes", LEAST_LIMIT)
    if given.limit < least:
        raise ParameterError(f"limit: {given.limit} bytes have no room for one entry; {least} do")
    retention: Retention = registry().get("retention", given.retention).build(values={})
    return LimitedBounds(bounds, retention, limit=given.limit)


MakeBounds: TypeAlias = Callable[[Universe[Any]], Bounds]
"""Makes the bounds of one search, whose states its universe numbers."""


def named_bounds(name: str, **parameters: Any) -> MakeBounds:
    """Return what makes the bounds of a name.

    Raises:
      UnknownComponentError: no plugin registered bounds of that name.
      ParameterError: the parameters are not theirs.
    """
    component = registry().get("bounds", name)
    component.fill(parameters)  # a mistake is told now, not when the first search begins

    def make(universe: Universe[Any]) -> Bounds:
        bounds: Bounds = component.build(universe, values=parameters)
        return bounds

    return make
