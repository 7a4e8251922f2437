"""The command ``miai rate``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miai.errors import ConfigError

if TYPE_CHECKING:
    from miai.pages.document import Table
    from miai_tournaments.ratings.ratings import Ratings
    from miai_tournaments.report.joint_ratings import Joined, RunResults


Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR|FILE...", help="Folders of runs; results in files .pgn or .csv."),
]

SCHEMA = "miai.rate/1"

_COLUMNS = (
    *("rank", "player", "name", "agent", "version", "parameters"),
    *("elo", "standard_error", "low", "high", "games", "points", "score", "runs"),
)


def rate(
    folders: Folders,
    anchor: Annotated[
        str | None,
        typer.Option(metavar="PLAYER", help="Player with a fixed rating (default: mean)."),
    ] = None,
    anchor_elo: Annotated[
        float, typer.Option(metavar="ELO", help="Rating of the anchor player (default 0).")
    ] = 0.0,
    unlinked: Annotated[
        bool, typer.Option("--unlinked", help="Allow agents that no games link.")
    ] = False,
    across_games: Annotated[
        bool, typer.Option("--across-games", help="Allow runs of different games in the list.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Rate the agents of several runs in one list; agents match by name, parameters and version.

    A file has the results of games from elsewhere: CSV with the columns first, second and score,
    or PGN.
    """
    import json

    if as_json and as_csv:
        raise ConfigError("--csv: cannot be combined with --json; choose one")
    rated = rate_runs(
        folders, anchor=anchor, anchor_elo=anchor_elo, unlinked=unlinked, across_games=across_games
    )
    if as_json:
        print(json.dumps(rated.to_json(), indent=2, allow_nan=False))
        return
    for warning in rated.joined.warnings:
        print(f"miai: {_line(warning)}", file=sys.stderr)
    if as_csv:
        print(rated.to_csv(), end="")
        return
    from miai_tournaments.report.printing import print_at_width, renderable

    print_at_width(partial(renderable, [rated.to_table()]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateList:
    """Agents of several runs, rated in one fit.

    Attributes:
      runs: results of the runs.
      joined: the runs as one league.
      ratings: ratings of `joined.results`.
    """

    runs: tuple[RunResults, ...]
    joined: Joined
    ratings: Ratings

    def entries(self) -> list[dict[str, Any]]:
        """Return the agents, best first, as plain data."""
        return [self._entry(rank, i) for rank, i in enumerate(self.ratings.ranking(), start=1)]

    def _entry(self, rank: int, index: int) -> dict[str, Any]:
        import json

        name = self.ratings.players[index]
        identity, estimate = self.joined.identities[index], self.ratings.estimate(name)
        games, points = float(self.ratings.games[index]), float(self.ratings.points[index])
        return {
            "rank": rank,
            "player": name,
            "name": identity.name,
            "agent": identity.agent,
            "version": identity.version or None,
            "parameters": json.loads(identity.parameters),
            **estimate.to_json("elo"),
            "games": round(games),
            "points": points,
            "score": points / games,
            "runs": list(self.joined.sources[index]),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the list as plain data; every number is finite."""
        ratings, advantage = self.ratings, self.ratings.first_player_advantage
        draws = ratings.draw_probability
        return {
            "schema": SCHEMA,
            "game": self.runs[0].game if len(self._games()) == 1 else None,
            "runs": [{"source": run.source, "games": round(run.games)} for run in self.runs],
            "anchor": ratings.anchor,
            "anchor_elo": ratings.anchor_elo,
            "first_player_advantage": advantage.value if advantage else None,
            "draw_probability": draws.value if draws else None,
            **self._kinds(),
            "players": self.entries(),
            "links": list(self.joined.links),
            "groups": [list(group) for group in self.joined.groups],
            "one_sided": [list(group) for group in ratings.one_sided],
            "warnings": list(self.joined.warnings),
        }

    def _games(self) -> list[str]:
        """Return the names of the games."""
        return list(dict.fromkeys(run.game for run in self.runs))

    def _kinds(self) -> dict[str, Any]:
        """Return the games of a fit of rankings, with the values of their seats."""
        import json

        if not self.ratings.seats:
            return {}
        kinds = zip(self.joined.kinds, self.ratings.seats, strict=True)
        return {
            "kinds": [
                {
                    "game": game,
                    "parameters": json.loads(parameters),
                    "seats": [seat.value for seat in seats],
                }
                for (game, parameters), seats in kinds
            ]
        }

    def to_csv(self) -> str:
        """Return CSV, a line per agent; parameters are JSON, runs are separated by spaces."""
        from miai_tournaments.report.report_files import csv_text

        rows = [{**entry, "runs": " ".join(entry["runs"])} for entry in self.entries()]
        return csv_text(rows, _COLUMNS)

    def to_table(self) -> Table:
        """Return the list as a table for a terminal."""
        from miai.pages.document import NONE, Column, Table, counted, printable
        from miai_tournaments.report.rating_tables import PLAYER, RANK, percent, signed

        columns = (
            RANK,
            replace(PLAYER, max_width=None),
            Column("Elo", style="bold"),
            Column("\N{PLUS-MINUS SIGN}"),
            Column("score"),
            Column("games", drop=2),
            Column("runs", drop=3),
            Column("agent", align="left", drop=1),
            Column("version", align="left", drop=4),
        )
        rows = tuple(
            (
                str(entry["rank"]),
                printable(entry["player"], 60),
                signed(entry["elo"]),
                f"{entry['high'] - entry['elo']:.0f}",
                percent(entry["score"]),
                str(entry["games"]),
                str(len(entry["runs"])),
                printable(entry["agent"] or NONE, 24),
                printable(entry["version"] or NONE, 24),
            )
            for entry in self.entries()
        )
        total = round(sum(run.games for run in self.runs))
        runs = counted(len(self.runs), "run")
        title = f"{_line(', '.join(self._games()))}: {counted(total, 'game')} of {runs}"
        return Table(title, columns, rows)


def rate_runs(
    folders: list[Path],
    *,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    unlinked: bool = False,
    across_games: bool = False,
) -> RateList:
    """Return the joint ratings of the runs in some folders, and of files of results.

    Args:
      folders: a path with the suffix ``.pgn`` or ``.csv`` is a file, see `read_results`.
      anchor: label of an agent.

    Raises:
      StoreError: a store cannot be read.
      ConfigError: the runs cannot be joined (see `join_runs`), a file is wrong, or the anchor is
        unknown.
    """
    from miai_tournaments.commands.report import option_named
    from miai_tournaments.ratings.ratings import fit_results
    from miai_tournaments.report.foreign_results import read_results
    from miai_tournaments.report.joint_ratings import join_runs, read_run

    resolved: dict[Path, Path] = {}
    for folder in folders:
        if folder.resolve() in resolved:
            raise ConfigError(f"{folder}: is named twice; name each run once")
        resolved[folder.resolve()] = folder
    files = [not path.is_dir() and path.suffix.lower() in (".pgn", ".csv") for path in folders]
    read = (read_results if is_file else read_run for is_file in files)
    runs = tuple(reader(path) for reader, path in zip(read, folders, strict=True))
    joined = join_runs(runs, unlinked=unlinked, across_games=across_games)
    with option_named():
        ratings = fit_results(joined.results, anchor=anchor, anchor_elo=anchor_elo)
    return RateList(runs=runs, joined=joined, ratings=ratings)


def _line(text: str) -> str:
    from miai.pages.document import printable

    return printable(text, 1000)
