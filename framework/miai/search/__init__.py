"""Searches over any game, and the protocols that searches and evaluators keep."""

from miai.search.protocol import Evaluator, InPlaceEvaluator, Search, SearchResult, Seedable

__all__ = ["Evaluator", "InPlaceEvaluator", "Search", "SearchResult", "Seedable"]
