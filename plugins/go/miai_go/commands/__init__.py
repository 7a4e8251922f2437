"""The commands ``miai go ...`` and ``miai gtp``, in modules with `add_commands(group)`.

The modules import heavy libraries inside their commands only.
"""

from __future__ import annotations

import typer

from miai_go.commands import data, gtp, training, weights

_MODULES = (data, training, weights)


def add_commands(app: typer.Typer) -> typer.Typer:
    """Add the group ``go``, which is returned, and ``gtp`` to the command line."""
    group = typer.Typer(
        help="Go: games to learn from, networks, life and death.", no_args_is_help=True
    )
    for module in _MODULES:
        module.add_commands(group)
    app.add_typer(group, name="go")
    gtp.add_command(app)
    return group
