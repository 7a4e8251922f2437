"""Overhead of the framework per game, and speed-up by a second worker.

`overhead_seconds_per_game`: wall time of a game of random tic-tac-toe in a tournament with one
worker process and warm agent processes (schedule, referee, clocks, record, store and all), less
that of the same game in a bare loop in one process. The processes' start-up time is separate.
`two_worker_speedup`: a CPU-bound tournament with one worker, by the same one with two; the time
from the first game's beginning to the last one's end.

    python benchmarks/tournament_overhead.py [--json] [--games N] [--rounds N] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import miai
from common.conditions import conditions
from common.evidence import record
from miai_tournaments.config.load import check_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.report.standings import Standings
from miai_tournaments.running.tournament_run import RunOptions, play_tournament
from miai_tournaments.store.rows import GameResult, ScheduledGame

OVERHEAD_TARGET = 0.005
SPEEDUP_TARGET = 1.8


class Stopwatch(Reporter):
    """A silent progress display that notes when the games begin.

    Attributes:
      began: when all processes were up and no game had begun, on the performance counter.
      ended: when the last result was committed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.began = self.ended = 0.0

    def begin(self, *, done: int, total: int, standings: Callable[[], Standings]) -> None:
        """Start the watch."""
        super().begin(done=done, total=total, standings=standings)
        self.began = time.perf_counter()

    def close(self) -> None:
        """Stop the watch."""
        self.ended = time.perf_counter()

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""


def play(players: list[dict[str, Any]], *, rounds: int, workers: int) -> tuple[float, float]:
    """Play a tournament of two players; return seconds of starting and of playing."""
    raw = {
        "tournament": {"name": "benchmark", "rounds": rounds},
        "game": {"name": "tic_tac_toe"},
        "players": players,
    }
    watch = Stopwatch()
    options = RunOptions(make_reporter=lambda _: watch, workers=workers)
    with tempfile.TemporaryDirectory() as folder:
        tournament = check_tournament(raw, source="benchmark", folder=Path(folder), text="")
        began = time.perf_counter()
        ending = play_tournament(tournament, Path(folder) / "run", options)
    assert ending.kind == "complete", ending
    return watch.began - began, watch.ended - watch.began


def bare_loop(games: int) -> float:
    """Return the seconds of `games` random games without the framework."""
    game, rng = miai.load_game("tic_tac_toe"), random.Random(0)
    began = time.perf_counter()
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
    return time.perf_counter() - began


def measure_overhead(games: int) -> dict[str, float]:
    """Return the overhead per game in seconds."""
    randoms = [{"name": name, "agent": "random"} for name in ("ann", "bob")]
    starting, playing = play(randoms, rounds=games // 2, workers=1)
    bare = bare_loop(games) / games
    return {
        "overhead_seconds_per_game": playing / games - bare,
        "bare_seconds_per_game": bare,
        "start_seconds": starting,
        "games": games,
    }


def measure_speedup(rounds: int, simulations: int) -> dict[str, float]:
    """Return the speed-up by a second worker when games are pure computation."""
    thinkers = [
        {"name": name, "agent": "mcts", "simulations": simulations} for name in ("ann", "bob")
    ]
    _, one = play(thinkers, rounds=rounds, workers=1)
    _, two = play(thinkers, rounds=rounds, workers=2)
    return {
        "two_worker_speedup": one / two,
        "one_worker_seconds": one,
        "two_workers_seconds": two,
        "speedup_games": 2 * rounds,
    }


def measure(games: int, rounds: int, simulations: int, repeats: int) -> dict[str, Any]:
    """Return all figures, each the median of the repetitions."""
    runs = [
        {**measure_overhead(games), **measure_speedup(rounds, simulations)} for _ in range(repeats)
    ]
    figures = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return {
        **figures,
        "overhead_target": OVERHEAD_TARGET,
        "speedup_target": SPEEDUP_TARGET,
        "repeats": repeats,
        "load_before": round(os.getloadavg()[0], 2),
        **conditions(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--games", type=int, default=2000, help="Games for measuring the overhead")
    parser.add_argument("--rounds", type=int, default=80, help="Rounds for measuring the speed-up")
    parser.add_argument(
        "--simulations",
        type=int,
        default=2000,
        help="Simulations per move for measuring the speed-up",
    )
    parser.add_argument("--repeats", type=int, default=3, help="Repetitions; the median counts")
    arguments = parser.parse_args()
    figures = measure(arguments.games, arguments.rounds, arguments.simulations, arguments.repeats)
    milliseconds = 1000 * figures["overhead_seconds_per_game"]
    if arguments.record:
        record("overhead", f"{milliseconds:.2f} ms")
        record("speed-up", f"{figures['two_worker_speedup']:.2f} times the games")
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"overhead    {milliseconds:6.2f} ms a game (target: at most 5)")
    print(f"speedup     {figures['two_worker_speedup']:6.2f} by a second worker (target: 1.8)")
    print(f"starting    {figures['start_seconds']:6.2f} s for one worker and two agents")
    print(f"on {figures['machine']}, Python {figures['python']}, {figures['date']}")


if __name__ == "__main__":
    main()
