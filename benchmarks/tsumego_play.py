"""Life and death in play: how often a search starts a problem with a solving move.

    python benchmarks/tsumego_play.py --problems 100 --simulations 400 --json

Shipped problems with few empty points, drawn at random, are set up as games with the solving side
to move. An agent looks for a move with `tsumego` off, with the network's advice and with the
solver's; a move is right when it is among the proved ones. Nothing else is settled on the board, so
a search that thinks of points alone may have reason to play elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import numpy as np

import miai
from common.conditions import conditions
from miai.errors import MiaiError
from miai.game import Game
from miai.record import MoveRecord
from miai_go.rules.coordinates import vertex
from miai_go.tsumego.problem_sgf import Problem, shipped_problems

ASKED = ("none", "network", "solver")


def drawn(arguments: argparse.Namespace) -> list[Problem]:
    """Return shipped problems of a size whose zones have few empty points."""
    few = [
        problem
        for problem in shipped_problems()
        if problem.size == arguments.size
        and problem.solutions
        and problem.empty is not None
        and problem.empty <= arguments.most_empty
    ]
    count = min(arguments.problems, len(few))
    chosen = np.random.default_rng(arguments.seed).choice(len(few), count, replace=False)
    return [few[number] for number in sorted(chosen.tolist())]


def position(problem: Problem) -> Game:
    """Return the game that starts with a problem, the solving side to move."""
    black, white = (
        [vertex(point, problem.size) for point in np.flatnonzero(problem.stones == mark).tolist()]
        for mark in (1, 2)
    )
    return miai.load_game(
        "go",
        board_size=problem.size,
        komi=7.0,
        black_stones=black,
        white_stones=white,
        first_player="black" if problem.to_play == 1 else "white",
    )


def measure(problems: list[Problem], asked: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the number of problems started with a solving move, and the time per move."""
    right, seconds = 0, 0.0
    _first_move(
        problems[0], asked, arguments, seed=0
    )  # kernels are loaded, and their time not counted
    for number, problem in enumerate(problems):
        move = _first_move(problem, asked, arguments, seed=arguments.seed + number)
        right += move.action in problem.solutions
        seconds += move.cpu_seconds or 0.0
    row = {
        "right": right,
        "problems": len(problems),
        "milliseconds_a_move": round(1000 * seconds / len(problems), 1),
    }
    print(asked, row, file=sys.stderr)
    return row


def _first_move(
    problem: Problem, asked: str, arguments: argparse.Namespace, *, seed: int
) -> MoveRecord:
    game = position(problem)
    agents = [
        miai.make_agent(
            arguments.agent,
            game,
            simulations=arguments.simulations,
            adviser=asked,
            adviser_parameters={"nodes": arguments.nodes} if asked == "solver" else {},
        )
        for _ in range(2)
    ]
    return miai.play(game, agents, seed=seed, move_limit=1).moves[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agent", choices=("mcts", "alphago", "alphazero"), default="mcts")
    parser.add_argument(
        "--size", type=int, choices=(9, 13, 19), default=9, help="Board size in points"
    )
    parser.add_argument("--problems", type=int, default=100, help="Number of problems")
    parser.add_argument("--most-empty", type=int, default=16, help="Maximum empty points of a zone")
    parser.add_argument("--simulations", type=int, default=400, help="Simulations per move")
    parser.add_argument("--nodes", type=int, default=50_000, help="Node limit of the solver")
    parser.add_argument("--asked", nargs="+", choices=ASKED, default=ASKED)
    parser.add_argument("--seed", type=int, default=1, help="Seed of the searches")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    if arguments.problems < 1:
        parser.error("give at least one problem")
    try:
        problems = drawn(arguments)
        if not problems:
            parser.error(f"no shipped problem has at most {arguments.most_empty} empty points")
        rows = {asked: measure(problems, asked, arguments) for asked in arguments.asked}
    except MiaiError as error:
        sys.exit(f"tsumego_play.py: {error}")
    figures: dict[str, Any] = {
        "agent": arguments.agent,
        "size": arguments.size,
        "simulations": arguments.simulations,
        "rows": rows,
        "load_after": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    print(json.dumps(figures) if arguments.json else json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
