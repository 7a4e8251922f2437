"""The bounds that the framework registers, with their parameters. Imports nothing heavy."""

from __future__ import annotations

from typing import Any

from miai.belief_search.bounds.antichains import ExactBounds
from miai.belief_search.bounds.limited import LEAST_LIMIT, LimitedBounds
from miai.belief_search.bounds.plain import NoBounds, SinglesBounds, TableBounds
from miai.belief_search.bounds.protocol import Bounds
from miai.belief_search.retention.protocol import Retention
from miai.belief_search.universe import Universe
from miai.errors import ParameterError
from miai.plugins.loader import registry
from miai.plugins.parameters import Parameters, parameter


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
    from miai.belief_search.bounds.reference import ReferenceBounds  # datasketch, an extra

    given = parameters
    bounds = ReferenceBounds(
        universe, k=given.k, verified=given.verified, threshold=given.threshold
    )
    return _limited(bounds, given)


def _dominance(universe: Universe[Any], given: SketchParameters, *, verified: bool) -> Bounds:
    from miai.belief_search.bounds.sketched import DominanceBounds  # compiles

    return _limited(DominanceBounds(universe, k=given.k, verified=verified), given)


def _minhash(universe: Universe[Any], given: MinHashParameters, *, verified: bool) -> Bounds:
    from miai.belief_search.bounds.sketched import MinHashBounds  # compiles

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
