"""The commands ``miai rbc``. Heavy modules are imported where they are used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from miai.errors import ConfigError
from miai.files import refuse_unwritable, write_text, writing

app = typer.Typer(help="Inspect games of Reconnaissance Blind Chess.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep the name of the only command."""


@app.command()
def picture(
    history: Annotated[
        Path, typer.Argument(metavar="HISTORY.json", help="Game history of reconchess.")
    ],
    player: Annotated[Literal["white", "black"], typer.Option(help="Player whose view is drawn.")],
    turn: Annotated[int, typer.Option(min=0, help="Number of the player's own turn, from 0.")],
    phase: Annotated[
        Literal["before-sense", "after-sense", "after-move"],
        typer.Option(help="Point in the turn."),
    ] = "after-sense",
    show: Annotated[
        Literal["belief", "observation"],
        typer.Option(help="Picture of the player's belief, or of its observations in the turn."),
    ] = "belief",
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
    from miai_rbc.pictures.moments import Moment, picture_of
    from miai_rbc.reconchess.reading import read_history

    if output is not None:
        if output.suffix != ".svg":
            raise ConfigError(f"--output {output}: the picture is SVG; end its name in .svg")
        refuse_unwritable(output, "--output")
    if truth and show != "belief":
        raise ConfigError("--truth: applies to beliefs only; leave it out with --show observation")
    moment = Moment(("white", "black").index(player), turn, phase)
    svg = picture_of(read_history(history), moment, show=show, truth=truth, limit=limit)
    if output is None:
        print(svg)
        return
    with writing(f"--output {output}", ConfigError):
        write_text(output, f"{svg}\n")
    print(f"written to {output}")
