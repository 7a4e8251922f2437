"""Which cells the panels of a plot show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from miai_tournaments.comparing.plots.style import MOST_PANELS
from miai_tournaments.comparing.summary import Row

T = TypeVar("T")
Cell = tuple[str, int, str, bool]
"""What names a cell: game, depth, class and whether searchers are warm."""


def by_cell(rows: Iterable[Row]) -> dict[Cell, list[Row]]:
    """Return the rows of each cell, in their order."""
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault(row.cell, []).append(row)
    return cells


def deepest(cells: Mapping[Cell, T]) -> dict[Cell, T]:
    """Return of each game, class and cache the cell of the greatest depth."""
    most: dict[tuple[str, str, bool], int] = {}
    for game, depth, kind, warm in cells:
        most[game, kind, warm] = max(depth, most.get((game, kind, warm), depth))
    return {cell: found for cell, found in cells.items() if most[cell[0], *cell[2:]] == cell[1]}


def shown(cells: Mapping[Cell, T], *, most: int = MOST_PANELS) -> tuple[list[T], str]:
    """Return what there are panels for, and a note on what is left out.

    Where there are more cells than panels, the deepest of each game, class and cache are shown.
    """
    if len(cells) <= most:
        return list(cells.values()), ""
    chosen = list(deepest(cells).values())[:most]
    return chosen, f" {len(chosen)} of {len(cells)} cells, the deepest; the tables have all."
