"""The commands ``miai rbc``. Heavy modules are imported where they are used."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Inspect games of Reconnaissance Blind Chess.", no_args_is_help=True)


class Colour(StrEnum):
    """The player whose view is drawn."""

    WHITE = "white"
    BLACK = "black"


class TurnPhase(StrEnum):
    """A point in a turn."""

    BEFORE_SENSE = "before-sense"
    AFTER_SENSE = "after-sense"
    AFTER_MOVE = "after-move"


class Subject(StrEnum):
    """The content of the picture."""

    BELIEF = "belief"
    OBSERVATION = "observation"


@app.callback()
def _group() -> None:
    """Keep the name of the only command."""


@app.command()
def picture(
    history: Annotated[
        Path, typer.Argument(metavar="HISTORY.json", help="Game history of reconchess.")
    ],
    player: Annotated[Colour, typer.Option(help="Player whose view is drawn.")],
    turn: Annotated[int, typer.Option(min=0, help="The player's own turn, counted from 0.")],
    phase: Annotated[TurnPhase, typer.Option(help="Point in the turn.")] = TurnPhase.AFTER_SENSE,
    show: Annotated[
        Subject, typer.Option(help="The player's belief, or its observations of the turn.")
    ] = Subject.BELIEF,
    truth: Annotated[
        bool, typer.Option("--truth", help="Outline the opponent's true pieces on a belief.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(metavar="BOARDS", help="Maximum boards of a belief; beyond it a sample."),
    ] = 200_000,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg", help="Output file (default: print)."),
    ] = None,
) -> None:
    """Draw what a player knew at one point of a recorded game, as SVG.

    In a belief, a square is as orange as it is probable that the opponent stands there, and a piece
    as opaque as it is probable. All boards count the same.
    """
    from miai.errors import ConfigError
    from miai_rbc.pictures.moments import Moment, picture_of
    from miai_rbc.reconchess.reading import read_history

    _refuse_unwritable(output)
    if truth and show != Subject.BELIEF:
        raise ConfigError("--truth: applies to beliefs only; leave it out with --show observation")
    moment = Moment(list(Colour).index(player), turn, phase.value)
    svg = picture_of(read_history(history), moment, show=show.value, truth=truth, limit=limit)
    _write(svg, output)


def _refuse_unwritable(path: Path | None) -> None:
    """Raise `ConfigError` now for a file that could not be written later."""
    from miai.errors import ConfigError

    if path is None:
        return
    if path.suffix != ".svg":
        raise ConfigError(f"--output {path}: the picture is SVG; name a file that ends in .svg")
    if not path.parent.is_dir():
        raise ConfigError(f"--output {path}: no folder '{path.parent}'; create it first")
    if path.is_dir():
        raise ConfigError(f"--output {path}: is a folder; name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"--output {path}: may not be written; name a file where you may")


def _write(svg: str, path: Path | None) -> None:
    from miai.errors import ConfigError
    from miai.files import write_text, writing

    if path is None:
        print(svg)
        return
    with writing(f"--output {path}", ConfigError):
        write_text(path, f"{svg}\n")
    print(f"written to {path}")
