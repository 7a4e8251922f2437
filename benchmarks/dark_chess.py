"""Beliefs of dark chess: successors that are generated, seen and looked up, beside python-chess.

Both sides move at random, and each has its exact belief. For each size, the opponent's turn after
which a player held about as many boards, of all turns of the games, is expanded again:
`successors_per_second` counts its successors, most of which do not show what the player sees.
`python_chess_successors_per_second` is the same of a sample of the boards in the same run (copy,
push, key, a dict), where nobody looks at what is seen. One core.

    python benchmarks/dark_chess.py [--json] [--sizes 10000 1000000 ...] [--games N] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import miai
from common.conditions import conditions
from common.evidence import record
from miai_rbc.belief.dark import DarkBelief
from miai_rbc.kernels.expansion import NO_PASS
from miai_rbc.rules.board_set import BoardSet, count_rows
from miai_rbc.rules.dark import DarkGame, SeenOpponentMoved
from rbc_belief import PEER_BOARDS, python_chess, rate

SIZES = (1_000, 30_000, 1_000_000)
LIMIT = 4_000_000
LONGEST = 80


@dataclass
class Turn:
    """The opponent's turn: a player's boards before it, what it then sees, how many are left."""

    before: BoardSet
    event: SeenOpponentMoved
    left: int


def turns_of(seed: int) -> Iterator[Turn]:
    """Yield the turns of a random game, each for the player who waits, while beliefs are whole."""
    game = miai.load_game("dark-chess")
    assert isinstance(game, DarkGame)
    rng, state = random.Random(seed), game.new_initial_state()
    beliefs = [DarkBelief(game, player, limit=LIMIT) for player in (0, 1)]
    for ply in range(LONGEST):
        for player, belief in enumerate(beliefs):
            observation = state.observation(player)
            if observation is None:
                continue
            waits = ply > 0 and state.current_player() == player
            before = belief.boards.copy() if waits else None
            belief.observe(observation)
            event = belief.events[-1] if belief.events else None
            if before is not None and isinstance(event, SeenOpponentMoved):
                if len(belief.boards) > LIMIT // 2:
                    return
                yield Turn(before, event, len(belief.boards))
        if state.is_terminal():
            return
        state.apply_action(rng.choice(state.legal_actions()))


def measure(turn: Turn, repeats: int) -> dict[str, Any]:
    """Return the figures of a turn."""
    captured = NO_PASS if turn.event.captured is None else turn.event.captured
    view, successors = turn.event.view.to_words(), count_rows(turn.before.rows, captured)

    def expand() -> int:
        after, _ = turn.before.after_opponent(captured, view=view)
        assert len(after) == turn.left
        return successors

    sample = list(turn.before.sample(PEER_BOARDS, np.random.default_rng(0)).boards())
    ours, peer = rate(expand, repeats), rate(lambda: python_chess(sample), repeats)
    return {
        "boards_in": len(turn.before),
        "successors": successors,
        "boards": turn.left,
        "successors_per_second": round(ours),
        "python_chess_successors_per_second": round(peer),
        "ratio": round(ours / peer, 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the row of the page")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="Boards")
    parser.add_argument("--games", type=int, default=30, help="Random games")
    parser.add_argument("--repeats", type=int, default=5, help="Repetitions; the median counts")
    options = parser.parse_args()
    chosen: dict[int, Turn] = {}
    for seed in range(options.games):
        for turn in turns_of(seed):
            for size in options.sizes:
                best = chosen.get(size)
                if best is None or abs(turn.left - size) < abs(best.left - size):
                    chosen[size] = turn
    found = [measure(chosen[size], options.repeats) for size in options.sizes]
    if options.record:
        row = found[-1]
        record(
            "dark-beliefs",
            f"{row['successors_per_second']:,} per second",
            peer=f"{row['ratio']:.0f} times python-chess in the same run, {row['boards']:,} boards",
        )
    if options.json:
        print(json.dumps({"rows": found, **conditions()}))
        return
    for row in found:
        print(
            f"{row['boards']:>9,} boards of {row['successors']:,} successors: "
            f"{row['successors_per_second'] / 1e6:.1f} million/s, {row['ratio']:.0f} times "
            "python-chess"
        )


if __name__ == "__main__":
    main()
