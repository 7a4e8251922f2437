"""Small games of hidden information for searches over beliefs: a hidden king, marks, a submarine.

Each is there twice: as a `miai.beliefs.BeliefProblem`, made for search, and as a `miai.Game`,
which tells player 0 just what the problem tells. docs/miniblind.md has the rules of both.
"""
