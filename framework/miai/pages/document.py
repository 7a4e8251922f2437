"""Documents: sections of paragraphs, tables and figures, independent of how they are shown.

`miai_tournaments.report.outline` builds the document of a report.
`miai_tournaments.report.printing` shows documents on terminals, as plain text and as Markdown,
`miai_tournaments.report.report_files` as HTML. All texts of a document are printable (see
`printable`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

Medium = Literal["terminal", "text", "markdown", "page"]

EVERYWHERE: Final[tuple[Medium, ...]] = ("terminal", "text", "markdown", "page")
PRINTED: Final[tuple[Medium, ...]] = ("terminal", "text", "markdown")
PAGE: Final[tuple[Medium, ...]] = ("page",)

NONE: Final = "-"
"""A cell without a figure."""

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_MAX_MARKS = 2
_LONGEST_BLOCK = 100_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
      header: its heading.
      align: alignment of cells and heading.
      min_width: width in terminal cells to which its texts may be cut; None: never cut.
      max_width: maximum width in terminal cells.
      drop: where space is short, the columns with the greatest number above 0 are dropped first.
      style: rich style of its cells.
      title: explanation, shown under the pointer on a page.
      media: where the column is shown.
    """

    header: str
    align: Literal["left", "right"] = "right"
    min_width: int | None = None
    max_width: int | None = None
    drop: int = 0
    style: str = ""
    title: str = ""
    media: tuple[Medium, ...] = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
      text: what it shows.
      value: the exact number, by which pages sort; None for texts.
      key: name of the number in the JSON report.
      style: classes on a page.
      title: explanation, shown under the pointer on a page.
      markup: what a page shows instead of the text, such as a bar.
      data: further ``data-`` attributes on a page.
    """

    text: str
    value: float | None = None
    key: str = ""
    style: str = ""
    title: str = ""
    markup: Markup | None = None
    data: Mapping[str, str] = field(default_factory=dict)


Row = Sequence[Cell | str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
      title: what it shows, in a line.
      columns: its columns.
      rows: one cell for each column; a text is a cell without a number.
      keys: a name for each row in the JSON report; empty for none.
      style: classes on a page.
      sortable: whether readers of a page can sort it.
      narrow: makes a narrower table for where this one does not fit.
      omission: what replaces the table where it does not fit: a text, if it does not fit in two
        parts either, or nothing (an empty text); None: it is always shown.
      media: where the table is shown.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    keys: Sequence[str] = ()
    style: str = ""
    sortable: bool = True
    narrow: Callable[[], Table] | None = None
    omission: str | None = None
    media: tuple[Medium, ...] = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of text.

    Attributes:
      lines: the lines, each wrapped separately.
      title: its heading.
      media: where the paragraph is shown.
    """

    lines: tuple[str, ...]
    title: str = ""
    media: tuple[Medium, ...] = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart or other markup that only pages show."""

    markup: Markup
    media: tuple[Medium, ...] = PAGE


Block = Table | Paragraph | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document.

    Attributes:
      id: link target on a page.
      title: its heading on a page; elsewhere the titles of its blocks suffice.
      blocks: its content; without any, the section is left out.
      note: what the figures mean, for pages.
      wide: whether it takes the full width of a page.
    """

    id: str
    title: str
    blocks: tuple[Block, ...]
    note: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A titled document.

    Attributes:
      title: of the whole; may be empty.
      lines: what stands below the title.
      sections: its content; a terminal shows the first one last, where it stays visible.
    """

    title: str
    lines: tuple[str, ...]
    sections: tuple[Section, ...]


def text_of(cell: Cell | str) -> str:
    """Return the text of a cell."""
    return cell if isinstance(cell, str) else cell.text


def shown_in(medium: Medium, table: Table) -> Table:
    """Return a table with the columns that a medium shows."""
    picked = [i for i, column in enumerate(table.columns) if medium in column.media]
    return table if len(picked) == len(table.columns) else pick_columns(table, picked)


def pick_columns(table: Table, columns: Sequence[int]) -> Table:
    """Return a table with some of its columns."""
    return Table(
        table.title,
        tuple(table.columns[i] for i in columns),
        tuple(tuple(row[i] for i in columns) for row in table.rows),
        keys=table.keys,
        style=table.style,
        sortable=table.sortable,
        narrow=table.narrow,
        omission=table.omission,
    )


def printable(text: str, limit: int) -> str:
    """Return a text of foreign origin as one harmless line of at most `limit` terminal cells.

    Control and format characters (terminal escapes, changes of direction), unpaired surrogates
    and unassigned code points become question marks; blanks and line ends become one space; at
    most two combining marks per character are kept. A cut text ends in an ellipsis.
    """
    # Every character that is kept takes a cell or is one of few marks, so a prefix suffices.
    head = text[: (_MAX_MARKS + 1) * limit + 1]
    line = " ".join(unicodedata.normalize("NFC", head).split())
    characters: list[str] = []
    marks = 0
    for character in line:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= _MAX_MARKS and not (marks and not characters):
            characters.append("?" if category[0] == "C" else character)
    cleaned = "".join(characters) or "?"
    return cut(cleaned + (_ELLIPSIS if len(head) < len(text) else ""), limit)


def printable_block(text: str) -> str:
    """Return a foreign text of several lines, cleaned like `printable` but with its blanks."""
    characters: list[str] = []
    marks = 0
    for character in text[:_LONGEST_BLOCK].replace("\r\n", "\n").expandtabs(4):
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= _MAX_MARKS:
            characters.append("?" if category[0] == "C" and character != "\n" else character)
    return "".join(characters) + (f"\n{_ELLIPSIS}" if len(text) > _LONGEST_BLOCK else "")


def cut(text: str, width: int) -> str:
    """Return a printable text cut to a width in terminal cells; a cut text ends in an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + _ELLIPSIS if width > 0 else ""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
