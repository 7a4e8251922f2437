"""Searches of Go: compiled MCTS, and searches guided by networks."""
