"""Settings of AlphaGo Zero's loop compared: what each learns from nothing in the same time.

One run of the loop begins with random weights and has the settings below; each of the others
changes some of them. All have about the same processor time: a pilot of two rounds tells how many
rounds fit. The weights at the end play a match against those of the first run, with equally many
simulations. Runs that are in the folder already are not repeated, so that it can be interrupted.

    python benchmarks/go_zero.py runs/go-zero-settings search.method=gumbel run.average=0
    python benchmarks/go_zero.py FOLDER --minutes 5 --seed 2 --json search.simulations=64
    python benchmarks/go_zero.py FOLDER search.full_share=0.25,search.simulations=80

A setting is one of `configs/go-zero-7x7.toml`, written as for `--set`, several with commas between.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common.conditions import conditions
from miai.files import write_text
from miai_go.learning.training.run_folder import TrainingPlan, load_plan
from miai_go.learning.training.zero import contest, train_zero
from miai_go.learning.training.zero_config import ZeroConfig
from miai_go.nets.inference import load_oracle

CONFIG = Path(__file__).parent.parent / "configs" / "go-zero-7x7.toml"
PLAIN = (
    *("search.method=puct", "network.parameters.height=3", "network.parameters.width=32"),
    *("selfplay.games=96", "selfplay.groups=1", "selfplay.at_once=48", "ladder.every=0"),
)
"""Settings of all runs: a small network, small rounds, and PUCT, which all settings apply to."""
STEPS = 50
"""Optimiser steps in a round."""
PILOT = 2
"""Rounds that tell how long one takes."""


def plan(
    folder: Path, settings: tuple[str, ...], *, rounds: int, seed: int
) -> TrainingPlan[ZeroConfig]:
    """Return the plan of a run."""
    length = (f"selfplay.rounds={rounds}", f"run.steps={rounds * STEPS}", f"run.seed={seed}")
    return load_plan(
        CONFIG,
        ZeroConfig,
        command="train zero",
        assignments=(*PLAIN, *length, *settings),
        out=folder,
    )


def timed(run: TrainingPlan[ZeroConfig]) -> tuple[Path, float]:
    """Return the weights at the end of a run and its processor time in seconds."""
    began = time.process_time()
    weights = train_zero(run).weights
    return weights, time.process_time() - began


def trained(
    folder: Path, settings: tuple[str, ...], arguments: argparse.Namespace
) -> tuple[Path, dict[str, Any], ZeroConfig]:
    """Return the weights of a run, its figures and its config."""
    figures_path = folder.with_name(f"{folder.name}.json")
    if figures_path.exists():
        figures = json.loads(figures_path.read_text())
    else:
        with tempfile.TemporaryDirectory() as pilot:
            run = plan(Path(pilot) / "pilot", settings, rounds=PILOT, seed=arguments.seed)
            seconds_a_round = timed(run)[1] / PILOT
        rounds = max(PILOT, round(60 * arguments.minutes / seconds_a_round))
        figures = {"minutes": arguments.minutes, "rounds": rounds}
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_text(figures_path, json.dumps(figures))
    if figures["minutes"] != arguments.minutes:
        sys.exit(f"{folder}: is of runs of {figures['minutes']:g} minutes; give another folder")
    run = plan(folder, settings, rounds=figures["rounds"], seed=arguments.seed)
    weights, seconds = timed(run)
    figures.setdefault("seconds", round(seconds))  # since it was last interrupted
    write_text(figures_path, json.dumps(figures))
    return weights, figures, run.config


def match(
    first: Path, second: Path, config: ZeroConfig, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return the figures of a match."""
    ours, theirs = (load_oracle(path, size=config.game.size) for path in (first, second))
    result = contest(
        ours,
        theirs,
        config,
        games=arguments.games,
        simulations=arguments.simulations,
        seed=arguments.seed,
    )
    lead, margin = result.elo()
    return {
        "won_drawn_lost": [result.wins, result.draws, result.losses],
        "elo": round(lead),
        "margin_95": round(margin),
    }


def main() -> None:
    """Train, play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="Folder of the runs")
    parser.add_argument("settings", nargs="+", metavar="TABLE.KEY=VALUE", help="One run each")
    parser.add_argument("--minutes", type=float, default=10, help="Processor time of each run")
    parser.add_argument("--games", type=int, default=400, help="Games of a match, an even number")
    parser.add_argument("--simulations", type=int, default=32, help="Simulations a move in matches")
    parser.add_argument("--seed", type=int, default=1, help="Seed of all runs and matches")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    arguments = parser.parse_args()
    folder = arguments.folder / f"seed-{arguments.seed}"
    with tempfile.TemporaryDirectory() as warm:  # compiles and loads what the first run would
        timed(plan(Path(warm) / "warm", ("selfplay.games=4",), rounds=1, seed=1))
    plain, figures, config = trained(folder / "plain", (), arguments)
    rows: list[dict[str, Any]] = [{"settings": "plain", **figures}]
    if not arguments.json:
        print(*(f"{name} {value}" for name, value in rows[0].items()), sep="  ", flush=True)
    for text in arguments.settings:
        weights, figures, _config = trained(folder / text, tuple(text.split(",")), arguments)
        row = {"settings": text, **figures, **match(weights, plain, config, arguments)}
        rows.append(row)
        if not arguments.json:
            print(*(f"{name} {value}" for name, value in row.items()), sep="  ", flush=True)
    if arguments.json:
        print(json.dumps({"rows": rows, **conditions()}, indent=2))


if __name__ == "__main__":
    main()
