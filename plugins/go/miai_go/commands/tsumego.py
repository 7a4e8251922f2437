"""The command group ``miai go tsumego``: life and death."""

from __future__ import annotations

import typer

from miai_go.commands import tsumego_learning, tsumego_ordering, tsumego_problems

_MODULES = (tsumego_problems, tsumego_learning, tsumego_ordering)


def add_commands(group: typer.Typer) -> None:
    """Add the group ``tsumego`` to a group."""
    commands = typer.Typer(help="Life and death: problems, data, networks.", no_args_is_help=True)
    for module in _MODULES:
        module.add_commands(commands)
    group.add_typer(commands, name="tsumego")
