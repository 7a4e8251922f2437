"""Documents, sections and tables as HTML."""

from __future__ import annotations

from markupsafe import Markup

from miai.markup import Attribute, tag
from miai.pages.document import (
    PAGE,
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Section,
    Table,
    shown_in,
)
from miai.pages.layout import environment, inlined


def document_page(document: Document, *, title: str, kind: str, footer: str) -> str:
    """Return a document as a page of HTML that needs no other file and no network.

    Args:
      title: the heading, of foreign origin; the document's own is for other media.
      kind: what the document is, for the title of the window.
      footer: a sentence below the document.
    """
    sections = [(section, section_markup(section)) for section in document.sections]
    return (
        environment()
        .get_template("document.html")
        .render(
            assets=inlined(styles=("page.css",), scripts=("sort.js",)),
            heading=title,
            kind=kind,
            lines=document.lines[:2],
            sections=[(section, markup) for section, markup in sections if markup],
            footer=footer,
        )
    )


def table_markup(table: Table) -> Markup:
    """Return a table in a frame that scrolls where it is too wide."""
    table = shown_in("page", table)
    classes = ["sortable"] * (table.sortable and len(table.rows) > 1)
    classes += [table.style] * bool(table.style)
    header = next((i for i, column in enumerate(table.columns) if column.align == "left"), -1)
    keys = [*table.keys, *[""] * (len(table.rows) - len(table.keys))]
    rows = [
        tag(
            "tr",
            *(_cell(cell, table.columns[i], as_header=i == header) for i, cell in enumerate(row)),
            data_row=key or None,
        )
        for row, key in zip(table.rows, keys, strict=True)
    ]
    whole = tag(
        "table",
        tag("thead", tag("tr", *map(_head, table.columns))),
        tag("tbody", *rows),
        class_=" ".join(classes) or None,
    )
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=table.title)


def section_markup(section: Section) -> Markup:
    """Return a section; empty where a page shows nothing of it."""
    blocks = [block for block in section.blocks if "page" in block.media]
    if not blocks:
        return Markup()
    parts = [tag("h2", section.title)]
    if section.note:
        parts.append(tag("p", section.note, class_="note"))
    for i, block in enumerate(blocks):
        parts += _block(block, titled=not isinstance(block, Figure) and i > 0)
    return tag("section", *parts, id=section.id, class_="wide" if section.wide else None)


def _block(block: Block, *, titled: bool) -> list[Markup]:
    if isinstance(block, Figure):
        return [block.markup]
    heading = [tag("h3", block.title)] if titled and block.title else []
    if isinstance(block, Paragraph):
        style = "note" if block.media != PAGE else None
        return [*heading, *(tag("p", line, class_=style) for line in block.lines)]
    return [*heading, table_markup(block)]


def _head(column: Column) -> Markup:
    style = "left" if column.align == "left" else None
    return tag("th", column.header, scope="col", class_=style, title=column.title or None)


def _cell(cell: Cell | str, column: Column, *, as_header: bool) -> Markup:
    if isinstance(cell, str):
        cell = Cell(cell)
    style = " ".join(filter(None, ("left" if column.align == "left" else "", cell.style)))
    attributes: dict[str, Attribute] = {
        "class_": style or None,
        # The page sorts by the exact number, of which the text is a rounding.
        "data_value": None if cell.value is None else repr(cell.value),
        "data_key": cell.key or None,
        "title": cell.title or None,
        **{f"data_{key}": value for key, value in cell.data.items()},
    }
    content = cell.text if cell.markup is None else cell.markup
    if as_header:
        return tag("th", content, scope="row", **attributes)
    return tag("td", content, **attributes)
