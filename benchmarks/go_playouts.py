"""Playouts per second from the empty 9x9 and 19x19 boards, on one core.

See `miai_go.rules.playouts` for light playouts; `--tactical` measures tactical ones, which answer
atari. Seconds are CPU time of this process, without compilation.

    python benchmarks/go_playouts.py
    python benchmarks/go_playouts.py --tactical
    python benchmarks/go_playouts.py --json --seconds 10
"""

import argparse
import json
import time
from statistics import median
from typing import Any

import numba

from common.conditions import conditions
from common.evidence import record
from miai_go.rules.board import BLACK, Board
from miai_go.rules.playouts import Playouts

SIZES = (9, 19)
KOMI = 7.5
ROWS = {
    "light": {"playouts-9": 9, "playouts-19": 19},
    "tactical": {"playouts-tactical": 9},
}
"""Rows of the page, and their sizes, by what is played."""


def measure(player: Playouts, board: Board, seconds: float) -> tuple[float, float]:
    """Play for about `seconds` of CPU time; return playouts per second and moves per playout."""
    batch = max(1, 20_000 // board.size**2)
    count, moves = 0, 0.0
    started = time.process_time()
    while (spent := time.process_time() - started) < seconds:
        result = player.run(board, BLACK, batch, komi=KOMI)
        count += batch
        moves += result.mean_moves * batch
    return count / spent, moves / count


def benchmark(seconds: float, repetitions: int, seed: int, *, tactical: bool) -> dict[str, Any]:
    """Measure every size `repetitions` times, in turn, for `seconds` altogether."""
    slice_seconds = seconds / (len(SIZES) * repetitions)
    boards = {size: Board(size) for size in SIZES}
    players = {size: Playouts(size, seed, tactical=tactical) for size in SIZES}
    for size in SIZES:
        players[size].run(boards[size], BLACK, 10, komi=KOMI)
    speeds: dict[int, list[float]] = {size: [] for size in SIZES}
    lengths: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(repetitions):
        for size in SIZES:
            speed, length = measure(players[size], boards[size], slice_seconds)
            speeds[size].append(speed)
            lengths[size].append(length)
    report: dict[str, Any] = {
        "benchmark": "go_playouts",
        **conditions(),
        "numba": numba.__version__,
        "seconds": seconds,
        "repetitions": repetitions,
        "seed": seed,
        "playouts": "tactical" if tactical else "light",
    }
    for size in SIZES:
        values = speeds[size]
        report[f"playouts_per_second_{size}"] = round(median(values))
        report[f"interval_{size}"] = [
            round(value) for value in (median(values), min(values), max(values))
        ]
        report[f"moves_per_playout_{size}"] = round(sum(lengths[size]) / repetitions, 1)
    return report


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--seconds", type=float, default=6.0, help="Total CPU seconds (6)")
    parser.add_argument(
        "--repetitions", type=int, default=10, help="Measurements per board size (10)"
    )
    parser.add_argument("--seed", type=int, default=1, help="Seed of the playouts")
    parser.add_argument(
        "--tactical", action="store_true", help="Measure playouts that answer atari"
    )
    arguments = parser.parse_args()
    report = benchmark(
        arguments.seconds, arguments.repetitions, arguments.seed, tactical=arguments.tactical
    )
    if arguments.record:
        for name, size in ROWS[report["playouts"]].items():
            middle, low, high = report[f"interval_{size}"]
            record(name, f"{middle:,} per second", interval=f"{low:,} to {high:,}")
    if arguments.json:
        print(json.dumps(report))
        return
    print(f"{report['machine']}; Python {report['python']}, numba {report['numba']}")
    for size in SIZES:
        middle, low, high = report[f"interval_{size}"]
        print(
            f"{size}x{size}: {middle:,} {report['playouts']} playouts a second (median of "
            f"{arguments.repetitions}, {low:,} to {high:,}), "
            f"{report[f'moves_per_playout_{size}']} moves each"
        )


if __name__ == "__main__":
    main()
