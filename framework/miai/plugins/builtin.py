"""The framework's own components, registered through the same hook as any plugin's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the components that serve any game, and those of games that are programs."""
    registry.add_all(Path(__file__).with_name("components.txt").read_text("utf-8"))
