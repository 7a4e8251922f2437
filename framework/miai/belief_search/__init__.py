"""Search over beliefs: what a player can guarantee who knows only what it was told.

>>> from miai.belief_search import Root, named_bounds, search_belief

A game is a `BeliefProblem`; `search_belief` values a `Root`; bounds on the values of beliefs that
were searched before (`miai.belief_search.bounds`) make it faster. See docs/belief-search.md.
"""

from miai.belief_search.driver import BeliefSearch, search_belief
from miai.belief_search.naming import MakeBounds, named_bounds
from miai.belief_search.of_game import GameProblem
from miai.belief_search.problem import BeliefProblem, Reply, Root, goes_on, over
from miai.belief_search.protocol import BeliefResult, BeliefSearcher, RootedProblem

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
