"""Ratings over games: the fit repeated on growing prefixes of the schedule.

The prefixes follow the order of the schedule, not that in which games ended, so that the curves do
not depend on which worker was faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import PRIOR_GAMES, Ratings, fit_ratings
from miai_tournaments.report.standings import outcome
from miai_tournaments.store.rows import GameRow

POINTS: Final = 50
"""Prefixes that are fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One player's rating over the games of the tournament.

    Attributes:
      player: its name.
      games: length of each prefix, in games of all players; those in which it had not played are
        left out.
      elo, standard_errors: of the fit of each prefix.
    """

    player: str
    games: tuple[int, ...]
    elo: tuple[float, ...]
    standard_errors: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "player": self.player,
            "games": list(self.games),
            "elo": list(self.elo),
            "standard_errors": list(self.standard_errors),
        }


def rating_curves(
    rows: Iterable[GameRow],
    players: Sequence[str],
    *,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
    points: int = POINTS,
) -> list[Curve]:
    """Return a curve for each player, in the order given.

    Args:
      rows: games of any status, in the order of the schedule; those that are done count.
      players: every player of the games.
      anchor, anchor_elo, prior_games: see `ratings.fit_ratings`.
      points: most prefixes.
    """
    index = {name: i for i, name in enumerate(players)}
    size = len(players)
    codes = [
        (index[row.players[0]] * size + index[row.players[1]]) * 3 + 1 - outcome(row)
        for row in rows
        if row.status == "done"
    ]
    ends = np.unique(np.linspace(0, len(codes), points + 1).round().astype(int))[1:].tolist()
    counts = np.zeros((size * size, 3))
    fits: list[tuple[int, Ratings]] = []
    begin = 0
    for end in ends:
        counts += np.bincount(codes[begin:end], minlength=counts.size).reshape(counts.shape)
        begin = end
        results = _results(counts, players)
        fits.append(
            (
                end,
                fit_ratings(results, anchor=anchor, anchor_elo=anchor_elo, prior_games=prior_games),
            )
        )
    return [_curve(i, name, fits) for i, name in enumerate(players)]


def _results(counts: np.typing.NDArray[np.float64], players: Sequence[str]) -> PairResults:
    met = np.flatnonzero(counts.sum(axis=1))
    return PairResults.from_counts(
        met // len(players), met % len(players), *counts[met].T, players=players
    )


def _curve(index: int, name: str, fits: Sequence[tuple[int, Ratings]]) -> Curve:
    played = [(end, fit) for end, fit in fits if fit.games[index]]
    return Curve(
        player=name,
        games=tuple(end for end, _ in played),
        elo=tuple(float(fit.elo[index]) for _, fit in played),
        standard_errors=tuple(float(fit.standard_errors[index]) for _, fit in played),
    )
