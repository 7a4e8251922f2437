"""Judges of dead stones compared: whose score is the recorded one?

Games of the test split that ended with two passes and have a recorded margin are replayed, and
each judge finds the dead stones of the final position. A judge is right if the score without them
is the recorded one. `settled` counts games whose recorded score holds with all stones alive, `open`
those in which a judge has work to do.

    python benchmarks/go_judges.py data/go9 --judges none playouts network
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import miai
from common.conditions import conditions
from miai.errors import MiaiError
from miai_go.learning.dataset import GoDataset
from miai_go.learning.games import StoredGame
from miai_go.rules.dead_stones import settled_margin
from miai_go.rules.game import GoGame
from miai_go.rules.state import GoState


def final_state(game: GoGame, record: StoredGame) -> GoState | None:
    """Return the state at the end of a recorded game; None if it breaks the rules."""
    state = game.new_initial_state()
    for action in record.moves.tolist():
        if state.is_terminal() or action not in state.legal_actions():
            return None
        state.apply_action(action)
    return state if state.is_terminal() else None


def counted(games: list[StoredGame], judge: str) -> dict[str, Any]:
    """Return how many games a judge scores as recorded."""
    counts = {"settled": 0, "settled_right": 0, "open": 0, "open_right": 0}
    loaded: dict[int, GoGame] = {}
    spent = 0.0
    for record in games:
        if record.half_komi not in loaded:
            game = miai.load_game(
                "go",
                board_size=record.size,
                komi=record.half_komi / 2,
                rules="chinese",
                dead_stones="referee",
                referee=judge,
            )
            assert isinstance(game, GoGame)
            loaded[record.half_komi] = game
        state = final_state(loaded[record.half_komi], record)
        if state is None:
            continue
        alive = state.board.area_score() - record.half_komi / 2 == record.margin
        kind = "settled" if alive else "open"
        began = time.process_time()
        right = settled_margin(state) == record.margin
        spent += time.process_time() - began
        counts[kind] += 1
        counts[f"{kind}_right"] += right
    positions = counts["settled"] + counts["open"]
    return {"judge": judge, **counts, "ms_per_position": round(1000 * spent / max(positions, 1), 2)}


def main() -> None:
    """Replay, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", help="Shard set of recorded games")
    parser.add_argument("--judges", nargs="+", default=["none", "playouts", "network"])
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"))
    parser.add_argument("--limit", type=int, default=2000, help="Games at most")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    arguments = parser.parse_args()
    try:
        data = GoDataset(arguments.games, split=arguments.split)
        passes = [data.size**2] * 2
        games = [data.game(number) for number in range(min(len(data), arguments.limit))]
        ended = [g for g in games if g.moves[-2:].tolist() == passes and g.margin == g.margin]
        rows = [counted(ended, judge) for judge in arguments.judges]
    except MiaiError as error:
        parser.exit(1, f"{error}\n")
    if arguments.json:
        print(json.dumps({"rows": rows, **conditions()}, indent=2))
        return
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
