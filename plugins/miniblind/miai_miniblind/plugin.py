"""The plugin's entry point. It names the problems by import path and imports none of them."""

from __future__ import annotations

from pathlib import Path

from miai import hookimpl
from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the problems, and mini-RBC as a game with its pictures."""
    registry.add_all(Path(__file__).with_name("components.txt").read_text("utf-8"))
