"""Performance by opening.

Openings are arbitrary texts; games without an opening share one, such as the empty text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from miai_tournaments.ratings.ratings import Z95

OpeningScore = tuple[str, float]
"""Opening, and the first player's score: 0, 0.5 or 1."""

_SCORES: Final = (1.0, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class PerformanceRow:
    """Results of the games with one opening, from the first player's point of view.

    Attributes:
      opening: the opening.
      wins, draws, losses: games.
      low, high: 95 % interval of the score (Wilson 1927); conservative with draws, which reduce the
        variance.
    """

    opening: str
    wins: int
    draws: int
    losses: int
    low: float
    high: float

    @property
    def games(self) -> int:
        """Number of games, at least 1."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Points per game, from 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


def wilson_interval(points: float, games: float) -> tuple[float, float]:
    """Return the 95 % interval of a score (E. Wilson, JASA 1927); 0 to 1 without games."""
    if games <= 0:
        return 0.0, 1.0
    share, weight = points / games, Z95**2 / games
    middle = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    low = 0.0 if points == 0 else max(0.0, middle - half)
    return low, 1.0 if points == games else min(1.0, middle + half)


def measure_performance(rows: Iterable[OpeningScore]) -> list[PerformanceRow]:
    """Return the first player's results by opening, in order of appearance.

    Raises `ValueError` for an invalid score.
    """
    openings: dict[str, list[int]] = {}
    for opening, score in rows:
        if score not in _SCORES:
            raise ValueError(f"a score is 0, 0.5 or 1, not {score}: that of the first player")
        openings.setdefault(opening, [0, 0, 0])[_SCORES.index(score)] += 1
    lines = []
    for opening, (wins, draws, losses) in openings.items():
        low, high = wilson_interval(wins + draws / 2, wins + draws + losses)
        lines.append(PerformanceRow(opening, wins, draws, losses, low, high))
    return lines
