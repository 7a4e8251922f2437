"""The tables of a comparison: one a cell, a line an arm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from miai_tournaments.comparing.intervals import Interval
from miai_tournaments.comparing.summary import Row
from miai_tournaments.report.cells import NONE, counted
from miai_tournaments.report.layout import Block, Column, Paragraph, Table, printable

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
    "nodes, leaves, seconds: sums over the roots that the arm searched to the end; entries, bytes: "
    "the most held at the end of a search.",
    f"{_TIMES}: the baseline's sum by the arm's, over the roots that both searched to the end, "
    "with the interval of a bootstrap over roots. +/-: wrong values above and below the true one.",
)


def tables(rows: Sequence[Row], *, baseline: str, truth: str) -> list[Block]:
    """Return a table for each cell, and what the columns mean.

    Args:
      rows: as `summarize` gives them.
      baseline, truth: names of arms.
    """
    blocks: list[Block] = []
    for _, group in groupby(rows, key=lambda row: row.cell):
        blocks.append(_table(list(group), baseline))
    judged = f"Values are true that '{truth}' found." if truth != baseline else ""
    return [*blocks, Paragraph((*_NOTES, *([judged] if judged else [])))] if blocks else []


def incomplete_lines(rows: Sequence[Row]) -> list[str]:
    """Return a line for each arm that did not search every root of a cell to its end."""
    return [
        f"{cell_title(row)}: '{printable(row.arm, _NAME_WIDTH)}' left "
        f"{counted(row.incomplete, 'root')} of {row.roots + row.incomplete} incomplete; they count "
        "for no speed-up"
        for row in rows
        if row.incomplete
    ]


def cell_title(row: Row) -> str:
    """Return what names the cell of a row."""
    return f"{row.game}, depth {row.depth}, {row.kind} roots" + ", warm" * row.warm


def _table(rows: Sequence[Row], baseline: str) -> Table:
    first = rows[0]
    count = max(row.roots + row.incomplete for row in rows)
    title = f"{cell_title(first)}: {counted(count, 'root')}, against '{baseline}'"
    short = any(row.incomplete for row in rows)
    columns = (*_COLUMNS, Column("incomplete")) if short else _COLUMNS
    cells = [(*_cells(row), *([str(row.incomplete)] if short else [])) for row in rows]
    return Table(title, columns, tuple(cells))


def _cells(row: Row) -> tuple[str, ...]:
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


def _times(found: Interval | None) -> str:
    return NONE if found is None else _figure(found.value)


def _span(found: Interval | None) -> str:
    if found is None or found.low is None or found.high is None:
        return NONE
    return f"{_figure(found.low)}-{_figure(found.high)}"


def _shares(found: Interval | None) -> str:
    if found is None or found.low is None or found.high is None:
        return NONE
    return f"{100 * found.low:.0f}-{100 * found.high:.0f} %"


def _figure(value: float) -> str:
    """Return a ratio with about three digits that count."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return str(count)
