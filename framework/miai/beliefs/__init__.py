"""Search over beliefs: what a player can guarantee who knows only its observations.

>>> from miai.beliefs import Root, named_bounds, search_belief

A game is a `BeliefProblem`, and `search_belief` returns the value of a `Root`. Bounds from earlier
results (`miai.beliefs.bounds`) speed up the search. See docs/belief-search.md.
"""

from miai.beliefs.bounds import MakeBounds, named_bounds
from miai.beliefs.problem import BeliefProblem, GameProblem, Reply, Root, goes_on, over
from miai.beliefs.protocol import BeliefResult, BeliefSearcher, RootedProblem
from miai.beliefs.recursion import BeliefSearch, search_belief

__all__ = [
    "BeliefProblem",
    "BeliefResult",
    "BeliefSearch",
    "BeliefSearcher",
    "GameProblem",
    "MakeBounds",
    "Reply",
    "Root",
    "RootedProblem",
    "goes_on",
    "named_bounds",
    "over",
    "search_belief",
]
