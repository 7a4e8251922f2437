"""The searches over beliefs that the framework registers, with their parameters."""

from __future__ import annotations

from typing import Any, Literal

from miai.belief_search.driver import BeliefSearch
from miai.belief_search.naming import named_bounds
from miai.belief_search.problem import BeliefProblem
from miai.plugins.parameters import Parameters, parameter


class BeliefSearchParameters(Parameters):
    """What is remembered of beliefs, and how the tree is gone through."""

    bounds: str = parameter("cores", component="bounds", help="What is remembered of beliefs")
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    window: Literal["alpha-beta", "null"] = parameter(
        "alpha-beta", help="One full window, or null windows one after the other"
    )
    adaptive: bool = parameter(
        False, help="Try the action first that was best last under the same public part"
    )


def recursive(problem: BeliefProblem[Any], parameters: BeliefSearchParameters) -> BeliefSearch[Any]:
    """Return the search in plain Python, for any problem and any bounds."""
    given = parameters
    make = named_bounds(given.bounds, **given.bounds_parameters)
    return BeliefSearch(problem, make, window=given.window, adaptive=given.adaptive)
