"""Positions with proved answers, to learn from."""
