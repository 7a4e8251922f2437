"""A match, a tournament of two players: their difference instead of two ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from miai_tournaments.ratings.ratings import FitValue
from miai_tournaments.report.standings import Tally

if TYPE_CHECKING:
    from miai_tournaments.report.details import ReportContents

_OUTCOMES: Final = 5  # of a pair: 0, 1/2, 1, 3/2 or 2 points


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadToHead:
    """The result of a match, from the first player's point of view.

    Attributes:
      players: the names, in the order in which they were entered.
      results: wins, draws and losses.
      difference: rating of the first player minus that of the second, in Elo.
      bootstrap: 95 % interval of the difference with resampled pairs, on request.
      superiority: probability that the first player is the stronger one.
      pentanomial: pairs of games in which the first player made 0, 1/2, 1, 3/2 and 2 points.
      unpaired: games without a second game of the pair.
    """

    players: tuple[str, str]
    results: Tally
    difference: FitValue
    bootstrap: tuple[float, float] | None
    superiority: float
    pentanomial: tuple[int, ...]
    unpaired: int

    @property
    def draw_ratio(self) -> float:
        """Share of the games that were drawn."""
        return self.results.draws / self.results.games

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "players": self.players,
            **self.results.to_json(),
            "difference": self.difference.to_json("elo"),
            "superiority": self.superiority,
            "draw_ratio": self.draw_ratio,
            "pentanomial": self.pentanomial,
            "unpaired": self.unpaired,
        }


def head_to_head(report: ReportContents) -> HeadToHead | None:
    """Return the match that a tournament is.

    None if it has more than two players, no game yet, results that are payoffs, or an anchor, in
    relation to which each rating has a meaning of its own.
    """
    ratings, names = report.ratings, tuple(report.standings.players)
    if ratings is None or ratings.anchor is not None or len(names) != 2:
        return None
    one, other = names
    results = report.standings.against(one, other)
    if not results.games:
        return None
    chances = ratings.superiority()
    interval = None
    if report.bootstrap is not None:
        players = report.bootstrap.players
        gaps = [report.bootstrap.elo[:, players.index(name)] for name in (one, other)]
        low, high = np.quantile(gaps[0] - gaps[1], (0.025, 0.975)).tolist()
        interval = low, high
    pentanomial, unpaired = _count_pairs(report.standings.pairs)
    return HeadToHead(
        players=(one, other),
        results=results,
        difference=ratings.difference(one, other),
        bootstrap=interval,
        superiority=float(chances[ratings.players.index(one), ratings.players.index(other)]),
        pentanomial=pentanomial,
        unpaired=unpaired,
    )


def _count_pairs(pairs: Mapping[str, Tally]) -> tuple[tuple[int, ...], int]:
    """Return the number of pairs by points, and of the games that are not in a pair."""
    counts, unpaired = [0] * _OUTCOMES, 0
    for tally in pairs.values():
        if tally.games == 2:
            counts[round(2 * tally.points)] += 1
        else:
            unpaired += tally.games
    return tuple(counts), unpaired
