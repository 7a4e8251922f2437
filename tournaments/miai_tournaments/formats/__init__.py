"""Formats of tournaments: they pair players from the results so far."""
