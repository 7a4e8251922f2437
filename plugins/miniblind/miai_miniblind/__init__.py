"""Small games of hidden information for searches over beliefs.

Each is a `miai.beliefs.BeliefProblem` and a `miai.Game` in which player 0 observes what the problem
shows. docs/miniblind.md has the rules of both.
"""
