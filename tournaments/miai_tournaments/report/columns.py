"""Games and figures as columns: CSV for spreadsheets, Parquet for programs."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from miai.errors import ConfigError, StoreError
from miai.files import atomic_file
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport


_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS: Final = tuple(field.name for field in fields(GameRow))
_AS_JSON: Final = ("settings", "versions")
_EXTRA: Final = "parquet"


def csv_files(report: TournamentReport) -> dict[str, str]:
    """Return CSV by file name: players, crosstable, openings where there are any, and games.

    Lists and tables in a cell are JSON. A text that a spreadsheet would take for a formula begins
    with an apostrophe.
    """
    document: Mapping[str, Any] = report.to_json()
    files = {
        "players.csv": _csv([_flat(player) for player in document["players"]]),
        "crosstable.csv": _csv(document["crosstable"]),
        "games.csv": _csv([_game(row) for row in report.rows], _COLUMNS),
    }
    details = document.get("details") or {}
    for name in ("openings", "times", "teams"):
        if details.get(name):
            files[f"{name}.csv"] = _csv(details[name])
    return files


def write_parquet(rows: Sequence[GameRow], path: Path) -> None:
    """Write games with all their columns as Parquet.

    ``settings`` and ``versions`` are texts of JSON, the other lists are lists.

    Raises:
      ConfigError: pyarrow is not installed.
      StoreError: the file cannot be written.
    """
    try:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(
            f"--format parquet: needs pyarrow; install it with: pip install 'miai[{_EXTRA}]'"
        ) from None
    table = pyarrow.table(
        {name: [_parquet_cell(name, getattr(row, name)) for row in rows] for name in _COLUMNS},
        schema=_schema(pyarrow),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            parquet.write_table(table, file)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def _schema(pyarrow: Any) -> Any:
    text, whole, real = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    kinds = {
        **dict.fromkeys(("round", "seed", "loser", "moves", "void_count"), whole),
        **dict.fromkeys(("opening", "player_moves"), pyarrow.list_(whole)),
        **dict.fromkeys(("returns", "seconds", "cpu_seconds"), pyarrow.list_(real)),
        "players": pyarrow.list_(text),
        "wall_seconds": real,
    }
    return pyarrow.schema([(name, kinds.get(name, text)) for name in _COLUMNS])


def _parquet_cell(name: str, value: Any) -> Any:
    return json.dumps(value) if name in _AS_JSON else value


def _game(row: GameRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COLUMNS}


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


def _csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    table = list(rows)
    out = io.StringIO()
    names = columns or (list(table[0]) if table else [])
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in table:
        writer.writerow([_cell(row[name]) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULAS) else value
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value)
    return "" if value is None else value
