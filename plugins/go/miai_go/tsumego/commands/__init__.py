"""The commands ``miai go solve`` and ``miai go tsumego ...``.

The modules import heavy libraries inside their commands only.
"""

from __future__ import annotations

import typer

from miai_go.tsumego.commands import learning, ordering, problems, solving


def add_commands(group: typer.Typer) -> None:
    """Add ``solve`` and the group ``tsumego`` to the group ``go``."""
    solving.add_commands(group)
    commands = typer.Typer(help="Life and death: problems, data, networks.", no_args_is_help=True)
    for module in (problems, learning, ordering):
        module.add_commands(commands)
    group.add_typer(commands, name="tsumego")
