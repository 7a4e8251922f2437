"""Formats of tournaments: who meets whom, decided by what was played so far."""
