"""The searches over beliefs that the framework registers, with their parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from miai.belief_search.driver import BeliefSearch
from miai.belief_search.naming import named_bounds
from miai.belief_search.problem import BeliefProblem
from miai.errors import ParameterError, UnsuitableGameError
from miai.plugins.loader import registry
from miai.plugins.parameters import Parameters, parameter

if TYPE_CHECKING:
    from miai.belief_search.compiled.search import CompiledSearch


class BeliefSearchParameters(Parameters):
    """What is remembered of beliefs, and how the tree is gone through."""

    bounds: str = parameter("cores", component="bounds", help="What is remembered of beliefs")
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    window: Literal["alpha-beta", "null"] = parameter(
        "null", help="One full window, or null windows one after the other"
    )
    adaptive: bool = parameter(
        False, help="Try the action first that was best last under the same public part"
    )


def recursive(problem: BeliefProblem[Any], parameters: BeliefSearchParameters) -> BeliefSearch[Any]:
    """Return the search in plain Python, for any problem and any bounds.

    Raises:
      UnsuitableGameError: it is no `BeliefProblem`.
    """
    given = parameters
    _check(problem)
    make = named_bounds(given.bounds, **given.bounds_parameters)
    return BeliefSearch(problem, make, window=given.window, adaptive=given.adaptive)


def compiled(
    problem: BeliefProblem[Any], parameters: BeliefSearchParameters
) -> CompiledSearch[Any]:
    """Return the compiled search, for problems that can be enumerated and the bounds below.

    Raises:
      ParameterError: the bounds are not the framework's own, or they are to forget.
      UnsuitableGameError: the problem cannot be enumerated.
    """
    from miai.belief_search.compiled.memory import RULES  # compiles
    from miai.belief_search.compiled.search import CompiledSearch

    given = parameters
    _check(problem)
    chosen = registry().get("bounds", given.bounds).fill(given.bounds_parameters)
    if given.bounds not in RULES:
        raise ParameterError(
            f"bounds: the compiled search knows {', '.join(RULES)}, not {given.bounds!r}; "
            "search with 'recursive'"
        )
    limit = getattr(chosen, "limit", None)
    if limit is not None and getattr(chosen, "retention", "none") != "none":
        raise ParameterError(
            "bounds_parameters.retention: the compiled search keeps what came first; say "
            "retention = 'none', or search with 'recursive'"
        )
    rule = replace(
        RULES[given.bounds],
        k=getattr(chosen, "k", 1),
        threshold=getattr(chosen, "threshold", 1.0),
        across=given.bounds == "cores" and problem.reachability,
        singles=getattr(chosen, "singles", RULES[given.bounds].singles),
    )
    return CompiledSearch(problem, rule, limit=limit, window=given.window, adaptive=given.adaptive)


def _check(problem: object) -> None:
    if not isinstance(problem, BeliefProblem):
        raise UnsuitableGameError(
            f"{type(problem).__name__} is a problem of a form of its own; take the search that "
            "came with it (`miai list belief-search`)"
        )
