"""The commands ``miai go ...``, run in the process of a test."""

from __future__ import annotations

import typer
from typer.testing import CliRunner, Result

from miai_go.commands import add_commands


def invoke(*words: object, **options: object) -> Result:
    """Return what came of ``miai go`` with these words."""
    app = typer.Typer()
    add_commands(app)
    return CliRunner().invoke(app, ["go", *map(str, words)], **options)  # type: ignore[arg-type]


def run(*words: object) -> str:
    """Return the output of ``miai go`` with these words; raise what it raises."""
    result = invoke(*words)
    if result.exception is not None:
        raise result.exception
    return result.stdout
