"""Speed of training: reading SGF, making batches, network steps, waiting for batches.

9x9, games of seeded light playouts, broken off at 40 to 80 moves, written by `miai_go.sgf.writing`.
Import: files read, games checked move by move and written as shards. Batches: positions reached by
playing games again, turned and encoded. Steps: forwards, backwards and the optimiser on batches
that are there already. Runs: what `miai go train sl` does, with batches made ahead in a thread and
without; the share is of the whole run, its measurement and its checkpoint included.

torch has one thread. Import and batches are in CPU time of this process; the rest in wall time,
since batches that are made ahead are made while the network learns, on another core if one is free.

    python benchmarks/go_training.py
    python benchmarks/go_training.py --json --games 500 --steps 20 --precisions bf16
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np
import torch

from common.conditions import conditions, processor
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.importing import GameFilters, ImportReport, import_games
from miai_go.learning.data.shards import ShardWriter
from miai_go.learning.training.config_sections import (
    EncoderSection,
    LearningTables,
    NetworkSection,
    TrainingRunSection,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Learner
from miai_go.learning.training.run_folder import TrainingJournal, load_plan
from miai_go.learning.training.supervised import (
    AHEAD,
    SupervisedConfig,
    lesson_of,
    train_supervised,
)
from miai_go.nets.encoder import load_encoder
from miai_go.rules.board import BLACK, Board
from miai_go.rules.game import GoGame
from miai_go.rules.game_parameters import GoParameters
from miai_go.rules.playouts import Playouts
from miai_go.sgf.writing import state_to_sgf

SIZE = 9
LENGTHS = (40, 80)
ENCODERS = ("zero", "alphago")
FEEDER = "alphago"  # of the networks that are trained: the dearest encoder
KEPT = 8  # batches that are learnt from over and over

CONFIG = """
[data]
sources = ["{games}"]
size = 9
validation = 0.02
test = 0.0

[encoder]
name = "{encoder}"

[network]
name = "tower"
parameters = {{ height = {height}, width = {width} }}

[optimiser]
batch = {batch}

[run]
steps = {steps}
threads = 1
precision = "{precision}"
checkpoint_every = {steps}
measure_every = {steps}
"""


def write_games(folder: Path, count: int, seed: int) -> None:
    """Write seeded playouts as SGF, scored by area after the last move."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    player = Playouts(SIZE, seed)
    for number in range(count):
        moves = player.play(Board(SIZE), BLACK)[: int(rng.integers(*LENGTHS, endpoint=True))]
        rules: dict[str, Any] = {"ko": "simple", "repetition": "allowed", "suicide": False}
        game = GoGame(GoParameters(board_size=SIZE, komi=7.0, max_moves=len(moves), **rules))
        state = game.new_initial_state()
        for _color, point in moves:
            state.apply_action(point)
        (folder / f"{number}.sgf").write_text(state_to_sgf(state), encoding="utf-8")


def import_once(sources: Path, out: Path) -> int:
    """Import games from SGF into shards; return the number of games."""
    with ShardWriter(out, size=SIZE) as writer:
        for game in import_games([sources], GameFilters(size=SIZE), ImportReport()):
            writer.add(game)
    return writer.written


def spread(speeds: list[float]) -> list[int]:
    """Return the median, the least and the greatest."""
    return [round(median(speeds)), round(min(speeds)), round(max(speeds))]


def measure_import(folder: Path, repetitions: int) -> tuple[Path, list[int]]:
    """Import the games repeatedly; return the shards and games per second of CPU time."""
    import_once(folder / "sgf", folder / "warm")
    speeds = []
    for number in range(repetitions):
        began = time.process_time()
        taken = import_once(folder / "sgf", folder / f"shards-{number}")
        speeds.append(taken / (time.process_time() - began))
    return folder / "warm", spread(speeds)


def measure_batches(games: Path, batch: int, seconds: float, repetitions: int) -> dict[str, Any]:
    """Return batches per second of CPU time for each encoder, measured in turn."""
    feeds = {name: GoDataset(games, encoder=load_encoder(name, SIZE)) for name in ENCODERS}
    speeds: dict[str, list[float]] = {name: [] for name in ENCODERS}
    for name in ENCODERS:
        next(feeds[name].batches(batch))
    for _ in range(repetitions):
        for name, data in feeds.items():
            stream, made = data.batches(batch, drop_last=True), 0
            began = time.process_time()
            while time.process_time() - began < seconds:
                stream.batch(made % len(stream))
                made += 1
            speeds[name].append(made / (time.process_time() - began))
    return {name: spread(values) for name, values in speeds.items()}


def measure_steps(games: Path, arguments: argparse.Namespace, precision: str) -> int:
    """Return positions trained per second, with batches made beforehand."""
    network, encoders, _header = make_network(
        SIZE,
        EncoderSection(name=FEEDER),
        NetworkSection(parameters={"height": arguments.height, "width": arguments.width}),
        seed=arguments.seed,
    )
    encoder = encoders[SIZE]
    run = TrainingRunSection.model_validate({"precision": precision, "steps": arguments.steps})
    learner = Learner(network, encoder.scales, LearningTables(run=run))
    stream = GoDataset(games, encoder=encoder).batches(arguments.batch, drop_last=True)
    lessons = [lesson_of(batch) for batch in islice(stream, KEPT)]
    learner.learn(lessons[0])
    began = time.perf_counter()
    for lesson in islice(cycle(lessons), arguments.steps):
        learner.learn(lesson)
    took = time.perf_counter() - began
    return round(int(arguments.steps * arguments.batch) / took)


def measure_run(
    folder: Path, games: Path, arguments: argparse.Namespace, precision: str, ahead: int
) -> dict[str, Any]:
    """Train as `miai go train sl` does; return the share of time spent waiting for data."""
    name = f"{precision}-{ahead}"
    path = folder / f"{name}.toml"
    path.write_text(
        CONFIG.format(
            games=games,
            encoder=FEEDER,
            height=arguments.height,
            width=arguments.width,
            batch=arguments.batch,
            steps=arguments.steps,
            precision=precision,
        ),
        encoding="utf-8",
    )
    plan = load_plan(path, SupervisedConfig, command="train sl", out=folder / name)
    began = time.perf_counter()
    learnt = train_supervised(plan, journal=TrainingJournal(folder / name, quiet=True), ahead=ahead)
    took = time.perf_counter() - began
    return {
        "precision": precision,
        "ahead": ahead,
        "positions_per_second": round(arguments.steps * arguments.batch / took),
        "loading_share": round(learnt.loading_share, 4),
    }


def benchmark(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure every part."""
    tell: Callable[[str], None] = (lambda _: None) if arguments.json else print
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    write_games(folder / "sgf", arguments.games, arguments.seed)
    games, imported = measure_import(folder, arguments.repetitions)
    moves = GoDataset(games).positions / len(GoDataset(games))
    tell(f"import: {_told(imported)} games a second, {moves:.1f} moves a game")
    batches = measure_batches(games, arguments.batch, arguments.seconds, arguments.repetitions)
    for name, figures in batches.items():
        tell(f"{name}: {_told(figures)} batches of {arguments.batch} a second")
    steps, runs = {}, []
    network = f"tower {arguments.height}x{arguments.width}, {FEEDER}"
    for precision in arguments.precisions:
        steps[precision] = measure_steps(games, arguments, precision)
        tell(f"{network}, {precision}: {steps[precision]:,} positions a second learnt from")
        for ahead in (0, AHEAD):
            runs.append(row := measure_run(folder, games, arguments, precision, ahead))
            tell(
                f"  miai go train sl, {ahead} batches ahead: {row['positions_per_second']:,} "
                f"positions a second in all, {row['loading_share']:.2%} of it waiting for data"
            )
    return {
        "benchmark": "go_training",
        **conditions(),
        "load": round(load, 1),
        "numba": numba.__version__,
        "torch": torch.__version__,
        "bf16_in_hardware": bool(torch.cpu._is_avx512_bf16_supported()),
        "board_size": SIZE,
        "games": arguments.games,
        "moves_per_game": round(moves, 1),
        "batch": arguments.batch,
        "steps": arguments.steps,
        "repetitions": arguments.repetitions,
        "seed": arguments.seed,
        "network": network,
        "imported_games_per_second": imported,
        "batches_per_second": batches,
        "learnt_positions_per_second": steps,
        "runs": runs,
    }


def _told(figures: list[int]) -> str:
    middle, low, high = figures
    return f"{middle:,} ({low:,} to {high:,})"


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--games", type=int, default=2000, help="Games to import (2000)")
    parser.add_argument("--batch", type=int, default=256, help="Positions per batch (256)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="CPU seconds per measurement (1)"
    )
    parser.add_argument("--steps", type=int, default=100, help="Steps per training run (100)")
    parser.add_argument("--repetitions", type=int, default=5, help="Imports and measurements (5)")
    parser.add_argument(
        "--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"]
    )
    parser.add_argument("--height", type=int, default=5, help="Blocks of the network")
    parser.add_argument("--width", type=int, default=64, help="Channels of the network")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the games")
    arguments = parser.parse_args()
    if not arguments.json:
        print(f"{processor()}; Python {platform.python_version()}, torch {torch.__version__}")
    with TemporaryDirectory() as folder:
        report = benchmark(arguments, Path(folder))
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
