"""The plugin's entry point: it names the games, and imports none of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from miai import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the games and their renderers."""
    registry.add(
        "game",
        "tic_tac_toe",
        "miai_classics.tic_tac_toe:TicTacToe",
        summary="Three in a row; perfect information, a draw",
    )
    registry.add_all(Path(__file__).with_name("components.txt").read_text("utf-8"))
