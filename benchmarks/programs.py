"""What programs in another language cost: a player's move, and a position of a game.

The player is the example in C, which only picks a legal action at random: a move is timed from the
question to the decision, in the process of the referee. The game is tic-tac-toe in C: random games
are played with nothing remembered, so that each action is a question. `mcts` searches it and miai's
own tic-tac-toe in turn, from the first position; the program plays the random games itself.

    python benchmarks/programs.py
    python benchmarks/programs.py --moves 10000 --json
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import miai
from common.conditions import conditions
from miai.agent import RandomAgent
from miai.clock import Clock, ClockReading, TimeControl
from miai.process.programs import find_program

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples" / "programs"


def built(name: str, folder: str) -> list[str]:
    """Compile an example in C; return its command."""
    target, compiler = Path(folder) / name, find_program("cc", advice={})
    subprocess.run([compiler, "-O2", "-o", target, EXAMPLES / f"{name}.c"], check=True)
    return [str(target)]


def seconds_of_actions(actions: int) -> list[float]:
    """Return the seconds of each action of random games of tic-tac-toe, a question each."""
    seconds, rng = list[float](), random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        command = built("tic_tac_toe", folder)
        game = miai.load_game("program", command=command, remembered=0)
        while len(seconds) < actions:
            state = game.new_initial_state()
            while not state.is_terminal():
                action = rng.choice(state.legal_actions())
                began = time.perf_counter()
                state.apply_unchecked(action)
                seconds.append(time.perf_counter() - began)
    return seconds[:actions]


def simulations_per_second(simulations: int, repeats: int = 3) -> tuple[float, float]:
    """Return how many simulations `mcts` does in the game of a program, and in miai's own.

    The medians of searches from the first position, in turn, each with a program that remembers
    nothing yet.
    """
    rates: list[list[float]] = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        command = built("tic_tac_toe", folder)
        for number in range(repeats):
            games = (
                miai.load_game("program", command=command, answer_timeout=10.0 + number),
                miai.load_game("tic_tac_toe"),
            )
            for game, found in zip(games, rates, strict=True):
                agent = miai.make_agent("mcts", game, simulations=simulations)
                agent.new_game(number, player=0)
                first = game.new_initial_state().observation(0)
                assert first is not None
                agent.observe(first)
                began = time.perf_counter()
                agent.act(Clock(TimeControl()).reading())
                found.append(simulations / (time.perf_counter() - began))
    return statistics.median(rates[0]), statistics.median(rates[1])


def seconds_of_moves(moves: int) -> list[float]:
    """Return the seconds of each move of the program in games of tic-tac-toe."""
    game, seconds = miai.load_game("tic_tac_toe"), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        bot = miai.make_agent("program", game, command=built("random_bot", folder))
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
    parser = argparse.ArgumentParser(description="What programs cost a move.")
    parser.add_argument("--moves", type=int, default=5000, help="Moves, and actions, to time")
    parser.add_argument("--simulations", type=int, default=2000, help="Simulations of a search")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    moves = sorted(seconds_of_moves(arguments.moves))
    actions = sorted(seconds_of_actions(arguments.moves))
    rate, own = simulations_per_second(arguments.simulations)
    figures = {
        "moves": len(moves),
        "median_ms": 1000 * statistics.median(moves),
        "p99_ms": 1000 * moves[len(moves) * 99 // 100],
        "game_median_ms": 1000 * statistics.median(actions),
        "game_p99_ms": 1000 * actions[len(actions) * 99 // 100],
        "game_simulations_per_second": rate,
        "own_simulations_per_second": own,
    }
    if arguments.json:
        print(json.dumps({**figures, **conditions()}))
        return
    for what, prefix in (("moves of a player", ""), ("actions in a game", "game_")):
        median, high = figures[f"{prefix}median_ms"], figures[f"{prefix}p99_ms"]
        print(f"{len(moves)} {what}: median {median:.3f} ms, 99 % within {high:.3f} ms")
    print(f"mcts: {rate:,.0f} simulations per second in the program's tic-tac-toe")
    print(f"      {own:,.0f} in miai's own")


if __name__ == "__main__":
    main()
