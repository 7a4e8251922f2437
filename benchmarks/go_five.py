"""Does a network open 5x5 at the centre and take the whole board?

5x5 is solved: Black, moving first at the centre, takes all 25 points (van der Werf, van den Herik,
Uiterwijk 2003, "Solving Go on small boards"). Here a network plays Black against the compiled tree
search with more simulations; the games differ by the seeds of both.

    python benchmarks/go_five.py runs/go-zero-5x5/checkpoints/step-000006000/weights.safetensors
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import miai
from common.conditions import conditions
from miai.errors import MiaiError
from miai_tournaments.compare.summary import wilson

SIZE, CENTRE = 5, 12


def play(arguments: argparse.Namespace) -> dict[str, Any]:
    """Play the games and count them."""
    game = miai.load_game("go", board_size=SIZE, komi=24.0, rules="tromp-taylor")
    network = {
        "weights": arguments.weights,
        "simulations": arguments.simulations,
        "leaves": arguments.leaves,
    }
    black = miai.make_agent("alphazero", game, **network, search=arguments.search)
    white = miai.make_agent("mcts", game, simulations=arguments.factor * arguments.simulations)
    centre = whole = 0
    for number in range(arguments.games):
        record = miai.play(game, [black, white], seed=arguments.seed + number)
        opened = record.moves[0].action == CENTRE
        took = _margin(game, record) == SIZE**2
        centre += opened
        whole += opened and took
        if sys.stderr.isatty() or (number + 1) % 10 == 0:
            print(f"[{number + 1}/{arguments.games}] {whole} took everything", file=sys.stderr)
    share = wilson(whole, arguments.games)
    assert share is not None, "there are games"
    return {
        "games": arguments.games,
        "opened_at_the_centre": centre,
        "took_everything": whole,
        "share": round(share.value, 4),
        "share_95": [round(share.low or 0.0, 4), round(share.high or 0.0, 4)],
    }


def _margin(game: Any, record: Any) -> int:
    """Return Black's area less White's at the end of a game."""
    state = game.new_initial_state()
    for move in record.moves:
        state.apply_action(move.action)
    margin: float = state.score().margin + game.white_bonus
    return round(margin)


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="Weights file of a 5x5 network")
    parser.add_argument("--games", type=int, default=200, help="Number of games")
    parser.add_argument(
        "--simulations", type=int, default=64, help="Simulations per move of the network"
    )
    parser.add_argument(
        "--factor", type=int, default=10, help="Opponent simulations per own simulation"
    )
    parser.add_argument("--search", default="puct", choices=("puct", "gumbel"))
    parser.add_argument("--leaves", type=int, default=4, help="Leaves evaluated per batch")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the games")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    try:
        figures = play(arguments)
    except MiaiError as error:
        sys.exit(f"go_five.py: {error}")
    figures |= {
        "simulations": [arguments.simulations, arguments.factor * arguments.simulations],
        "load_after": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"{key:<22} {value}")


if __name__ == "__main__":
    main()
