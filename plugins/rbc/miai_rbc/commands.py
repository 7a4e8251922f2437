"""The commands ``miai rbc``; what is heavy is imported where it is used."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Look into games of Reconnaissance Blind Chess.", no_args_is_help=True)


class Colour(StrEnum):
    """Whose view is drawn."""

    WHITE = "white"
    BLACK = "black"


class TurnPhase(StrEnum):
    """A point in a turn."""

    BEFORE_SENSE = "before-sense"
    AFTER_SENSE = "after-sense"
    AFTER_MOVE = "after-move"


class Subject(StrEnum):
    """What is drawn."""

    BELIEF = "belief"
    OBSERVATION = "observation"


@app.callback()
def _group() -> None:
    """Keep the name of the only command on the command line."""


@app.command()
def picture(
    history: Annotated[
        Path, typer.Argument(metavar="HISTORY.json", help="A game as reconchess records it.")
    ],
    player: Annotated[Colour, typer.Option(help="Whose view.")],
    turn: Annotated[
        int, typer.Option(min=0, help="The player's own turn, counted from 0 as in the history.")
    ],
    phase: Annotated[
        TurnPhase, typer.Option(help="The point in the turn.")
    ] = TurnPhase.AFTER_SENSE,
    show: Annotated[
        Subject, typer.Option(help="What the player holds possible, or what the turn told it.")
    ] = Subject.BELIEF,
    truth: Annotated[
        bool, typer.Option("--truth", help="Outline the opponent's true pieces on a belief.")
    ] = False,
    limit: Annotated[
        int, typer.Option(metavar="BOARDS", help="Most boards that are kept; past it, a sample.")
    ] = 200_000,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Where to write; without it, printed.")
    ] = None,
) -> None:
    """Draw what a player knew at one point of a recorded game, as SVG.

    A square is as orange as it is probable that the opponent stands there, a piece as opaque as it
    is probable; all boards count the same.
    """
    from miai.errors import ConfigError
    from miai_rbc.pictures.moments import Moment, picture_of
    from miai_rbc.reconchess.reading import read_history

    _refuse_unwritable(output)
    if truth and show != Subject.BELIEF:
        raise ConfigError(
            "--truth: is drawn on a belief only; leave it out with --show observation"
        )
    moment = Moment(list(Colour).index(player), turn, phase.value)
    svg = picture_of(read_history(history), moment, show=show.value, truth=truth, limit=limit)
    _write(svg, output)


def _refuse_unwritable(path: Path | None) -> None:
    """Raise `ConfigError` for a file that could not be written after the work."""
    from miai.errors import ConfigError
    from miai.files import check_writable

    if path is None:
        return
    if path.suffix != ".svg":
        raise ConfigError(f"--output {path}: the picture is SVG; name a file that ends in .svg")
    check_writable(path, option="--output")


def _write(svg: str, path: Path | None) -> None:
    from miai.errors import ConfigError
    from miai.files import write_text, writing

    if path is None:
        print(svg)
        return
    with writing(f"--output {path}", ConfigError):
        write_text(path, f"{svg}\n")
    print(f"written to {path}")
