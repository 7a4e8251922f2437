"""The tables of a comparison, one for each cell with a line for each arm, and its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import Path
from typing import Any

from miai.pages.document import NONE, Block, Column, Paragraph, Table, counted, printable
from miai_tournaments.compare.config import Comparison
from miai_tournaments.compare.results import ComparisonInfo, Measurement
from miai_tournaments.compare.summary import ArmRow, Interval, Searches
from miai_tournaments.report.printing import to_text
from miai_tournaments.report.report_files import csv_text
from miai_tournaments.store.export import write_whole

_NAME_WIDTH = 28
_TIMES = "\N{MULTIPLICATION SIGN}"

_COLUMNS = (
    Column("arm", align="left"),
    Column("nodes"),
    Column("leaves", drop=5),
    Column("seconds", drop=1),
    Column("entries", drop=4),
    Column("bytes", drop=6),
    Column(f"nodes {_TIMES}"),
    Column("95 %", drop=2),
    Column(f"wall {_TIMES}"),
    Column("95 %", drop=3),
    Column("wrong values"),
    Column("95 %", drop=7),
    Column("+/-", drop=8),
    Column("wrong moves"),
    Column("95 %", drop=7),
)

_NOTES = (
    "nodes, leaves, seconds: sums over the arm's complete searches; entries, bytes: maximum at the "
    "end of a search.",
    f"{_TIMES}: the baseline's sum by the arm's, over the roots that both searched completely, "
    "with the interval of a bootstrap over roots. +/-: wrong values above and below the true one.",
)


def cell_title(row: ArmRow) -> str:
    """Return the title of a row's cell."""
    return f"{row.game}, depth {row.depth}, {row.kind} roots" + ", warm" * row.warm


def _table(rows: Sequence[ArmRow], baseline: str) -> Table:
    first = rows[0]
    count = max(row.roots + row.incomplete for row in rows)
    title = f"{cell_title(first)}: {counted(count, 'root')}, against '{baseline}'"
    short = any(row.incomplete for row in rows)
    columns = (*_COLUMNS, Column("incomplete")) if short else _COLUMNS
    cells = [(*_cells(row), *([str(row.incomplete)] if short else [])) for row in rows]
    return Table(title, columns, tuple(cells))


def _cells(row: ArmRow) -> tuple[str, ...]:
    moves, values = row.wrong_move_rate, row.wrong_value_rate
    return (
        printable(row.arm, _NAME_WIDTH),
        f"{row.nodes:,}" if row.roots else NONE,
        f"{row.leaves:,}" if row.roots else NONE,
        f"{row.seconds:.3g}" if row.seconds < 1000 else f"{row.seconds:,.0f}",
        f"{row.entries:,}",
        _size(row.bytes),
        _times(row.speedup_nodes),
        _span(row.speedup_nodes),
        _times(row.speedup_seconds),
        _span(row.speedup_seconds),
        f"{row.wrong_values}/{row.judged}" if row.judged else NONE,
        _shares(values),
        f"{row.too_high}/{row.too_low}" if row.wrong_values else NONE,
        f"{row.wrong_moves}/{row.judged}" if row.judged else NONE,
        _shares(moves),
    )


def _times(ratio: Interval | None) -> str:
    return NONE if ratio is None else _figure(ratio.value)


def _span(ratio: Interval | None) -> str:
    if ratio is None or ratio.low is None or ratio.high is None:
        return NONE
    return f"{_figure(ratio.low)}-{_figure(ratio.high)}"


def _shares(share: Interval | None) -> str:
    if share is None or share.low is None or share.high is None:
        return NONE
    return f"{100 * share.low:.0f}-{100 * share.high:.0f} %"


def _figure(value: float) -> str:
    """Return a ratio with about three significant digits."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return str(count)


SCHEMA = "miai.comparison/1"
WIDTH = 200
"""Width of the text file, which has all columns."""


def verdict(rows: Sequence[ArmRow], baseline: str) -> str:
    """Return how much faster than the baseline the best arm is, in the first of the deepest cells.

    The best arm is the fastest of those whose values are right, if there is one.
    """
    timed = [(row, wall) for row in rows if row.arm != baseline and (wall := row.speedup_seconds)]
    if not timed:
        return f"No arm has completed a root that '{baseline}' has completed."
    deepest = max(timed, key=lambda pair: pair[0].depth)[0].cell
    own = [pair for pair in timed if pair[0].cell == deepest]
    best, wall = max(own, key=lambda pair: (not pair[0].wrong_values, pair[1].value))
    how_sure = "too few roots for an interval"
    if wall.low is not None and wall.high is not None:
        how_sure = f"95 % {_span(wall)}" + ", no clear difference" * (wall.low <= 1 <= wall.high)
    wrong = f" Wrong values: {best.wrong_values} of {best.judged}." if best.judged else ""
    name, base = (printable(arm, _NAME_WIDTH) for arm in (best.arm, baseline))
    return (
        f"{cell_title(best)}: '{name}' is {_times(wall)} times as fast as '{base}' ({how_sure}), "
        f"nodes {_TIMES} {_times(best.speedup_nodes)}.{wrong}"
    )


def blocks(comparison: Comparison, rows: Sequence[ArmRow]) -> list[Block]:
    """Return the verdict, a table for each cell, notes on the columns, and on incomplete arms."""
    if not rows:
        return []
    base, truth = comparison.baseline, comparison.judge
    cells = [_table(list(group), base) for _, group in groupby(rows, key=lambda row: row.cell)]
    judged = (f"The values of '{truth}' count as true.",) if truth != base else ()
    incomplete = tuple(
        f"{cell_title(row)}: '{printable(row.arm, _NAME_WIDTH)}' left "
        f"{counted(row.incomplete, 'root')} of {row.roots + row.incomplete} incomplete; they count "
        "for no speed-up"
        for row in rows
        if row.incomplete
    )
    remarks = [Paragraph(incomplete)] if incomplete else []
    return [Paragraph((verdict(rows, base),)), *cells, Paragraph((*_NOTES, *judged)), *remarks]


def to_json(comparison: Comparison, info: ComparisonInfo, rows: Sequence[ArmRow]) -> dict[str, Any]:
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
    folder: Path,
    comparison: Comparison,
    info: ComparisonInfo,
    rows: Sequence[ArmRow],
    searches: Searches,
) -> None:
    """Write `comparison.txt`, `comparison.json`, `rows.csv` and `searches.csv`.

    Raises:
      StoreError: they cannot be written.
    """
    write_whole(folder / "comparison.txt", to_text(blocks(comparison, rows), WIDTH))
    text = json.dumps(to_json(comparison, info, rows), indent=2)
    write_whole(folder / "comparison.json", text + "\n")
    write_whole(folder / "rows.csv", csv_text(_flat(row.to_json()) for row in rows))
    write_whole(folder / "searches.csv", csv_text(_search_rows(comparison, searches)))


def _search_rows(comparison: Comparison, searches: Searches) -> Iterable[dict[str, Any]]:
    for block in comparison.blocks:
        for key in block.searches():
            if (measured := searches.get(key)) is not None:
                names = {"game": key.game, "depth": key.depth, "class": key.kind}
                more = {"cache": "warm" if key.warm else "cold", "seed": key.seed}
                row = {**names, **more, "root": key.root, "arm": key.arm}
                row |= {f.name: getattr(measured, f.name) for f in fields(Measurement)}
                row["statistics"] = json.dumps(dict(measured.statistics))
                wrong = {"wrong_value": measured.wrong_value, "wrong_move": measured.wrong_move}
                yield {**row, **wrong}


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with three columns for each interval: ``x``, ``x_low``, ``x_high``."""
    intervals = (
        "mean_seconds",
        "speedup_nodes",
        "speedup_seconds",
        "wrong_value_rate",
        "wrong_move_rate",
    )
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if key not in intervals:
            flat[key] = value
            continue
        for end, name in (("value", key), ("low", f"{key}_low"), ("high", f"{key}_high")):
            flat[name] = None if value is None else value[end]
    return flat
