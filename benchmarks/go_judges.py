"""Judges of dead stones compared: whose score is the true one?

Games of the test split that ended with two passes and have a recorded margin are replayed, and
each judge finds the dead stones of the final position. A judge is right if the score without them
is the recorded one. `settled` counts games whose recorded score holds with all stones alive, `open`
those in which a judge has work to do. With `--own`, `alphago` plays games with itself, and GNU Go's
score is the true one.

    python benchmarks/go_judges.py data/go9 --judges none playouts network
    python benchmarks/go_judges.py --own 40 --judges network network:playouts=0,threshold=0.6
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from typing import Any

import miai
from common.conditions import conditions
from miai.errors import MiaiError
from miai.plain import parse_assignment
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.stored_games import Split
from miai_go.rules.dead_stones import settled_margin
from miai_go.rules.game import GoGame, GoState

GNUGO = ["gnugo", "--mode", "gtp", "--level", "10", "--chinese-rules", "--seed", "1"]


@dataclass(frozen=True)
class ScoredGame:
    """A game that ended with two passes: its board's size, komi, moves, and Black's true margin."""

    size: int
    komi: float
    moves: list[int]
    margin: float


def judged_game(size: int, komi: float, judge: str, **settings: Any) -> GoGame:
    """Return the game in which a judge finds the dead stones."""
    game = miai.load_game(
        "go",
        board_size=size,
        komi=komi,
        rules="chinese",
        dead_stones="referee",
        referee=judge,
        referee_settings=settings,
    )
    assert isinstance(game, GoGame)
    return game


def final_state(game: GoGame, moves: list[int]) -> GoState | None:
    """Return the state at the end of a game; None if it breaks the rules or goes on."""
    state = game.new_initial_state()
    for action in moves:
        if state.is_terminal() or action not in state.legal_actions():
            return None
        state.apply_action(action)
    return state if state.is_terminal() else None


def recorded_games(folder: str, *, split: Split, limit: int) -> list[ScoredGame]:
    """Return the games of a shard set that ended with two passes and have a margin."""
    data = GoDataset(folder, split=split)
    games = [data.game(number) for number in range(min(len(data), limit))]
    passes = [data.size**2] * 2
    return [
        ScoredGame(game.size, game.half_komi / 2, game.moves.tolist(), game.margin)
        for game in games
        if game.moves[-2:].tolist() == passes and game.margin == game.margin
    ]


def own_games(count: int, *, simulations: int) -> list[ScoredGame]:
    """Return games of `alphago` with itself on 9x9, scored by GNU Go."""
    game = miai.load_game("go", board_size=9, komi=7.0, rules="chinese")
    scored = judged_game(9, 7.0, "gtp", command=GNUGO)
    agents = [miai.make_agent("alphago", game, simulations=simulations) for _ in range(2)]
    games: list[ScoredGame] = []
    for seed in range(count):
        moves = [move.action for move in miai.play(game, agents, seed=seed).moves]
        state = final_state(scored, moves)
        if state is not None:
            games.append(ScoredGame(9, 7.0, moves, settled_margin(state)))
    return games


def counted(games: list[ScoredGame], judge: str) -> dict[str, Any]:
    """Return how many games a judge scores rightly; settings may follow its name after a colon."""
    name, _, text = judge.partition(":")
    settings = dict(parse_assignment(setting) for setting in text.split(",") if setting)
    counts = {"settled": 0, "settled_right": 0, "open": 0, "open_right": 0}
    loaded: dict[float, GoGame] = {}
    spent = 0.0
    for finished in games:
        if finished.komi not in loaded:
            loaded[finished.komi] = judged_game(finished.size, finished.komi, name, **settings)
        state = final_state(loaded[finished.komi], finished.moves)
        if state is None:
            continue
        alive = state.board.area_score() - finished.komi == finished.margin
        kind = "settled" if alive else "open"
        began = time.process_time()
        right = settled_margin(state) == finished.margin
        spent += time.process_time() - began
        counts[kind] += 1
        counts[f"{kind}_right"] += right
    positions = counts["settled"] + counts["open"]
    return {"judge": judge, **counts, "ms_per_position": round(1000 * spent / max(positions, 1), 2)}


def main() -> None:
    """Replay or play, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="?", help="Shard set of recorded games")
    parser.add_argument("--own", type=int, default=0, help="Games of alphago with itself instead")
    parser.add_argument("--simulations", type=int, default=60, help="Simulations per move in them")
    parser.add_argument(
        "--judges",
        nargs="+",
        default=["none", "playouts", "network"],
        metavar="NAME[:KEY=VALUE,...]",
        help="Judges, each with its settings",
    )
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"))
    parser.add_argument("--limit", type=int, default=2000, help="Maximum number of recorded games")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    arguments = parser.parse_args()
    if bool(arguments.games) == (arguments.own > 0):
        parser.error("give a shard set of games, or --own N, 1 or more")
    try:
        games = (
            own_games(arguments.own, simulations=arguments.simulations)
            if arguments.own
            else recorded_games(arguments.games, split=arguments.split, limit=arguments.limit)
        )
        rows = [counted(games, judge) for judge in arguments.judges]
    except MiaiError as error:
        parser.exit(1, f"{error}\n")
    if arguments.json:
        print(json.dumps({"rows": rows, **conditions()}, indent=2))
        return
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
