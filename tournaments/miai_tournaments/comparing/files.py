"""What a comparison leaves in its folder beside the store: text, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from miai_tournaments.comparing.load import Comparison
from miai_tournaments.comparing.summary import Row, Searches
from miai_tournaments.comparing.tables import incomplete_lines, tables
from miai_tournaments.report.layout import Block, Paragraph, to_text
from miai_tournaments.store.comparisons import ComparisonInfo, Measured
from miai_tournaments.store.export import write_whole

SCHEMA = "miai.comparison/1"
WIDTH = 200
"""Cells of a line of the text file, in which no column is left out."""


def blocks(comparison: Comparison, rows: Sequence[Row]) -> list[Block]:
    """Return the report as it is shown and written."""
    shown = tables(rows, baseline=comparison.baseline, truth=comparison.judge)
    left = incomplete_lines(rows)
    return [*shown, *([Paragraph(tuple(left))] if left else [])]


def to_json(comparison: Comparison, info: ComparisonInfo, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the whole comparison as one JSON object."""
    section = comparison.config.comparison
    return {
        "schema": SCHEMA,
        "name": comparison.name,
        "baseline": comparison.baseline,
        "truth": comparison.judge,
        "repeats": section.repeats,
        "deepening": section.deepening,
        "created": info.created,
        "machine": info.machine,
        "versions": dict(info.versions),
        "arms": {
            arm.name: {"search": arm.search, "parameters": dict(arm.parameters)}
            for arm in comparison.arms.values()
        },
        "rows": [row.to_json() for row in rows],
    }


def write_files(
    folder: Path, comparison: Comparison, info: ComparisonInfo, rows: Sequence[Row], found: Searches
) -> None:
    """Write `comparison.txt`, `comparison.json`, `rows.csv` and `searches.csv`.

    Raises:
      StoreError: they cannot be written.
    """
    write_whole(folder / "comparison.txt", to_text(blocks(comparison, rows), WIDTH))
    text = json.dumps(to_json(comparison, info, rows), indent=2)
    write_whole(folder / "comparison.json", text + "\n")
    write_whole(folder / "rows.csv", _csv(_flat(row.to_json()) for row in rows))
    write_whole(folder / "searches.csv", _csv(_search_rows(comparison, found)))


def _search_rows(comparison: Comparison, found: Searches) -> Iterable[dict[str, Any]]:
    for block in comparison.blocks:
        for key in block.searches():
            if (measured := found.get(key)) is not None:
                names = {"game": key.game, "depth": key.depth, "class": key.kind}
                more = {"cache": "warm" if key.warm else "cold", "seed": key.seed}
                row = {**names, **more, "root": key.root, "arm": key.arm}
                row |= {f.name: getattr(measured, f.name) for f in fields(Measured)}
                row["statistics"] = json.dumps(dict(measured.statistics))
                wrong = {"wrong_value": measured.wrong_value, "wrong_move": measured.wrong_move}
                yield {**row, **wrong}


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose intervals are three columns each: ``x``, ``x_low``, ``x_high``."""
    intervals = ("speedup_nodes", "speedup_seconds", "wrong_value_rate", "wrong_move_rate")
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if key not in intervals:
            flat[key] = value
            continue
        for end, name in (("value", key), ("low", f"{key}_low"), ("high", f"{key}_high")):
            flat[name] = None if value is None else value[end]
    return flat


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return text.getvalue()
