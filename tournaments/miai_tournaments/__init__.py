"""Tournaments: config, schedule, executors, store, ratings, report."""
