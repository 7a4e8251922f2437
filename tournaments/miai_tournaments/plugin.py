"""The plugin's entry point: it adds the commands ``miai tournament`` and ``miai compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    from miai_tournaments import commands
    from miai_tournaments.comparing import command

    app.add_typer(commands.app, name="tournament")
    app.command("compare")(command.compare)
