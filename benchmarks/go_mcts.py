"""Simulations a second of the compiled tree search against OpenSpiel's C++ search.

One move from the empty 9x9 board, komi 7.5, 10,000 simulations with one random playout each, no
RAVE, both searches in turn in the same process. The seconds are CPU time, compilation left out.
The playouts differ: OpenSpiel plays uniformly among all legal moves and fills its own eyes, so its
games are longer than those of `miai_go`, which stop when only eyes are left. Both trees expand a
node at its second visit.

    python benchmarks/go_mcts.py
    python benchmarks/go_mcts.py --json --repetitions 9
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numba

from common.conditions import conditions
from common.evidence import record
from miai_go.rules.board import BLACK, Board
from miai_go.rules.coordinates import vertex
from miai_go.search.mcts import UctTree

SIZE = 9
KOMI = 7.5
EXPLORATION = 1.4
DIFFERENCE = (
    "OpenSpiel's playouts are uniform over all legal moves and fill eyes; ours fill no own eye"
)
MISSING = "OpenSpiel is not installed; this benchmark compares with it: pip install open_spiel"


def own_search(simulations: int, seed: int) -> Callable[[], int]:
    """Return a function that searches one move and returns it."""
    board = Board(SIZE)

    def search() -> int:
        tree = UctTree(SIZE, seed=seed, exploration=EXPLORATION, rave=0, expand_after=1)
        tree.set_root(board, BLACK, komi=KOMI)
        tree.run(simulations)
        return tree.best()

    return search


def open_spiel_search(simulations: int, seed: int) -> Callable[[], int]:
    """Return the same for OpenSpiel. Exits with code 2 where it is not installed."""
    try:
        import pyspiel
    except ImportError:
        print(MISSING, file=sys.stderr)
        raise SystemExit(2) from None
    game = pyspiel.load_game(f"go(board_size={SIZE},komi={KOMI})")
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=seed)
    megabytes, solve, verbose = 1000, False, False
    bot = pyspiel.MCTSBot(
        game, evaluator, EXPLORATION, simulations, megabytes, solve, seed, verbose
    )

    def search() -> int:
        return int(bot.step(game.new_initial_state()))

    return search


def timed(search: Callable[[], int]) -> tuple[float, int]:
    """Return CPU seconds and the move found."""
    started = time.process_time()
    move = search()
    return time.process_time() - started, move


def benchmark(simulations: int, repetitions: int, seed: int) -> dict[str, Any]:
    """Let both search `repetitions` moves, in turn."""
    theirs = open_spiel_search(simulations, seed)
    own_search(10, seed)()
    ours = own_search(simulations, seed)
    speeds: dict[str, list[float]] = {"own": [], "open_spiel": []}
    moves = {}
    for _ in range(repetitions):
        for name, search in (("own", ours), ("open_spiel", theirs)):
            seconds, moves[name] = timed(search)
            speeds[name].append(simulations / seconds)
    own, other = median(speeds["own"]), median(speeds["open_spiel"])
    return {
        "benchmark": "go_mcts",
        **conditions(),
        "numba": numba.__version__,
        "board_size": SIZE,
        "komi": KOMI,
        "simulations": simulations,
        "repetitions": repetitions,
        "seed": seed,
        "simulations_per_second": round(own),
        "openspiel_simulations_per_second": round(other),
        "ratio": round(own / other, 2),
        "interval": [round(v) for v in (own, min(speeds["own"]), max(speeds["own"]))],
        "openspiel_interval": [
            round(v) for v in (other, min(speeds["open_spiel"]), max(speeds["open_spiel"]))
        ],
        "move": vertex(moves["own"], SIZE),
        "openspiel_move": vertex(moves["open_spiel"], SIZE),
        "difference": DIFFERENCE,
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    parser.add_argument("--simulations", type=int, default=10_000, help="Simulations per move")
    parser.add_argument("--repetitions", type=int, default=5, help="Moves per search")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the searches")
    arguments = parser.parse_args()
    report = benchmark(arguments.simulations, arguments.repetitions, arguments.seed)
    if arguments.record:
        middle, low, high = report["interval"]
        record(
            "mcts",
            f"{middle:,} simulations per second",
            interval=f"{low:,} to {high:,}",
            peer=f"{report['ratio']:.1f} times as fast as OpenSpiel's C++ MCTSBot, "
            "whose games are longer",
        )
    if arguments.json:
        print(json.dumps(report))
        return
    print(f"{report['machine']}; Python {report['python']}, numba {report['numba']}")
    print(f"one move of {arguments.simulations:,} simulations, 9x9, komi {KOMI}:")
    print(f"  miai_go    {report['simulations_per_second']:,} simulations a second")
    print(f"  OpenSpiel  {report['openspiel_simulations_per_second']:,} (C++ MCTSBot)")
    print(f"  ratio      {report['ratio']}")
    print(f"{DIFFERENCE}.")


if __name__ == "__main__":
    main()
