"""The retention policies that the framework registers, with their parameters."""

from __future__ import annotations

from miai.belief_search.retention.count_sketch import FrequentKept
from miai.belief_search.retention.policies import KeepFirst, LeastRecentlyUsed, SpaceSaving
from miai.belief_search.retention.protocol import Retention
from miai.plugins.parameters import Parameters, parameter


class CountSketchParameters(Parameters):
    """Parameters of `count_sketch`."""

    rows: int = parameter(5, ge=1, le=15, help="estimates of which the median counts")
    width: int = parameter(4096, ge=1, le=1 << 24, unit="counters", help="of each row")


def none(parameters: Parameters) -> Retention:
    """Keep what came first."""
    return KeepFirst()


def lru(parameters: Parameters) -> Retention:
    """Forget what was not used for longest."""
    return LeastRecentlyUsed()


def space_saving(parameters: Parameters) -> Retention:
    """Forget what was used least."""
    return SpaceSaving()


def count_sketch(parameters: CountSketchParameters) -> Retention:
    """Forget what a Count-Sketch finds least frequent."""
    return FrequentKept(rows=parameters.rows, width=parameters.width)
