"""The report of a tournament: standings and ratings, as JSON or as a document.

    with Store.read(folder) as store:
        print(build_report(store).to_text())

docs/report.md describes the JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from miai.errors import ConfigError
from miai.plain import Json
from miai_tournaments.ratings.bootstrap import Bootstrap, bootstrap_ratings
from miai_tournaments.ratings.rankings import results_of
from miai_tournaments.ratings.ratings import PRIOR_GAMES, FitOptions, Ratings, fit_results
from miai_tournaments.report.details import (
    ReportContents,
    build_details,
    count_adjudications,
    game_of,
    read_nash_convs,
)
from miai_tournaments.report.head_to_head import head_to_head
from miai_tournaments.report.outline import report_document
from miai_tournaments.report.printing import blocks_of, renderable, to_markdown, to_text
from miai_tournaments.report.standings import PlayerStanding, Standings, count_games, count_store
from miai_tournaments.running.stored_run import expect_games
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo
from miai_tournaments.store.store import Store

if TYPE_CHECKING:
    from rich.console import RenderableType


SCHEMA: Final = "miai.report/2"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TournamentReport(ReportContents):
    """A tournament's report; its attributes are those of `ReportContents`."""

    def to_json(self) -> dict[str, Json]:
        """Return the report as plain data of schema `SCHEMA`; numbers are finite or null."""
        names = self.ranking()
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "tournament": _tournament(self.info, self.standings),
            "games": _games(self.standings),
            "model": {"name": "payoffs"} if self.ratings is None else _model(self.ratings),
            "players": [self._player(rank, name) for rank, name in enumerate(names, start=1)],
            "crosstable": [
                {"player": a, "opponent": b, **self._meeting(a, b)}
                for a in names
                for b in names
                if self.standings.against(a, b).games
            ],
            "forfeits": [_forfeit(row) for row in self.standings.forfeits],
            "voids": [
                {"game_id": row.game_id, "attempts": row.void_count, "reason": row.void_reason}
                for row in self.standings.voids
            ],
        }
        if self.info is not None and self.info.facts:
            document["format"] = dict(self.info.facts)
        if (match := head_to_head(self)) is not None:
            document["match"] = match.to_json()
        if self.adjudications is not None:
            document["adjudication"] = self.adjudications.to_json()
        if self.superiority and self.ratings is not None:
            document["matrices"] = self._matrices(self.ratings)
        if self.bootstrap is not None:
            document["bootstrap"] = self._bootstrap(self.bootstrap)
        if self.details is not None:
            document["details"] = self.details.to_json()
        plain: dict[str, Json] = _plain(document)
        return plain

    def to_text(self, width: int = 80) -> str:
        """Return the report as plain text in lines of at most `width` cells."""
        return to_text(blocks_of(report_document(self), "text"), width)

    def to_markdown(self) -> str:
        """Return the report as Markdown with tables (GitHub's)."""
        return to_markdown(report_document(self))

    def render(self, width: int = 80) -> RenderableType:
        """Return the report for rich to print on a console of `width` cells, the ratings last."""
        return renderable(blocks_of(report_document(self), "terminal"), width)

    def _repr_html_(self) -> str:
        from miai.pages.document_page import document_page
        from miai.pages.notebook import framed

        title = self.info.name if self.info else "tournament"
        document = report_document(self)
        return framed(document_page(document, title=title, kind="tournament report", footer=""))

    def _player(self, rank: int, name: str) -> dict[str, Any]:
        standing = self.standings.players[name]
        player = next((row for row in self.entered if row.name == name), None)
        payoffs = self.standings.payoffs
        mean = None if payoffs is None else payoffs.of(name)
        return {
            "rank": rank,
            "name": name,
            "agent": player.agent if player else None,
            "parameters": dict(player.given) if player else {},
            **({} if self.ratings is None else self.ratings.estimate(name).to_json("elo")),
            **standing.total.to_json(),
            "score": standing.score,
            **self._seats(standing),
            "seconds_per_move": standing.seconds.value,
            "cpu_seconds_per_move": standing.cpu_seconds.value,
            "mean_return": standing.returns.value,
            **({"nash_conv": self.nash_convs.get(name)} if self.nash_convs else {}),
            **(mean.to_json() if mean else {}),
            "terminations": {
                key: standing.endings[key].to_json() for key in sorted(standing.endings)
            },
        }

    def _seats(self, standing: PlayerStanding) -> dict[str, Any]:
        """Return results by seat; in games of two by who moved first."""
        tallies = standing.seats
        if self.standings.seats == 2:
            return {"as_first": tallies[0].to_json(), "as_second": tallies[1].to_json()}
        scores = [mean.value for mean in standing.ahead]
        pairs = zip(tallies, scores, strict=True)
        return {"seats": [{**tally.to_json(), "score": score} for tally, score in pairs]}

    def _meeting(self, a: str, b: str) -> dict[str, Any]:
        payoffs = self.standings.payoffs
        mean = None if payoffs is None else payoffs.against(a, b)
        return {**self.standings.against(a, b).to_json(), **(mean.to_json() if mean else {})}

    def _matrices(self, ratings: Ratings) -> dict[str, Any]:
        order = ratings.ranking()
        pick = [[(i, j) for j in order] for i in order]
        superiority, covariance = ratings.superiority(), ratings.covariance
        return {
            "players": self.ranking(),
            "superiority": [[float(superiority[cell]) for cell in row] for row in pick],
            "covariance": [[float(covariance[cell]) for cell in row] for row in pick],
        }

    def _bootstrap(self, bootstrap: Bootstrap) -> dict[str, Any]:
        intervals, errors = bootstrap.intervals(), bootstrap.standard_errors
        return {
            "replicates": len(bootstrap.elo),
            "seed": bootstrap.seed,
            "players": [
                {
                    "name": bootstrap.players[i],
                    "standard_error": float(errors[i]),
                    "low": float(intervals[i, 0]),
                    "high": float(intervals[i, 1]),
                }
                for i in (bootstrap.players.index(name) for name in self.ranking())
            ],
        }


def build_report(
    source: Store | Standings | Iterable[GameRow],
    *,
    info: RunInfo | None = None,
    players: Sequence[str] = (),
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior_games: float = PRIOR_GAMES,
    superiority: bool = False,
    bootstrap: int = 0,
    bootstrap_seed: int = 0,
    details: bool = False,
) -> TournamentReport:
    """Return the current report of a tournament.

    Args:
      source: a store, games of any status, or standings; bootstrap and details need games.
      info, players: facts of the run and names of its players, if games are given.
      anchor, anchor_elo, prior_games: see `ratings.fit_ratings`.
      superiority: whether to report the probability that one of two players is stronger, for all
        pairs, and the covariance of the ratings.
      bootstrap, bootstrap_seed: replicates of the pair bootstrap, 0 for none, and their seed.
      details: whether to compute the details (`miai_tournaments.report.details`).

    Raises:
      ConfigError: the anchor is not a player, a number is out of range, or an option is about
        ratings and results are payoffs.
      StoreError: the store cannot be read, or a finished game has no result.
    """
    entered: list[PlayerRow] = []
    adjudications, nash_convs = None, dict[str, float]()
    if isinstance(source, Store):
        expect_games(source)
        info, entered = source.info(), source.players()
        nash_convs = read_nash_convs(source.folder, info, entered)
        adjudications = count_adjudications(source, info)
        players = [player.name for player in entered]
    standings, rows = _count(source, info, players, games=details or bool(bootstrap))
    ratings = resampled = None
    options = FitOptions(anchor=anchor, anchor_elo=anchor_elo, prior_games=prior_games)
    if standings.payoffs is None:
        names = tuple(standings.players)
        ratings = fit_results(results_of(standings.rankings, players=names), **options)
        resampled = _resample(rows, names, bootstrap, bootstrap_seed, options)
    else:
        _refuse_ratings(anchor=anchor, bootstrap=bootstrap, superiority=superiority)
    report = TournamentReport(
        info=info,
        standings=standings,
        ratings=ratings,
        bootstrap=resampled,
        superiority=superiority,
        rows=rows,
        entered=entered,
        adjudications=adjudications,
        nash_convs=nash_convs,
    )
    if not details:
        return report
    return replace(report, details=build_details(report, rows, players=entered, game=game_of(info)))


def _count(
    source: Store | Standings | Iterable[GameRow],
    info: RunInfo | None,
    players: Sequence[str],
    *,
    games: bool,
) -> tuple[Standings, Sequence[GameRow]]:
    """Return the standings of a source, and its games if they are needed or were read anyway."""
    if isinstance(source, Standings):
        return source, ()
    rows: Sequence[GameRow] = ()
    if isinstance(source, Store) and not games:
        standings = count_store(source)
    else:
        rows = source.games() if isinstance(source, Store) else list(source)
        payoffs = info is not None and info.payoff_bound() is not None
        standings = count_games(rows, players=players, payoffs=payoffs)
    if isinstance(source, Store):
        statuses: dict[str, int] = {key: n for key, n in source.counts().items() if n}
        standings = replace(standings, statuses=statuses, gaps=tuple(source.gaps()))
    return standings, rows


def _resample(
    rows: Iterable[GameRow], players: tuple[str, ...], count: int, seed: int, options: FitOptions
) -> Bootstrap | None:
    if not count:
        return None
    blocks = [(row.pair_id, row.players, row.returns) for row in rows if row.status == "done"]
    return bootstrap_ratings(blocks, players=players, replicates=count, seed=seed, **options)


def _refuse_ratings(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise ConfigError(
                f"{name}: is about ratings, but the results of this game are payoffs, of which "
                "the report gives means with intervals; leave the option out"
            )


def _tournament(info: RunInfo | None, standings: Standings) -> dict[str, Any]:
    started = standings.started or (None, None)
    return {
        "name": info.name if info else None,
        "game": info.game if info else None,
        "game_version": info.game_version if info else None,
        "game_parameters": info.game_parameters if info else {},
        "time_control": info.time_control if info else {},
        "move_limit": info.move_limit if info else None,
        "rounds": info.rounds if info else None,
        "seed": info.seed if info else None,
        "isolation": info.isolation() or None if info else None,
        "created": info.created or None if info else None,
        "first_game": started[0],
        "last_game": started[-1],
        "versions": standings.versions,
    }


def _games(standings: Standings) -> dict[str, Any]:
    statuses = standings.statuses
    return {
        "scheduled": sum(statuses.values()),
        "done": statuses.get("done", 0),
        "running": statuses.get("running", 0),
        "pending": statuses.get("pending", 0),
        "void": statuses.get("void", 0),
        "gaps": standings.gaps,
        "void_attempts": standings.void_attempts,
        "mean_moves": standings.lengths.value,
        "first_player": standings.first_player.to_json(),
    }


def _model(ratings: Ratings) -> dict[str, Any]:
    advantage, draws = ratings.first_player_advantage, ratings.draw_probability
    of_two = {
        "first_player_advantage": advantage.to_json("elo") if advantage else None,
        "draw_probability": draws.to_json("value") if draws else None,
    }
    seats = [seat.to_json("elo") for kind in ratings.seats for seat in kind]
    return {
        "name": "plackett-luce" if seats else "davidson",
        "prior_games": ratings.prior_games,
        "anchor": ratings.anchor,
        "anchor_elo": ratings.anchor_elo,
        **({"seats": seats} if seats else of_two),
        "groups": ratings.groups,
        "one_sided": ratings.one_sided,
    }


def _forfeit(row: GameRow) -> dict[str, Any]:
    loser = row.players[row.loser] if row.loser is not None else None
    return {
        "game_id": row.game_id,
        "player": loser,
        "termination": row.termination,
        "detail": row.detail,
    }


def _plain(value: Any) -> Any:
    """Return a copy for JSON: tuples as lists, numbers that are not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
