"""The page on the small games of the plugin miniblind, and its README, say what is so."""

from __future__ import annotations

from pathlib import Path

from miai.beliefs.sets import numbers
from miai_miniblind.boards import square_name
from miai_miniblind.phantom_lines import sensing_lines

ROOT = Path(__file__).parents[2]
PAGE = "docs/miniblind.md"


def test_it_names_the_diagonals_in_their_order() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    diagonals = sensing_lines(4)[7:]
    named = [[square_name(cell, 4) for cell in numbers(line)] for line in diagonals]
    assert f"in the order {', '.join(''.join(cells) for cells in named)}" in text
