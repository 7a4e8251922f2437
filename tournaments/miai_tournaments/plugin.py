"""The plugin's entry point: formats, executors, stores, and the commands of tournaments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl
from miai_tournaments.kinds import EXECUTOR, FORMAT, STORE

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the formats, executors and stores, and the kinds of config."""
    for kind in (FORMAT, EXECUTOR, STORE):
        registry.declare(kind)
    registry.add_all(Path(__file__).with_name("components.txt").read_text("utf-8"))


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    from miai_tournaments.commands import compare as command
    from miai_tournaments.commands import exploit as exploit_command
    from miai_tournaments.commands import rate as rating_command
    from miai_tournaments.commands import tournament as commands

    app.add_typer(commands.app, name="tournament")
    app.command("compare")(command.compare)
    app.command("exploit")(exploit_command.exploit)
    app.command("rate")(rating_command.rate)
