"""Seconds from the start of a process to its first move, with an empty cache and a full one.

A process plays one move, of Go on 9x9 or of Reconnaissance Blind Chess, and ends.
`first_move_seconds_cold` is what the first one after an installation takes, compilation included;
`first_move_seconds_warm` is what later ones take, which load the compiled code. Wall time; both for
every agent. Each cold run has an empty `NUMBA_CACHE_DIR` of its own, and the warm runs use the last
one.

    python benchmarks/cold_start.py
    python benchmarks/cold_start.py --json --repetitions 5
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numba

from common.conditions import conditions, spread
from common.evidence import record

AGENTS: dict[str, tuple[str, dict[str, int], dict[str, int]]] = {
    "mcts": ("go", {"board_size": 9}, {"simulations": 50}),
    "fast-random": ("go", {"board_size": 9}, {}),
    "rbc-strong": ("rbc", {}, {}),
}
"""Agents by name: their game, its parameters, their own parameters."""

PROGRAM = """
import json, sys
import miai
from miai.clock import Clock, TimeControl
name, (game, given, parameters) = json.loads(sys.argv[1])
game = miai.load_game(game, **given)
agent = miai.make_agent(name, game, seed=1, **parameters)
agent.new_game(1, player=0)
agent.observe(game.new_initial_state().observation(0))
agent.act(Clock(TimeControl()).reading())
"""


def first_move(agent: str, cache: Path) -> float:
    """Return the seconds that a process takes to start, play one move and end."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([agent, AGENTS[agent]])]
    started = time.perf_counter()
    subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, check=True)
    return time.perf_counter() - started


def measure(agent: str, repetitions: int) -> tuple[list[float], list[float]]:
    """Return the seconds of the cold runs and of the warm ones."""
    with tempfile.TemporaryDirectory() as folder:
        caches = [Path(folder) / str(number) for number in range(repetitions)]
        cold = [first_move(agent, cache) for cache in caches]
        warm = [first_move(agent, caches[-1]) for _ in range(repetitions)]
    return cold, warm


def benchmark(repetitions: int) -> dict[str, Any]:
    """Measure every agent `repetitions` times cold and as often warm."""
    seconds = {agent: measure(agent, repetitions) for agent in AGENTS}
    report: dict[str, Any] = {
        "benchmark": "cold_start",
        **conditions(),
        "numba": numba.__version__,
        "repetitions": repetitions,
    }
    for number, state in enumerate(("cold", "warm")):
        runs = {agent: both[number] for agent, both in seconds.items()}
        report[f"first_move_seconds_{state}"] = {a: round(median(r), 2) for a, r in runs.items()}
        report[f"interval_{state}"] = {a: spread(r, 2) for a, r in runs.items()}
    return report


ROWS = {"mcts": "cold-mcts", "fast-random": "cold-random", "rbc-strong": "cold-rbc"}


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument(
        "--repetitions", type=int, default=3, help="Cold and warm runs per agent (3)"
    )
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    arguments = parser.parse_args()
    report = benchmark(arguments.repetitions)
    if arguments.record:
        for agent, row in ROWS.items():
            (cold, low, high), (warm, *_) = (
                report[f"interval_{state}"][agent] for state in ("cold", "warm")
            )
            record(row, f"{cold:.2f} s", interval=f"{low:.2f} to {high:.2f}", peer=f"warm {warm} s")
    if arguments.json:
        print(json.dumps(report))
        return
    print(f"{report['machine']}; Python {report['python']}, numba {report['numba']}")
    for agent in AGENTS:
        for state in ("cold", "warm"):
            middle, low, high = report[f"interval_{state}"][agent]
            print(
                f"{agent}, {state}: first move after {middle} s "
                f"(median of {arguments.repetitions}, {low} to {high})"
            )


if __name__ == "__main__":
    main()
