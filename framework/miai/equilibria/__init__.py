"""Exploitability and equilibria of games of two players and constant sum. Needs numba.

>>> from miai.equilibria import exploitability, extract

`extract` walks a game once; a policy on its `Tree` is an array. See docs/equilibria.md.
"""

from miai.equilibria.tree import Tree, best_response, expected_values, exploitability, extract

__all__ = ["Tree", "best_response", "expected_values", "exploitability", "extract"]
