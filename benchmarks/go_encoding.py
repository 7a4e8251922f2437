"""Positions encoded a second on one core, for each encoder, and pattern policy evaluations.

The positions are drawn from seeded random games in which stones tend to be played beside others, so
that there is something to read. The seconds are CPU time of this process, compilation left out.

    python benchmarks/go_encoding.py
    python benchmarks/go_encoding.py --json --seconds 10 --size 19
"""

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from common.conditions import conditions, spread
from miai_go.kernels import trail
from miai_go.nets.encoder import Positions, load_encoder
from miai_go.nets.patterns import PatternPolicy
from miai_go.rules.board import BLACK, Board
from miai_go.rules.playouts import Playouts

ENCODERS = ("zero", "alphago")
PATTERNS = "patterns"
BATCH = 1000


def make_positions(size: int, count: int, seed: int) -> Positions:
    """Return positions of seeded playouts, each at a random move up to two for three points."""
    rng = np.random.default_rng(seed)
    player = Playouts(size, seed)
    positions = Positions.room(size, count)
    for row in range(count):
        moves = player.play(Board(size), BLACK)
        cut = int(rng.integers(min(len(moves), 2 * size * size // 3)))
        actions: NDArray[np.int16] = np.array([point for _, point in moves[:cut]], np.int16)
        trail.extend_trail(positions.words[row], positions.trails[row], actions, False)
    return positions


def speed(work: Callable[[Positions], Any], positions: Positions, seconds: float) -> float:
    """Return the positions a second that `work` takes."""
    done = 0
    started = time.process_time()
    while (spent := time.process_time() - started) < seconds:
        start = done % len(positions)
        work(positions[start : start + BATCH])
        done += BATCH
    return done / spent


def workers(size: int) -> dict[str, Callable[[Positions], Any]]:
    """Return what is measured, by name."""
    encodings: dict[str, Callable[[Positions], Any]] = {
        name: load_encoder(name, size).encode for name in ENCODERS
    }
    encodings[PATTERNS] = PatternPolicy.untrained(size).probabilities
    return encodings


def benchmark(size: int, seconds: float, repetitions: int, seed: int) -> dict[str, Any]:
    """Measure each worker `repetitions` times, in turn, for `seconds` altogether."""
    positions = make_positions(size, 10 * BATCH, seed)
    work = workers(size)
    for name in work:
        work[name](positions[:1])
    share = seconds / (len(work) * repetitions)
    speeds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repetitions):
        for name in work:
            speeds[name].append(speed(work[name], positions, share))
    report: dict[str, Any] = {
        "benchmark": "go_encoding",
        **conditions(),
        "numba": numba.__version__,
        "size": size,
        "seconds": seconds,
        "repetitions": repetitions,
        "seed": seed,
    }
    for name, values in speeds.items():
        report[f"positions_per_second_{name}"] = round(median(values))
        report[f"interval_{name}"] = spread(values)
    return report


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--size", type=int, default=9, help="Board size in points (9)")
    parser.add_argument("--seconds", type=float, default=10.0, help="Total CPU seconds (10)")
    parser.add_argument("--repetitions", type=int, default=10, help="Measurements per encoder (10)")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the positions")
    arguments = parser.parse_args()
    report = benchmark(arguments.size, arguments.seconds, arguments.repetitions, arguments.seed)
    if arguments.json:
        print(json.dumps(report))
        return
    print(f"{report['machine']}; Python {report['python']}, numba {report['numba']}")
    for name in (*ENCODERS, PATTERNS):
        middle, low, high = report[f"interval_{name}"]
        print(
            f"{name}: {middle:,} positions a second (median of {arguments.repetitions}, {low:,} to "
            f"{high:,})"
        )


if __name__ == "__main__":
    main()
