"""Matches of the players of Go that networks guide: who beats whom, with intervals.

Every pair of games has both colours and one opening of random moves. A match is a tournament
with a folder of its own: the same command resumes an interrupted match and prints the figures of a
finished one. Time limits are wall time, so other work on the machine weakens both players.

    python benchmarks/go_matches.py FOLDER --matches alphago-policy alphago-mcts
    python benchmarks/go_matches.py FOLDER --matches alphago-gnugo --games 200 --workers 2 --json
    python benchmarks/go_matches.py FOLDER --matches half --we NEW.safetensors --they OLD
    python benchmarks/go_matches.py FOLDER --matches tsumego-mcts --simulations 400 --adviser solver
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np

from common.conditions import conditions
from common.evidence import record
from miai.errors import MiaiError
from miai.record import GameRecord
from miai.record_reader import read_record
from miai_tournaments.compare.summary import wilson
from miai_tournaments.config.load import check_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.running.tournament_run import RunOptions, play_tournament
from miai_tournaments.store.store import Store

GNUGO = {
    "agent": "gtp",
    "command": "gnugo --mode gtp --level 10 --chinese-rules --capture-all-dead "
    "--positional-superko --allow-suicide --seed {seed}",
}
SECOND = {"simulations": 0, "seconds": 1.0, "resign_below": -0.9}
TACTICAL = {"playouts": "tactical", "max_nodes": 8_000_000}

Match = tuple[dict[str, Any], dict[str, Any]]


def matches(arguments: argparse.Namespace) -> dict[str, Match]:
    """Return the two players of each match: ours, theirs."""
    networks = {"network": {"precision": arguments.precision}}
    drawn = {"agent": "policy", "temperature": 0.3, **networks}
    searching = {
        "simulations": arguments.simulations,
        **networks,
        **_given(leaves=arguments.leaves),
    }
    alphago = {"agent": "alphago", **searching, **_leaf_value(arguments.mix)}
    zero = {"agent": "alphazero", **searching}
    second = {name: value for name, value in SECOND.items() if name != "simulations"}
    asking = {"adviser": arguments.adviser}
    mcts = {"agent": "mcts", "simulations": arguments.simulations}
    return {
        "gradient": (drawn | _weights(arguments.we), drawn | _weights(arguments.they)),
        "alphago-policy": (alphago, {"agent": "policy", **networks}),
        "alphazero-policy": (zero, {"agent": "policy", **networks}),
        "alphago-mcts": (alphago, {"agent": "mcts", "simulations": 20 * arguments.simulations}),
        "alphazero-mcts": (zero, {"agent": "mcts", "simulations": 20 * arguments.simulations}),
        "alphago-gnugo": ({"agent": "alphago", **second}, GNUGO),
        "alphazero-gnugo": ({"agent": "alphazero", **second}, GNUGO),
        "mcts-gnugo": ({"agent": "mcts", **SECOND, **TACTICAL}, GNUGO),
        "half": (zero | _weights(arguments.we), zero | _weights(arguments.they)),
        "nets-alphago": (alphago | {"value": arguments.we}, alphago | {"value": arguments.they}),
        "tsumego-mcts": (mcts | asking, mcts),
        "tsumego-alphago": (alphago | asking, alphago),
    }


def _given(**options: float | None) -> dict[str, float]:
    return {name: value for name, value in options.items() if value is not None}


def _leaf_value(mix: float | None) -> dict[str, Any]:
    return {"leaf_value": {"kind": "mixed", "mix": mix}} if mix else {}


def _weights(name: str) -> dict[str, str]:
    return {"weights": name} if name else {}


def play(folder: Path, arguments: argparse.Namespace, name: str, match: Match) -> None:
    """Play the remaining games of a match."""
    go = {
        "name": "go",
        "board_size": arguments.size,
        "komi": arguments.komi,
        "rules": "tromp-taylor",
    }
    raw = {
        "tournament": {"name": name, "seed": arguments.seed, "rounds": arguments.games // 2},
        "game": go,
        "openings": {"random_plies": arguments.opening},
        "run": {"workers": arguments.workers},
        "players": [{"name": "we", **match[0]}, {"name": "they", **match[1]}],
    }
    text = json.dumps(raw)
    tournament = check_tournament(raw, source="go_matches.py", folder=Path(), text=text)
    with contextlib.redirect_stdout(sys.stderr):
        ending = play_tournament(tournament, folder, RunOptions(make_reporter=lambda _: Reporter()))
    if ending.kind != "complete":
        sys.exit(f"{folder}: {ending.kind}; the same command goes on")


def figures_of(folder: Path) -> dict[str, Any]:
    """Return the figures of a finished match."""
    with Store.read(folder) as store:
        records = [read_record(store.record(r.game_id)) for r in store.results()]
    ours = [[player.name for player in record.players].index("we") for record in records]
    scores = [record.returns[us] for record, us in zip(records, ours, strict=True)]
    wins, losses = sum(s > 0 for s in scores), sum(s < 0 for s in scores)
    share = wilson(wins, len(scores))
    assert share is not None, "a match that is over has games"
    return {
        "games": len(scores),
        "wins": wins,
        "draws": len(scores) - wins - losses,
        "losses": losses,
        "wins_as_black": sum(s > 0 and us == 0 for s, us in zip(scores, ours, strict=True)),
        "won": round(share.value, 4),
        "won_95": [round(share.low or 0.0, 4), round(share.high or 0.0, 4)],
        "ended": dict(Counter(record.termination.value for record in records)),
        "plies": round(float(np.mean([len(record.moves) for record in records])), 1),
        "seconds_a_move": [_seconds_a_move(records, ours, flip=flip) for flip in (False, True)],
        "simulations_a_move": round(_simulations(records, ours)),
        **_groups(records, ours),
    }


def _seconds_a_move(records: list[GameRecord], ours: list[int], *, flip: bool) -> float:
    pairs = [(record, us ^ int(flip)) for record, us in zip(records, ours, strict=True)]
    spent = sum(record.players[us].seconds for record, us in pairs)
    moves = sum(1 for record, us in pairs for move in record.moves if move.actor == us)
    return round(spent / max(moves, 1), 3)


def _simulations(records: list[GameRecord], ours: list[int]) -> float:
    made = [
        float(move.statistics["simulations"])  # type: ignore[arg-type]  # a number, as we wrote it
        for record, us in zip(records, ours, strict=True)
        for move in record.moves
        if move.actor == us and "simulations" in move.statistics
    ]
    return float(np.mean(made)) if made else 0.0


def _groups(records: list[GameRecord], ours: list[int]) -> dict[str, float]:
    """Return the questions about groups per move of ours; empty if there were none."""
    figures_by_match = [
        cast(dict[str, float], move.statistics["advice"])
        for record, us in zip(records, ours, strict=True)
        for move in record.moves
        if move.actor == us and "advice" in move.statistics
    ]
    names = figures_by_match[0] if figures_by_match else ()
    return {
        f"groups_{n}_a_move": round(sum(t[n] for t in figures_by_match) / len(figures_by_match), 3)
        for n in names
    }


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="Folder for the matches, one subfolder each")
    parser.add_argument(
        "--matches", nargs="+", default=["alphago-policy"], help="Names of the matches to play"
    )
    parser.add_argument("--games", type=int, default=200, help="Games per match, an even number")
    parser.add_argument(
        "--simulations",
        type=int,
        default=100,
        help="Simulations per move, unless the match has a time limit",
    )
    parser.add_argument(
        "--leaves", type=int, help="Leaves per batch, unless the match has a time limit"
    )
    parser.add_argument(
        "--mix", type=float, help="Weight of the rollout, unless the match has a time limit"
    )
    parser.add_argument(
        "--adviser",
        choices=["network", "solver"],
        default="solver",
        help="What answers questions about groups",
    )
    parser.add_argument("--we", default="", help="Our weights, in matches between two weights")
    parser.add_argument("--they", default="", help="Their weights, in matches between two weights")
    parser.add_argument(
        "--precision", default="int8", help="Precision of the networks, but not against GNU Go"
    )
    parser.add_argument("--size", type=int, default=9, help="Board size in points")
    parser.add_argument("--komi", type=float, default=7.0, help="Komi")
    parser.add_argument(
        "--opening", type=int, default=2, help="Random moves at the start of a game"
    )
    parser.add_argument("--workers", type=int, default=1, help="Worker processes")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the matches")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--record", action="store_true", help="Write the rows of the page")
    arguments = parser.parse_args()
    known = matches(arguments)
    if unknown := [name for name in arguments.matches if name not in known]:
        parser.error(f"no match {', '.join(unknown)}; there are {', '.join(known)}")
    figures_by_match = {}
    for name in arguments.matches:
        try:
            play(arguments.folder / name, arguments, name, known[name])
        except MiaiError as error:
            sys.exit(f"go_matches.py: {error}")
        figures_by_match[name] = figures_of(arguments.folder / name)
    if arguments.record:
        for name, row in figures_by_match.items():
            low, high = (f"{100 * bound:.1f}" for bound in row["won_95"])
            won = f"{row['wins']} of {row['games']} games won, {row['draws']} drawn"
            record(name, f"{won}: {100 * row['won']:.1f} %", interval=f"{low} to {high}")
    figures = {
        "matches": figures_by_match,
        "load_after": round(os.getloadavg()[0], 2),
        **conditions(),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, row in figures_by_match.items():
        print(f"{name}:")
        for key, value in row.items():
            print(f"  {key:<20} {value}")


if __name__ == "__main__":
    main()
