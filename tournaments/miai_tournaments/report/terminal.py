"""Tables and paragraphs for a terminal or a file: laid out to a width, safe to print.

Widths are those of terminal cells, in which an East Asian character takes two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from rich.console import RenderableType


GAP = 2
"""Spaces between two columns."""

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_MOST_MARKS = 2


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of a table.

    Attributes:
      header: its heading.
      align: of its cells and heading.
      least: the width to which its texts may be cut; None for never.
      drop: columns of the greatest number above 0 are left out first where the width is short.
      style: of its cells on a terminal, in rich's words.
    """

    header: str
    align: Literal["left", "right"] = "right"
    least: int | None = None
    drop: int = 0
    style: str = ""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table: its rows have a printable text a column."""

    title: str
    columns: tuple[TextColumn, ...]
    rows: tuple[tuple[str, ...], ...]

    def widths(self) -> list[int]:
        """Return the width of each column that cuts nothing."""
        return [
            max(cell_len(column.header), *(cell_len(row[i]) for row in self.rows), 0)
            for i, column in enumerate(self.columns)
        ]

    def fits(self, width: int) -> bool:
        """Return whether the table can be had within a width without leaving out a column."""
        return _needed(self._shortest()) <= width

    def fitted(self, width: int) -> tuple[TextTable, list[int]]:
        """Return the table as it fits into a width, as far as it can, and its columns' widths."""
        table = self
        while not table.fits(width) and any(column.drop for column in table.columns):
            table = table._without_one()
        return table, table._shared(width)

    def _shortest(self) -> list[int]:
        pairs = zip(self.widths(), self.columns, strict=True)
        return [
            wide if column.least is None else min(wide, max(column.least, cell_len(column.header)))
            for wide, column in pairs
        ]

    def _shared(self, width: int) -> list[int]:
        """Return widths that give back what is short, from the columns that may be cut."""
        widths = self.widths()
        for i, least in enumerate(self._shortest()):
            widths[i] = max(least, widths[i] - max(0, _needed(widths) - width))
        return widths

    def _without_one(self) -> TextTable:
        last = max(range(len(self.columns)), key=lambda i: (self.columns[i].drop, i))
        rows = tuple(row[:last] + row[last + 1 :] for row in self.rows)
        return replace(self, columns=self.columns[:last] + self.columns[last + 1 :], rows=rows)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of printable text, each wrapped for itself; `title` stands out on a terminal."""

    lines: tuple[str, ...]
    title: str = ""


Block = TextTable | Paragraph


def printable(text: str, limit: int) -> str:
    """Return a text of foreign origin as one harmless line of at most `limit` cells.

    Control and format characters (terminal escapes, changes of direction), unpaired surrogates
    and unassigned code points become question marks; blanks and line ends are one space; marks
    that pile up on one character are cut to two. A cut text ends in an ellipsis.
    """
    # Every character that is kept takes a cell or is one of few marks: more need not be looked at.
    head = text[: (_MOST_MARKS + 1) * limit + 1]
    line = " ".join(unicodedata.normalize("NFC", head).split())
    kept: list[str] = []
    marks = 0
    for character in line:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= _MOST_MARKS and not (marks and not kept):
            kept.append("?" if category[0] == "C" else character)
    cleaned = "".join(kept) or "?"
    return cut(cleaned + (_ELLIPSIS if len(head) < len(text) else ""), limit)


def cut(text: str, width: int) -> str:
    """Return a printable text cut to a width, an ellipsis at its end where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + _ELLIPSIS if width > 0 else ""


def to_text(blocks: Iterable[Block], width: int) -> str:
    """Return blocks as plain text: lines of at most `width` cells as far as possible."""
    parts = (
        _table_text(b, width) if isinstance(b, TextTable) else _wrapped(b, width) for b in blocks
    )
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def to_rich(blocks: Iterable[Block], width: int) -> RenderableType:
    """Return blocks as something that rich prints; no text in them is read as markup."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for block in blocks:
        if block == Paragraph(()):
            continue
        if parts:
            parts.append(Text())
        if isinstance(block, TextTable):
            parts.append(_rich_table(block, width))
        else:
            title, *lines = _wrapped(block, width) if block.title else ("", *_wrapped(block, width))
            parts.extend([Text(title, style="bold")] if block.title else [])
            parts.append(Text("\n".join(lines)))
    return Group(*parts)


def _table_text(table: TextTable, width: int) -> list[str]:
    fitted, widths = table.fitted(width)
    rows = [tuple(column.header for column in fitted.columns), *fitted.rows]
    lines = [
        (" " * GAP)
        .join(
            _aligned(cut(cell, wide), wide, column.align)
            for cell, wide, column in zip(row, widths, fitted.columns, strict=True)
        )
        .rstrip()
        for row in rows
    ]
    return [*_wrap(table.title, width), *lines]


def _rich_table(table: TextTable, width: int) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    fitted, widths = table.fitted(width)
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0)
    )
    for column, wide in zip(fitted.columns, widths, strict=True):
        grid.add_column(
            Text(column.header), justify=column.align, style=column.style, width=wide, no_wrap=True
        )
    for row in fitted.rows:
        cells = zip(row, widths, strict=True)
        grid.add_row(*(Text(cut(cell, wide)) for cell, wide in cells))
    return Group(Text("\n".join(_wrap(table.title, width)), style="bold"), grid)


def _wrapped(paragraph: Paragraph, width: int) -> list[str]:
    lines = [paragraph.title, *paragraph.lines] if paragraph.title else list(paragraph.lines)
    return [part for line in lines for part in _wrap(line, width)]


def _wrap(line: str, width: int) -> list[str]:
    """Return a line as lines of at most `width` cells; what follows the first is indented."""
    lines: list[str] = []
    current = ""
    for word in line.split(" "):
        longer = f"{current} {word}" if current.strip() else current + word
        if cell_len(longer) <= width or not current.strip():
            current = longer
        else:
            lines.append(current)
            current = " " * GAP + word
    return [cut(part, width) for part in [*lines, current]]


def _needed(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _aligned(cell: str, width: int, align: str) -> str:
    blanks = " " * (width - cell_len(cell))
    return cell + blanks if align == "left" else blanks + cell
