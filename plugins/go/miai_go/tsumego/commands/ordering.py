"""``miai go tsumego ordering``: train the network that orders the solver's search."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from miai_go.tsumego.networks.ordering_training import OrderingFit


_LINE_SECONDS: Final = 10.0


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    group.command("ordering")(ordering)


def ordering(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File for the network.")],
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", min=1, max=20, help="Number of rounds, each with the previous network."
        ),
    ] = 3,
    positions: Annotated[
        int, typer.Option("--positions", min=1_000, max=5_000_000, help="Positions per round.")
    ] = 50_000,
    width: Annotated[
        int, typer.Option("--width", min=0, max=1024, help="Number of hidden units.")
    ] = 32,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Training steps per round.")] = 4_000,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the zones and the training.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train a network that predicts proof sizes, for `miai go solve --network`.

    Each round searches random zones, then searches positions from these searches alone, and trains
    the network on results and proof sizes. The network orders the searches of the next round. The
    final network trains on the last two rounds with a network.
    """
    from miai.progress import make_progress
    from miai_go.errors import require_torch

    require_torch("training")
    import torch

    from miai.tensors import TrainingRecord
    from miai_go.tsumego.networks.ordering_training import Samples, joined, learn, sample
    from miai_go.tsumego.solver.ordering import OrderingNet

    torch.set_num_threads(1)
    network: OrderingNet | None = None
    parts: list[Samples] = []
    fits: list[OrderingFit] = []
    view = make_progress(
        "Train the ordering network", unit="positions", aside=not sys.stdout.isatty() or as_json
    )
    for number in range(1, rounds + 1):
        view.begin(done=0, total=positions)

        def show(done: int, number: int = number) -> None:
            view.reach(done, f"round {number}", every=_LINE_SECONDS)

        parts.append(sample(positions, seed=seed * 1_000 + number, network=network, progress=show))
        view.close()
        recent = joined(parts[1:][-2:] or parts)
        network, fit = learn(recent, seed=seed, width=width, steps=steps)
        fits.append(fit)
        if not as_json:
            print(_line(number, fit), flush=True)
    if network is None:
        return
    parameters: dict[str, Any] = {
        "rounds": rounds,
        "positions": positions,
        "width": width,
        "steps": steps,
        "seed": seed,
    }
    command = " ".join(f"--{name} {value}" for name, value in parameters.items())
    record = TrainingRecord(command=f"miai go tsumego ordering {command}", seed=seed)
    network.write(out, history=(record,))
    if as_json:
        summary = {"file": out.name, "bytes": out.stat().st_size}
        print(json.dumps({**summary, "rounds": [asdict(fit) for fit in fits]}, indent=2))
    else:
        print(f"{out}: {out.stat().st_size} bytes")


def _line(number: int, fit: OrderingFit) -> str:
    return (
        f"round {number}: trained on {fit.samples} positions; accuracy {fit.right:.1%} on "
        f"{fit.held_out} held-out positions (more common answer {fit.commoner:.1%}); explained "
        f"variance of proof sizes {fit.proof:.0%}, of disproof sizes {fit.disproof:.0%}"
    )
