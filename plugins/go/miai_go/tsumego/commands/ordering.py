"""``miai go tsumego ordering``: train the network that orders the solver's search."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from miai.cli.options import Options, add_command

if TYPE_CHECKING:
    from miai_go.tsumego.components import OrderingPlan
    from miai_go.tsumego.networks.ordering_training import OrderingFit


_LINE_SECONDS: Final = 10.0


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    plan = Options("miai_go.tsumego.components:OrderingPlan")
    add_command(group, "ordering", ordering, plan=plan)


def ordering(
    plan: OrderingPlan,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File for the network.")],
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
    for number in range(1, plan.rounds + 1):
        view.begin(done=0, total=plan.positions)

        def show(done: int, number: int = number) -> None:
            view.reach(done, f"round {number}", every=_LINE_SECONDS)

        drawn = plan.seed * 1_000 + number
        parts.append(sample(plan.positions, seed=drawn, network=network, progress=show))
        view.close()
        recent = joined(parts[1:][-2:] or parts)
        network, fit = learn(recent, seed=plan.seed, width=plan.width, steps=plan.steps)
        fits.append(fit)
        if not as_json:
            print(_line(number, fit), flush=True)
    if network is None:
        return
    command = " ".join(f"--{name} {value}" for name, value in plan.model_dump().items())
    record = TrainingRecord(command=f"miai go tsumego ordering {command}", seed=plan.seed)
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
