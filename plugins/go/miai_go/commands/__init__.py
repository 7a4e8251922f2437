"""The commands ``miai go ...`` and ``miai gtp``, in modules with `add_commands(group)`.

The modules import heavy libraries inside their commands only.
"""

from __future__ import annotations

import typer

from miai_go.commands import data, gtp, solving, training, tsumego, weights

_MODULES = (data, training, solving, tsumego, weights)


def add_commands(app: typer.Typer) -> None:
    """Add the group ``go`` and ``gtp`` to the command line."""
    group = typer.Typer(
        help="Go: games to learn from, networks, life and death.", no_args_is_help=True
    )
    for module in _MODULES:
        module.add_commands(group)
    app.add_typer(group, name="go")
    gtp.add_command(app)
