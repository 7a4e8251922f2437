"""The arms of a comparison: which bounds, and how they are used, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from miai.belief_search.bounds.antichains import ExactBounds
from miai.belief_search.bounds.plain import NoBounds, TableBounds
from miai.belief_search.bounds.protocol import Bounds
from miai.belief_search.bounds.singles import SinglesBounds
from miai.belief_search.problem import BeliefProblem

ARMS: Mapping[str, Callable[[bool], Bounds]] = {
    "none": lambda _: NoBounds(),
    "table": lambda _: TableBounds(),
    "singles": lambda _: SinglesBounds(),
    "exact": lambda _: ExactBounds(),
    "cores": lambda across: ExactBounds(explains=True, singles=True, across=across),
}
"""Makes the bounds of an arm; called with whether bounds hold across depths."""


def make_bounds(arm: str, problem: BeliefProblem[Any]) -> Bounds:
    """Return the bounds of an arm for a problem.

    Raises:
      ValueError: no arm has that name.
    """
    if arm not in ARMS:
        raise ValueError(f"no arm is called '{arm}'; there are {', '.join(ARMS)}")
    return ARMS[arm](problem.reachability)
