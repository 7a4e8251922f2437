"""What a program in another language costs a move: the agent ``program`` with the example in C.

A move of the program, which only picks a legal action at random, is timed from the question to the
decision, in the process of the referee.

    python benchmarks/programs.py
    python benchmarks/programs.py --moves 10000 --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import miai
from common.conditions import conditions
from miai.agent import RandomAgent
from miai.clock import ClockReading
from miai.process.programs import find_program

SOURCE = Path(__file__).parents[1] / "examples" / "programs" / "random_bot.c"


def timed(moves: int) -> list[float]:
    """Return the seconds of each move of the program in games of tic-tac-toe."""
    game, seconds = miai.load_game("tic_tac_toe"), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "bot"
        compiler = find_program("cc", advice={})
        subprocess.run([compiler, "-O2", "-o", target, SOURCE], check=True)
        bot = miai.make_agent("program", game, command=[str(target)])
        act = bot.act

        def measured(clock: ClockReading) -> miai.Decision:
            began = time.perf_counter()
            decision = act(clock)
            seconds.append(time.perf_counter() - began)
            return decision

        bot.act = measured  # type: ignore[method-assign]
        seed = 0
        while len(seconds) < moves:
            seed += 1
            miai.play(game, [bot, RandomAgent(game)], seed=seed)
        bot.close()
    return seconds[:moves]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a program costs a move.")
    parser.add_argument("--moves", type=int, default=5000, help="Moves to time")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    seconds = sorted(timed(arguments.moves))
    figures = {
        "moves": len(seconds),
        "median_ms": 1000 * statistics.median(seconds),
        "p99_ms": 1000 * seconds[len(seconds) * 99 // 100],
    }
    if arguments.json:
        print(json.dumps({**figures, **conditions()}))
        return
    print(f"{figures['moves']} moves: median {figures['median_ms']:.3f} ms")
    print(f"99 % within {figures['p99_ms']:.3f} ms")


if __name__ == "__main__":
    main()
