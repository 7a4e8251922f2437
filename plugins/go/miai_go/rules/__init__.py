"""The rules of Go: board, states, scoring, simple players and drawings."""
