"""``miai go tsumego ordering``: train a network that orders the solver's search."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from miai_go.learning.life_ordering import OrderingFit


_LINE_SECONDS = 60.0


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    group.command("ordering")(ordering)


def ordering(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File of the network.")],
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, max=20, help="Rounds of search and training.")
    ] = 3,
    positions: Annotated[
        int, typer.Option("--positions", min=1_000, max=5_000_000, help="Positions of each round.")
    ] = 50_000,
    width: Annotated[int, typer.Option("--width", min=0, max=1024, help="Hidden units.")] = 32,
    steps: Annotated[
        int, typer.Option("--steps", min=1, help="Training steps of each round.")
    ] = 4_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of zones and training.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train a network that predicts proof sizes, for `miai go solve --network`.

    Each round searches random zones, with the previous network's advice, then proves sampled
    positions of these searches separately. The network learns the answers and the proof sizes of
    the last two rounds with advice.
    """
    from miai_go.errors import require_torch

    require_torch("learning")
    import torch

    from miai.progress import progress_beside
    from miai_go.learning.life_ordering import Samples, joined, learn, sample
    from miai_go.life.ordering import OrderingNet
    from miai_go.tensors import TrainingRecord

    torch.set_num_threads(1)
    network: OrderingNet | None = None
    history: list[Samples] = []
    fits: list[OrderingFit] = []
    for number in range(1, rounds + 1):
        with progress_beside(f"Round {number}", unit="positions", total=positions) as progress:
            show = partial(progress.reach, every=_LINE_SECONDS)
            samples = sample(positions, seed=seed * 1_000 + number, network=network, progress=show)
        history.append(samples)
        recent = joined(history[1:][-2:] or history)
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
        f"round {number}: trained on {fit.samples} positions; {fit.right:.1%} of {fit.held_out} "
        f"held-out answers right (majority {fit.commoner:.1%}); explained variance of proof sizes "
        f"{fit.proof:.0%}, of disproof sizes {fit.disproof:.0%}"
    )
