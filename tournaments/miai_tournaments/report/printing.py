"""Documents on a terminal, as plain text and as Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from miai.pages.document import (
    Block,
    Column,
    Document,
    Figure,
    Medium,
    Paragraph,
    Table,
    pick_columns,
    shown_in,
    text_of,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

_GAP = 2  # spaces between two columns
_LEADING = 2  # columns that are repeated in every part of a table: rank and name
_MARKDOWN_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&$])")


def blocks_of(document: Document, medium: Medium) -> list[Block]:
    """Return the blocks of a document in the order of a medium."""
    sections = [list(section.blocks) for section in document.sections]
    if medium == "terminal" and sections:
        sections = [*sections[1:], sections[0][::-1]]
    heading = Paragraph(document.lines, document.title)
    return [heading, *(block for blocks in sections for block in blocks)]


def print_at_width(render: Callable[[int], RenderableType]) -> None:
    """Print to the terminal what is rendered at its width."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(render(console.width))


def renderable(
    blocks: Iterable[Block], width: int, *, medium: Medium = "terminal"
) -> RenderableType:
    """Return blocks for rich to print at a width; nothing in their texts is read as markup."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for block in blocks:
        if medium not in block.media:
            continue
        pieces: Sequence[Table | Paragraph]
        if isinstance(block, Table):
            pieces = _fitting(shown_in(medium, block), width)
        else:
            pieces = [block] if isinstance(block, Paragraph) else []
        for piece in pieces:
            lines: list[RenderableType] = [Text(piece.title, "bold")] if piece.title else []
            if isinstance(piece, Table):
                lines.append(_rich_table(piece, width, ruled=medium == "terminal"))
            else:
                lines += map(Text, piece.lines)
            if lines:
                parts += [Text(), *lines] if parts else lines
    return Group(*parts)


def to_text(blocks: Iterable[Block], width: int) -> str:
    """Return blocks as plain text in lines of at most `width` cells."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, force_terminal=False)
    console.print(renderable(blocks, width, medium="text"))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def to_markdown(document: Document) -> str:
    """Return a document as Markdown with tables (GitHub's); texts are escaped."""
    heading, *blocks = blocks_of(document, "markdown")
    assert isinstance(heading, Paragraph)
    parts = [f"# {_escaped(heading.title or 'Tournament')}", *map(_escaped, heading.lines)]
    for block in blocks:
        if "markdown" not in block.media or isinstance(block, Figure):
            continue
        if block.title:
            parts.append(f"## {_escaped(block.title)}")
        if isinstance(block, Table):
            parts.append(_markdown_table(shown_in("markdown", block)))
        elif block.lines:
            parts.append("\n".join(f"- {_escaped(line)}" for line in block.lines))
    return "\n\n".join([*parts, ""])


def _markdown_table(table: Table) -> str:
    rows = [
        [_escaped(column.header) or " " for column in table.columns],
        [":--" if column.align == "left" else "--:" for column in table.columns],
        *([_escaped(text_of(cell)) for cell in row] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _escaped(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\1", text)


# -- tables that fit a width: rich has no columns of different importance ----------------------


def _fitting(table: Table, width: int) -> list[Table | Paragraph]:
    """Return a table as its narrower form, in two parts or as its omission, where need be."""
    while not _fits(table, width) and table.narrow is not None:
        table = table.narrow()
    if _fits(table, width) or table.omission is None:
        return [table]
    if not table.omission:
        return []
    count = len(table.columns)
    middle = _LEADING + (count - _LEADING + 1) // 2
    first = pick_columns(table, range(middle))
    second = pick_columns(table, [*range(_LEADING), *range(middle, count)])
    if not (_fits(first, width) and _fits(second, width)):
        return [Paragraph((table.omission,))]
    title = f"{table.title}, continued"
    return [first, Table(title, second.columns, second.rows)]


def _fits(table: Table, width: int) -> bool:
    """Return whether a table fits a width with all of its columns."""
    return _total(_least(column, natural) for column, natural in _naturals(table)) <= width


def _naturals(table: Table) -> list[tuple[Column, int]]:
    """Return the columns with the widths of their widest texts, at most `Column.max_width`."""
    widths = (
        max(cell_len(column.header), *(cell_len(text_of(row[i])) for row in table.rows), 0)
        for i, column in enumerate(table.columns)
    )
    return [
        (c, min(wide, c.max_width or wide)) for c, wide in zip(table.columns, widths, strict=True)
    ]


def _least(column: Column, natural: int) -> int:
    if column.min_width is None:
        return natural
    return min(natural, max(column.min_width, cell_len(column.header)))


def _total(widths: Iterable[int]) -> int:
    return sum(wide + _GAP for wide in widths) - _GAP


def _rich_table(table: Table, width: int, *, ruled: bool) -> RenderableType:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    while not _fits(table, width) and any(column.drop for column in table.columns):
        last = max(range(len(table.columns)), key=lambda i: (table.columns[i].drop, i))
        table = pick_columns(table, [i for i in range(len(table.columns)) if i != last])
    naturals = _naturals(table)
    excess = max(0, _total(wide for _, wide in naturals) - width)
    grid = RichTable(
        box=box.SIMPLE_HEAD if ruled else None,  # its divider is one of the spaces of the gap
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - ruled, 0, 0),
    )
    for column, natural in naturals:
        shortened = max(_least(column, natural), natural - excess)
        excess -= natural - shortened
        grid.add_column(
            Text(column.header),
            justify=column.align,
            style=column.style,
            width=shortened,
            no_wrap=True,
            overflow="ellipsis",
        )
    for row in table.rows:
        grid.add_row(*(Text(text_of(cell)) for cell in row))
    return grid
