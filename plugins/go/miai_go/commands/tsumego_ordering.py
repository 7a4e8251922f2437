"""``miai go tsumego ordering``: a network that tells the solver what to look at first."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from miai_go.learning.life_ordering import OrderingFit


_SHOW_SECONDS = 10.0


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    group.command("ordering")(ordering)


def ordering(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The network's file.")],
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, max=20, help="Each advised by the one before.")
    ] = 3,
    positions: Annotated[
        int, typer.Option("--positions", min=1_000, max=5_000_000, help="Of each round.")
    ] = 50_000,
    width: Annotated[int, typer.Option("--width", min=0, max=1024, help="Hidden units.")] = 32,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Of learning, each round.")] = 4_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of zones and of learning.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a network that foretells how hard positions are to prove, for `miai go solve --network`.

    Random zones are searched; positions that the searches met are searched by themselves; the
    network learns what came of it and what it took. Then all is done again with its advice. The
    last network learns from the last two rounds that had any.
    """
    from miai_go.errors import require_torch

    require_torch("learning")
    import torch

    from miai_go.learning.life_ordering import Samples, joined, learn, sample
    from miai_go.life.ordering import OrderingNet
    from miai_go.tensors import TrainingRecord

    torch.set_num_threads(1)
    network: OrderingNet | None = None
    made: list[Samples] = []
    fits: list[OrderingFit] = []
    for number in range(1, rounds + 1):
        made.append(
            sample(
                positions, seed=seed * 1_000 + number, network=network, progress=_progress(number)
            )
        )
        recent = joined(made[1:][-2:] or made)
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
        told = {"file": out.name, "bytes": out.stat().st_size}
        print(json.dumps({**told, "rounds": [asdict(fit) for fit in fits]}, indent=2))
    else:
        print(f"{out}: {out.stat().st_size} bytes")


def _progress(number: int) -> Callable[[int], None]:
    """Return what tells now and then how many positions a round has."""
    last = time.monotonic()

    def show(have: int) -> None:
        nonlocal last
        if time.monotonic() - last > _SHOW_SECONDS:
            last = time.monotonic()
            print(f"round {number}: {have} positions", file=sys.stderr, flush=True)

    return show


def _line(number: int, fit: OrderingFit) -> str:
    return (
        f"round {number}: learnt from {fit.samples} positions; of {fit.held_out} held out "
        f"{fit.right:.1%} right (the commoner answer {fit.commoner:.1%}); explained of the sizes "
        f"of proofs {fit.proof:.0%}, of disproofs {fit.disproof:.0%}"
    )
