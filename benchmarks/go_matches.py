"""Matches of the players of Go that networks guide: who beats whom, with intervals.

Every pair of games has both colours and one opening of random moves. A match is a tournament in a
folder of its own: interrupted, it goes on where it was when the same command is given again; of a
match that is over the figures are told again. Time, where a match has it, is that of the machine:
other work on it weakens both.

    python benchmarks/go_matches.py FOLDER --matches alphago-policy alphago-mcts
    python benchmarks/go_matches.py FOLDER --matches alphago-gnugo --games 200 --workers 2 --json
    python benchmarks/go_matches.py FOLDER --matches half --we NEW.safetensors --they OLD
    python benchmarks/go_matches.py FOLDER --matches tsumego-mcts --simulations 400 --tsumego solver
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from miai.errors import MiaiError
from miai.record import GameRecord
from miai.record_reader import read_record
from miai_tournaments.compare.summary import wilson
from miai_tournaments.config.load import check_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.running.run import Options, run
from miai_tournaments.store.store import Store

GNUGO = {
    "agent": "gtp",
    "command": "gnugo --mode gtp --level 10 --chinese-rules --capture-all-dead "
    "--positional-superko --allow-suicide --seed {seed}",
}
SECOND = {"simulations": 0, "seconds": 1.0, "resign_below": -0.9}
TACTICAL = {"playouts": "tactical", "max_nodes": 8_000_000}

Match = tuple[dict[str, Any], dict[str, Any]]


def matches(given: argparse.Namespace) -> dict[str, Match]:
    """Return who plays in each match: we, and they."""
    networks = {"precision": given.precision}
    drawn = {"agent": "policy", "temperature": 0.3, **networks}
    searching = {"simulations": given.simulations, **networks, **_given(leaves=given.leaves)}
    alphago = {"agent": "alphago", **searching, **_given(mix=given.mix)}
    zero = {"agent": "alphazero", **searching}
    second = networks | SECOND | {"leaves": 16}
    asking = {"tsumego": given.tsumego}
    mcts = {"agent": "mcts", "simulations": given.simulations}
    return {
        "gradient": (drawn | _weights(given.we), drawn | _weights(given.they)),
        "alphago-policy": (alphago, {"agent": "policy", **networks}),
        "alphazero-policy": (zero, {"agent": "policy", **networks}),
        "alphago-mcts": (alphago, {"agent": "mcts", "simulations": 20 * given.simulations}),
        "alphazero-mcts": (zero, {"agent": "mcts", "simulations": 20 * given.simulations}),
        "alphago-gnugo": ({"agent": "alphago", **second}, GNUGO),
        "alphazero-gnugo": ({"agent": "alphazero", **second}, GNUGO),
        "mcts-gnugo": ({"agent": "mcts", **SECOND, **TACTICAL}, GNUGO),
        "half": (zero | _weights(given.we), zero | _weights(given.they)),
        "nets-alphago": (alphago | {"value": given.we}, alphago | {"value": given.they}),
        "tsumego-mcts": (mcts | asking, mcts),
        "tsumego-alphago": (alphago | asking, alphago),
    }


def _given(**options: float | None) -> dict[str, float]:
    return {name: value for name, value in options.items() if value is not None}


def _weights(name: str) -> dict[str, str]:
    return {"weights": name} if name else {}


def play(folder: Path, given: argparse.Namespace, name: str, match: Match) -> None:
    """Play a match, or what is left of it."""
    go = {"name": "go", "board_size": given.size, "komi": given.komi, "rules": "tromp-taylor"}
    raw = {
        "tournament": {"name": name, "seed": given.seed, "rounds": given.games // 2},
        "game": go,
        "openings": {"random_plies": given.opening},
        "run": {"workers": given.workers},
        "players": [{"name": "we", **match[0]}, {"name": "they", **match[1]}],
    }
    text = json.dumps(raw)
    tournament = check_tournament(raw, source="go_matches.py", folder=Path(), text=text)
    with contextlib.redirect_stdout(sys.stderr):
        ending = run(tournament, folder, Options(make_reporter=lambda _: Reporter()))
    if ending.kind != "complete":
        sys.exit(f"{folder}: {ending.kind}; the same command goes on")


def figures_of(folder: Path) -> dict[str, Any]:
    """Return the figures of a match that is over."""
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
    """Return what was asked about enclosed groups, a move of ours; nothing where nobody was."""
    told = [
        cast(dict[str, float], move.statistics["tsumego"])
        for record, us in zip(records, ours, strict=True)
        for move in record.moves
        if move.actor == us and "tsumego" in move.statistics
    ]
    names = told[0] if told else ()
    return {f"groups_{n}_a_move": round(sum(t[n] for t in told) / len(told), 3) for n in names}


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the matches; each has a folder in it")
    parser.add_argument("--matches", nargs="+", default=["alphago-policy"], help="by name")
    parser.add_argument("--games", type=int, default=200, help="of each match, an even number")
    parser.add_argument("--simulations", type=int, default=100, help="a move, where not seconds")
    parser.add_argument("--leaves", type=int, help="asked at once, where not seconds")
    parser.add_argument("--mix", type=float, help="the rollout's share, where not seconds")
    parser.add_argument(
        "--tsumego", choices=["net", "solver"], default="solver", help="whom we ask about groups"
    )
    parser.add_argument("--we", default="", help="weights, where a match is of two weights")
    parser.add_argument("--they", default="", help="weights, where a match is of two weights")
    parser.add_argument("--precision", default="int8", help="of the networks")
    parser.add_argument("--size", type=int, default=9, help="points on a side")
    parser.add_argument("--komi", type=float, default=7.0, help="what White is given")
    parser.add_argument("--opening", type=int, default=2, help="random moves that begin a game")
    parser.add_argument("--workers", type=int, default=1, help="processes that play games")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    known = matches(given)
    if unknown := [name for name in given.matches if name not in known]:
        parser.error(f"no match {', '.join(unknown)}; there are {', '.join(known)}")
    told = {}
    for name in given.matches:
        try:
            play(given.folder / name, given, name, known[name])
        except MiaiError as error:
            sys.exit(f"go_matches.py: {error}")
        told[name] = figures_of(given.folder / name)
    figures = {
        "matches": told,
        "load_after": round(os.getloadavg()[0], 2),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    if given.json:
        print(json.dumps(figures))
        return
    for name, row in told.items():
        print(f"{name}:")
        for key, value in row.items():
            print(f"  {key:<20} {value}")


if __name__ == "__main__":
    main()
