"""The commands ``miai go ...``, run in the process of a test."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.testing import CliRunner

from miai_go.commands import add_commands


def run(*words: str | int | Path) -> str:
    """Return the output of ``miai go`` with these words; raise what it raises."""
    app = typer.Typer()
    add_commands(app)
    result = CliRunner().invoke(app, ["go", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.stdout
