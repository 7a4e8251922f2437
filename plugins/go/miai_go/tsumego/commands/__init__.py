"""The commands ``miai go solve`` and ``miai go tsumego ...``.

The modules import heavy libraries inside their commands only.
"""

from __future__ import annotations

import typer

from miai_go.tsumego.commands import network_commands, problem_commands, solve_command


def add_commands(group: typer.Typer) -> None:
    """Add ``solve`` and the group ``tsumego`` to the group ``go``."""
    solve_command.add_commands(group)
    commands = typer.Typer(help="Life and death: problems, data, networks.", no_args_is_help=True)
    problem_commands.add_commands(commands)
    network_commands.add_commands(commands)
    group.add_typer(commands, name="tsumego")
