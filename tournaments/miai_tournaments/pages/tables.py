"""Tables of a page, sorted by their readers: each cell carries the number that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from miai_tournaments.pages.markup import Attribute, Markup, tag

NONE = "\N{EN DASH}"
"""Where there is nothing to tell."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    Attributes:
      text: its heading.
      align: of its cells.
      title: what it means, shown under the pointer.
    """

    text: str
    align: Literal["left", "right"] = "right"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
      content: what it shows; a text is escaped.
      value: the exact number that it shows, by which it is sorted and which readers of the page
        can take; None where it shows a text.
      key: names the number, as in the JSON report.
      style: classes.
      title: shown under the pointer.
    """

    content: str
    value: float | None = None
    key: str = ""
    style: str = ""
    title: str = ""


def table(
    label: str,
    heads: Sequence[Head],
    rows: Sequence[Sequence[Cell | str]],
    *,
    sortable: bool = True,
    style: str = "",
    keys: Sequence[str] = (),
) -> Markup:
    """Return a table in a frame that scrolls where it is too wide.

    Args:
      label: what the table is of, for readers who hear it.
      rows: cells in the order of the heads; the first cell that is aligned left heads its row.
      keys: a name for each row, as in the JSON report.
    """
    classes = " ".join(filter(None, ("sortable" if sortable and len(rows) > 1 else "", style)))
    header = next((i for i, head in enumerate(heads) if head.align == "left"), -1)
    named = [*keys, *[""] * (len(rows) - len(keys))]
    body = [
        tag(
            "tr",
            *(_cell(cell, heads[i], as_header=i == header) for i, cell in enumerate(row)),
            data_row=key or None,
        )
        for row, key in zip(rows, named, strict=True)
    ]
    return framed(
        label,
        tag(
            "table",
            tag("thead", tag("tr", *map(_head, heads))),
            tag("tbody", *body),
            class_=classes or None,
        ),
    )


def framed(label: str, content: Markup) -> Markup:
    """Return what may be wider than the page in a frame that scrolls, by keys as well."""
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def _head(head: Head) -> Markup:
    style = "left" if head.align == "left" else None
    return tag("th", head.text, scope="col", class_=style, title=head.title or None)


def _cell(cell: Cell | str, head: Head, *, as_header: bool) -> Markup:
    if isinstance(cell, str):
        cell = Cell(cell)
    style = " ".join(filter(None, ("left" if head.align == "left" else "", cell.style)))
    attributes: dict[str, Attribute] = {
        "class_": style or None,
        "data_value": None if cell.value is None else repr(cell.value),
        "data_key": cell.key or None,
        "title": cell.title or None,
    }
    if as_header:
        return tag("th", cell.content, scope="row", **attributes)
    return tag("td", cell.content, **attributes)
