"""The plugin's entry point. It names components by import path, so it imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl
from miai_go.kinds import KINDS

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Register the game of Go and its components."""
    for declared in KINDS:
        registry.declare(declared)
    registry.add_all(Path(__file__).with_name("components.txt").read_text("utf-8"))


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add ``miai go`` and ``miai gtp``."""
    from miai_go import commands
    from miai_go.tsumego import commands as tsumego_commands

    tsumego_commands.add_commands(commands.add_commands(app))
