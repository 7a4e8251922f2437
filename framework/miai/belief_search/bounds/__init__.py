"""What is known of beliefs that were searched, as bounds on the values of others.

A value never grows when states are added (B1 in docs/belief-search.md). So a belief that contains
another is worth at most as much, and one that is contained in another at least as much, with the
same public part and depth. `miai.belief_search.bounds.protocol` says what a search asks; every
other module is one way to answer.
"""

from miai.belief_search.bounds.protocol import UNKNOWN, Bounds, Known

__all__ = ["UNKNOWN", "Bounds", "Known"]
