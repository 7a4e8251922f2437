"""A report as files, in any of its formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from miai_tournaments.store.export import write_whole
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport


FOLDER: Final = "report"
"""Where a tournament's pages lie, in its folder."""


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format of reports.

    Attributes:
      file: the name of its file, or of its folder, in the folder ``report``.
      write: writes a report there.
    """

    file: str
    write: Callable[[TournamentReport, Path, Sequence[GameRow]], None]


def _text(report: TournamentReport, path: Path, replays: Sequence[GameRow]) -> None:
    write_whole(path, report.to_text())


def _json(report: TournamentReport, path: Path, replays: Sequence[GameRow]) -> None:
    write_whole(path, json.dumps(report.to_json(), indent=2) + "\n")


def _html(report: TournamentReport, path: Path, replays: Sequence[GameRow]) -> None:
    from miai_tournaments.report.page import report_page

    write_whole(path, report_page(report, replays=replays))


def _markdown(report: TournamentReport, path: Path, replays: Sequence[GameRow]) -> None:
    write_whole(path, report.to_markdown())


def _csv(report: TournamentReport, path: Path, replays: Sequence[GameRow]) -> None:
    from miai_tournaments.report.columns import csv_files

    for name, content in csv_files(report).items():
        write_whole(path / name, content)


def _parquet(report: TournamentReport, path: Path, replays: Sequence[GameRow]) -> None:
    from miai_tournaments.report.columns import write_parquet

    write_parquet(report.rows, path)


FORMATS: Final = {
    "text": ReportFormat("report.txt", _text),
    "html": ReportFormat("index.html", _html),
    "markdown": ReportFormat("report.md", _markdown),
    "csv": ReportFormat("csv", _csv),
    "json": ReportFormat("report.json", _json),
    "parquet": ReportFormat("games.parquet", _parquet),
}
"""By name."""


def write_report(
    report: TournamentReport,
    folder: Path,
    name: str,
    *,
    out: Path | None = None,
    replays: Sequence[GameRow] = (),
) -> Path:
    """Write a report, which has details, and return where.

    Args:
      folder: the tournament's.
      name: one of `FORMATS`.
      out: the file, for csv the folder; by default in ``report/`` of the tournament's folder.
      replays: games that the page links to.

    Raises:
      ConfigError: what the format needs is not installed.
      StoreError: it cannot be written.
    """
    made = FORMATS[name]
    path = out or folder / FOLDER / made.file
    made.write(report, path, replays)
    return path
