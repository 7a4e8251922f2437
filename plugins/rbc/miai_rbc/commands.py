"""The commands ``miai rbc``. Heavy modules are imported where they are used."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miai.cli.options import Options, add_command
from miai.errors import ConfigError
from miai.files import refuse_unwritable, write_text, writing

if TYPE_CHECKING:
    from miai_rbc.pictures.moments import PictureParameters
    from miai_rbc.rbc_parameters import OpponentTraining

app = typer.Typer(
    help="Inspect games of Reconnaissance Blind Chess, and learn from them.", no_args_is_help=True
)

dark_app = typer.Typer(help="Play dark chess (Fog of War) on a site.", no_args_is_help=True)


@dark_app.command("serve")
def serve(
    agent: Annotated[str, typer.Option(help="Agent that answers.")] = "dark-minimax",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0: any free one.")] = 8765,
) -> None:
    """Answer requests in mistboard's format on the loopback interface, until Ctrl-C."""
    from miai_rbc import mistboard

    mistboard.serve(agent, port)


_Histories = Annotated[
    list[Path],
    typer.Argument(metavar="HISTORY...", help="Game histories of reconchess, or folders of them."),
]


def picture(
    history: Annotated[
        Path, typer.Argument(metavar="HISTORY.json", help="Game history of reconchess.")
    ],
    parameters: PictureParameters,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Output file (default: print).")
    ] = None,
) -> None:
    """Draw what a player knew at one point of a recorded game, as SVG.

    In a belief, a square is as orange as it is probable that the opponent stands there, and a piece
    as opaque as it is probable. All boards count the same.
    """
    from miai_rbc.pictures.moments import picture_of
    from miai_rbc.reconchess.histories import read_history

    if output is not None:
        if output.suffix != ".svg":
            raise ConfigError(f"--output {output}: the picture is SVG; end its name in .svg")
        refuse_unwritable(output, "--output")
    svg = picture_of(read_history(history), parameters)
    if output is None:
        print(svg)
        return
    with writing(f"--output {output}", ConfigError):
        write_text(output, f"{svg}\n")
    print(f"written to {output}")


def train_opponent(
    histories: _Histories,
    output: Annotated[
        Path, typer.Option(metavar="FILE.safetensors", help="File for the opponent model.")
    ],
    parameters: OpponentTraining,
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
    progress.begin(done=0, total=parameters.epochs)
    try:
        model = train(
            examples,
            parameters,
            progress=lambda epoch, loss: progress.reach(epoch, f"loss {loss:.3f} nats"),
        )
    finally:
        progress.close()
    moves = len(examples.counts)
    record = TrainingRecord(
        command="miai rbc train-opponent",
        data=f"{moves} moves of {', '.join(examples.names)}"[:MAX_TEXT],
        steps=parameters.epochs * -(-moves // BATCH),
        seed=parameters.seed,
        date=date.today().isoformat(),
    )
    model.write(output, record)
    print(f"{moves} moves of {len(model.names)} players learned, written to {output}")


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


add_command(
    *(app, "picture", picture), parameters=Options("miai_rbc.pictures.moments:PictureParameters")
)
add_command(
    *(app, "train-opponent", train_opponent),
    parameters=Options("miai_rbc.rbc_parameters:OpponentTraining"),
)
app.command("measure-opponent")(measure_opponent)
