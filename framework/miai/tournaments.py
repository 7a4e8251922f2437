"""Tournaments, comparisons and the data of runs; nothing in the framework imports this module."""

from __future__ import annotations

from miai_tournaments.api import TournamentStoppedError, open_run, run_comparison, run_tournament

__all__ = ["TournamentStoppedError", "open_run", "run_comparison", "run_tournament"]
