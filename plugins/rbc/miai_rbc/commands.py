"""The commands ``miai rbc``. Heavy modules are imported where they are used."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import typer

from miai.errors import ConfigError
from miai.files import refuse_unwritable, write_text, writing

app = typer.Typer(
    help="Inspect games of Reconnaissance Blind Chess, and learn from them.", no_args_is_help=True
)

_Histories = Annotated[
    list[Path],
    typer.Argument(metavar="HISTORY...", help="Game histories of reconchess, or folders of them."),
]


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
    from miai_rbc.reconchess.histories import read_history

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


@app.command("train-opponent")
def train_opponent(
    histories: _Histories,
    output: Annotated[
        Path, typer.Option(metavar="FILE.safetensors", help="File for the opponent model.")
    ],
    units: Annotated[
        int,
        typer.Option(min=1, max=256, help="Width of the hidden layer plus one."),
    ] = 32,
    epochs: Annotated[int, typer.Option(min=1, max=1000, help="Passes over all moves.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
) -> None:
    """Learn the moves of recorded games, for the parameter `weights.file` of `rbc-strong`.

    Each player's name becomes a style of play.
    """
    from miai.progress import make_progress
    from miai.tensors import MAX_TEXT, TrainingRecord
    from miai_rbc.learning.opponent_model import (
        BATCH,
        examples_of,
        read_histories,
        require_torch,
        train,
    )

    require_torch()
    if output.suffix != ".safetensors":
        raise ConfigError(f"--output {output}: end its name in .safetensors")
    refuse_unwritable(output, "--output")
    examples = examples_of(read_histories(histories))
    progress = make_progress("training", unit="epochs")
    progress.begin(done=0, total=epochs)
    try:
        model = train(
            examples,
            units=units,
            epochs=epochs,
            seed=seed,
            progress=lambda epoch, loss: progress.reach(epoch, f"loss {loss:.3f} nats"),
        )
    finally:
        progress.close()
    moves = len(examples.counts)
    record = TrainingRecord(
        command="miai rbc train-opponent",
        data=f"{moves} moves of {', '.join(examples.names)}"[:MAX_TEXT],
        steps=epochs * -(-moves // BATCH),
        seed=seed,
        date=date.today().isoformat(),
    )
    model.write(output, record)
    print(f"{moves} moves of {len(model.names)} players learned, written to {output}")


@app.command("measure-opponent")
def measure_opponent(
    histories: _Histories,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE.safetensors", help="Opponent model (default: the shipped one)."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=512, help="Maximum boards of a belief; a larger one ends the game.")
    ] = 50_000,
) -> None:
    """Measure how probable an opponent model makes the true boards of recorded games.

    Prints the mean log-likelihood of the true board before a player's moves, beside equal weights
    and weights by value, and the calibration: how often boards of a given probability were true.
    """
    from miai_rbc.belief.weighted import SHIPPED, load_model
    from miai_rbc.learning.opponent_model import measure, read_histories

    games, weights = read_histories(histories), load_model(model or SHIPPED)
    likelihood = measure(games, weights, limit=limit)
    print(likelihood.to_text())
