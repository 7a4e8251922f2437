"""Standings, tables and crosstables of the games played."""
