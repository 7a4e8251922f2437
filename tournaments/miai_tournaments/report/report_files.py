"""A report as files, in any of its formats; CSV for spreadsheets and Parquet for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from miai_tournaments.store.export import write_whole
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.run_tables import RunTables, csv_cell

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport


FOLDER: Final = "report"
"""Where reports are written, in the run's folder."""


def report_page(report: TournamentReport, *, replays: Sequence[GameRow] = ()) -> str:
    """Return a report with details as a page of HTML; replays are in ``replays/`` beside it."""
    from miai.pages.document_page import document_page
    from miai_tournaments.report.outline import report_document

    return document_page(
        report_document(report, replays=replays),
        title=report.info.name if report.info else "tournament",
        kind="tournament report",
        footer="Made by miai. This page needs no network; its tables sort by their heads.",
    )


FORMATS: Final = {
    "text": "report.txt",
    "html": "index.html",
    "markdown": "report.md",
    "csv": "csv",
    "json": "report.json",
    "parquet": "games.parquet",
}
"""Formats by name, each with the name of its file, or of its folder, in the folder ``report``."""


def write_report(
    report: TournamentReport,
    folder: Path,
    name: str,
    *,
    out: Path | None = None,
    replays: Sequence[GameRow] = (),
) -> Path:
    """Write a report with details and return its path.

    Args:
      folder: folder of the run.
      name: one of `FORMATS`.
      out: the file, for csv the folder; by default in ``report/`` of the run's folder. The moves
        of a stored run lie beside the games: ``moves.parquet``, ``moves.csv``.
      replays: games that the page links to.

    Raises:
      MissingExtraError: a package that the format needs is not installed.
      StoreError: the report cannot be written.
    """
    path = out or folder / FOLDER / FORMATS[name]
    match name:
        case "text":
            write_whole(path, report.to_text())
        case "html":
            write_whole(path, report_page(report, replays=replays))
        case "markdown":
            write_whole(path, report.to_markdown())
        case "csv":
            for file, content in csv_files(report).items():
                write_whole(path / file, content)
            if report.info:
                RunTables(folder).moves.write_csv(path / "moves.csv")
        case "json":
            write_whole(path, json.dumps(report.to_json(), indent=2) + "\n")
        case "parquet":
            run, name = RunTables(folder), path.name
            run.games.write_parquet(path)
            other = "moves.parquet" if name == FORMATS["parquet"] else f"{path.stem}-moves.parquet"
            run.moves.write_parquet(path.with_name(other))
    return path


# -- columns --------------------------------------------------------------------------------

_COLUMNS: Final = tuple(field.name for field in fields(GameRow))


def csv_files(report: TournamentReport) -> dict[str, str]:
    """Return CSV by file name: players, crosstable and games, and those details that exist."""
    document: Mapping[str, Any] = report.to_json()
    files = {
        "players.csv": csv_text([_flat(player) for player in document["players"]]),
        "crosstable.csv": csv_text(document["crosstable"]),
        "games.csv": csv_text(
            ({name: getattr(row, name) for name in _COLUMNS} for row in report.rows), _COLUMNS
        ),
    }
    details = document.get("details") or {}
    for name in ("openings", "times", "teams"):
        if details.get(name):
            files[f"{name}.csv"] = csv_text(details[name])
    return files


_WHOLE: Final = frozenset(("terminations", "parameters"))
"""Tables whose keys differ from row to row, each in a cell."""


def _flat(entry: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return tables in a table as columns of its own: ``as_first.wins``."""
    flat: dict[str, Any] = {}
    for key, value in entry.items():
        if key in _WHOLE:
            flat[before + key] = value
        elif isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[before + key] = value
    return flat


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV with a heading.

    Lists and tables in a cell are JSON. A text that a spreadsheet would take for a formula begins
    with an apostrophe.

    Args:
      columns: keys of the rows; by default those of the first one.
    """
    table = list(rows)
    out = io.StringIO()
    names = columns or (list(table[0]) if table else [])
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in table:
        writer.writerow([_cell(row[name]) for name in names])
    return out.getvalue()


def _cell(value: Any) -> object:
    return csv_cell(json.dumps(value) if isinstance(value, (Mapping, list, tuple)) else value)
