"""What a report tells beyond standings and ratings, and takes a while to find out.

Ratings over games, time use, openings, settings, teams, cycles and alpha-rank, what the format
said. A terminal has no room for it; pages, Markdown and JSON have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from miai.errors import MiaiError
from miai.game import Game
from miai_tournaments.ratings.alpharank import alpha_rank
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.performance import (
    Line,
    OpeningTest,
    Row,
    compare_openings,
    measure_performance,
)
from miai_tournaments.ratings.ratings import Estimate
from miai_tournaments.ratings.teams import team_rating
from miai_tournaments.ratings.transitivity import (
    Transitivity,
    measure_transitivity,
    payoff_table,
)
from miai_tournaments.report.history import Curve, rating_curves
from miai_tournaments.report.opening_names import OpeningNames
from miai_tournaments.report.standings import Tally, outcome
from miai_tournaments.report.timing import TimeUse, time_uses
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo

if TYPE_CHECKING:
    from miai_tournaments.report.report import Report

MOST_OPENINGS: Final = 20
"""Openings that are listed, those of most games first."""

_MOST_ALPHA_RANKED = 300
_LEAST_FOR_CYCLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team.

    Attributes:
      name: of the team.
      members: players' names.
      rating: the mean of its members'; None before any of them has played.
      against_others: results of its members against players who are not in it.
    """

    name: str
    members: tuple[str, ...]
    rating: Estimate | None
    against_others: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """See the module.

    Attributes:
      curves: ratings over games, best player first.
      times: use of time, likewise.
      openings: results of the first player by opening, up to `MOST_OPENINGS` of them.
      opening_count: how many openings there are.
      opening_test: whether results depend on the opening; None where there are not two.
      settings: likewise by the game's parameters, where games have their own.
      teams: in the order in which they were entered.
      transitivity: cycles; None with fewer than three players.
      alpha_rank: shares by player, best player first; None likewise.
      unmet: pairs of these players that never met; alpha-rank takes what ratings foretell.
      facts: what the format told last.
      terminations: games by reason, the most frequent first.
    """

    curves: Sequence[Curve]
    times: Sequence[TimeUse]
    openings: Sequence[Line]
    opening_count: int
    opening_test: OpeningTest | None
    settings: Sequence[Line]
    teams: Sequence[Team]
    transitivity: Transitivity | None
    alpha_rank: Mapping[str, float] | None
    unmet: int
    facts: Mapping[str, Any]
    terminations: Mapping[str, int]

    def alpha_rank_rests_on(self) -> str:
        """Return a sentence where alpha-rank knows some pairs of players by their ratings only."""
        if not self.unmet:
            return ""
        pairs = f"{self.unmet} pair{'s' * (self.unmet != 1)}"
        return f"For {pairs} of players that never met, alpha-rank takes what ratings foretell."

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "history": [curve.to_json() for curve in self.curves],
            "times": [use.to_json() for use in self.times],
            "openings": [_line(line) for line in self.openings],
            "opening_count": self.opening_count,
            "opening_test": None if self.opening_test is None else asdict(self.opening_test),
            "settings": [_line(line) for line in self.settings],
            "teams": [_team(team) for team in self.teams],
            "transitivity": None if self.transitivity is None else asdict(self.transitivity),
            "alpha_rank": None if self.alpha_rank is None else dict(self.alpha_rank),
            "unmet": self.unmet,
            "format": dict(self.facts),
            "terminations": dict(self.terminations),
        }


def build_details(
    report: Report,
    rows: Sequence[GameRow],
    *,
    players: Sequence[PlayerRow] = (),
    game: Game | None = None,
) -> Details:
    """Return the details of a report.

    Args:
      rows: the games that the report is of, in the order of the schedule.
      players: for their teams.
      game: for the notation of openings; numbers stand for actions without it.
    """
    names = report.ranking()
    ratings = report.ratings
    done = [row for row in rows if row.status == "done"]
    opening_names = OpeningNames(report.info, game)
    openings = _by_opening(done, opening_names)
    listed = sorted(measure_performance(openings).openings, key=lambda line: -line.games)
    some = len(listed) > 1 or any(line.opening for line in listed)
    return Details(
        curves=rating_curves(
            done,
            names,
            anchor=ratings.anchor,
            anchor_elo=ratings.anchor_elo,
            prior_games=ratings.prior_games,
        ),
        times=time_uses(done, names),
        openings=listed[:MOST_OPENINGS] if some else [],
        opening_count=len(listed) if some else 0,
        opening_test=compare_openings(openings) if len(listed) > 1 else None,
        settings=_by_settings(done, opening_names),
        teams=_teams(report, players),
        **_cycles(report),
        facts=report.info.facts if report.info else {},
        terminations=_terminations(report),
    )


def game_of(info: RunInfo | None) -> Game | None:
    """Return the game of a run; None where its plugin is not installed or has changed."""
    from miai.api import load_game

    if info is None:
        return None
    try:
        return load_game(info.game, **info.game_parameters)
    except (MiaiError, TypeError):
        return None


def _by_opening(rows: Iterable[GameRow], names: OpeningNames) -> list[Row]:
    table: list[Row] = []
    for row in rows:
        first, second = row.players
        table.append((names.name(row), first, second, (outcome(row) + 1) / 2))
    return table


def _by_settings(rows: Iterable[GameRow], names: OpeningNames) -> list[Line]:
    """Return results by the parameters of the game; empty where all games have the same."""
    table: list[Row] = []
    for row in rows:
        settings = names.settings(row)
        told = json.dumps(settings, sort_keys=True) if settings else ""
        first, second = row.players
        table.append((told, first, second, (outcome(row) + 1) / 2))
    lines = list(measure_performance(table).openings)
    return lines if len(lines) > 1 or any(line.opening for line in lines) else []


def _teams(report: Report, players: Sequence[PlayerRow]) -> list[Team]:
    members: dict[str, list[str]] = {}
    for player in players:
        if player.team:
            members.setdefault(player.team, []).append(player.name)
    return [_one_team(report, name, tuple(found)) for name, found in members.items()]


def _one_team(report: Report, name: str, members: tuple[str, ...]) -> Team:
    standings = report.standings
    others = [other for other in standings.players if other not in members]
    results = (standings.against(member, other) for member in members for other in others)
    played = [member for member in members if standings.players[member].total.games]
    return Team(
        name=name,
        members=members,
        rating=team_rating(report.ratings, played) if played else None,
        against_others=sum(results, Tally()),
    )


def _cycles(report: Report) -> dict[str, Any]:
    names = [name for name in report.ranking() if report.standings.players[name].total.games]
    if not _LEAST_FOR_CYCLES <= len(names) <= _MOST_ALPHA_RANKED:
        return {"transitivity": None, "alpha_rank": None, "unmet": 0}
    results = PairResults.from_games(report.standings.results(), players=names)
    shares = alpha_rank(payoff_table(results, ratings=report.ratings))
    return {
        "transitivity": measure_transitivity(results),
        "alpha_rank": dict(zip(names, map(float, shares), strict=True)),
        "unmet": sum(not report.standings.against(a, b).games for a, b in combinations(names, 2)),
    }


def _terminations(report: Report) -> dict[str, int]:
    counts: dict[str, int] = {}
    for standing in report.standings.players.values():
        for reason, tally in standing.endings.items():
            counts[reason] = counts.get(reason, 0) + tally.games
    return {
        reason: counts[reason] // 2  # each game was counted for both players
        for reason in sorted(counts, key=lambda reason: (-counts[reason], reason))
    }


def _line(line: Line) -> dict[str, Any]:
    told = {name: getattr(line, name) for name in ("wins", "draws", "losses", "low", "high")}
    return {"opening": line.opening, "games": line.games, "score": line.score, **told}


def _team(team: Team) -> dict[str, Any]:
    tally = team.against_others
    rating = team.rating
    return {
        "name": team.name,
        "members": list(team.members),
        "elo": rating.value if rating else None,
        "standard_error": rating.standard_error if rating else None,
        "low": rating.low if rating else None,
        "high": rating.high if rating else None,
        "games": tally.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "score": tally.score,
    }
