"""Are the opponents of `miai web` in order of strength? A round-robin among those of a game.

Each row is an opponent's result against the one before it. The folder holds the tournament; the
same command resumes it, and prints the results of a finished one.

    python benchmarks/opponents.py FOLDER --game go
    python benchmarks/opponents.py FOLDER --game rbc --rounds 5 --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from common.conditions import conditions
from miai.api import load_game, opponents_of
from miai.errors import MiaiError
from miai_tournaments.config.load import check_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.running.tournament_run import RunOptions, play_tournament
from miai_tournaments.store.store import Store


def play(folder: Path, game: str, *, rounds: int, workers: int, seed: int) -> None:
    """Play the remaining games."""
    ranks = opponents_of(load_game(game))
    raw: dict[str, Any] = {
        "tournament": {"name": f"opponents-{game}", "seed": seed, "rounds": rounds},
        "game": {"name": game},
        "run": {"workers": workers},
        "players": [{"name": o.name, "agent": o.agent, **o.parameters} for o in ranks],
    }
    if game == "go":
        raw["openings"] = {"random_plies": 2}
    text = json.dumps(raw)
    tournament = check_tournament(raw, source="opponents.py", folder=Path(), text=text)
    with contextlib.redirect_stdout(sys.stderr):
        ending = play_tournament(tournament, folder, RunOptions(make_reporter=lambda _: Reporter()))
    if ending.kind != "complete":
        sys.exit(f"{folder}: {ending.kind}; the same command goes on")


def results(folder: Path, game: str) -> list[dict[str, Any]]:
    """Return each opponent's wins, draws and losses against the one before it."""
    names = [opponent.name for opponent in opponents_of(load_game(game))]
    with Store.read(folder) as store:
        games = store.results()
    rows = []
    for weaker, name in pairwise(names):
        own = [row for row in games if set(row.players) == {weaker, name}]
        returns = [row.returns[row.players.index(name)] for row in own]
        wins, losses = sum(r > 0 for r in returns), sum(r < 0 for r in returns)
        rows.append(
            {
                "name": name,
                "against": weaker,
                "wins": wins,
                "draws": len(own) - wins - losses,
                "losses": losses,
            }
        )
    return rows


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="Folder of the tournament")
    parser.add_argument("--game", default="go", help="Name of the game")
    parser.add_argument("--rounds", type=int, default=10, help="Pairs of games for each two")
    parser.add_argument("--workers", type=int, default=1, help="Worker processes")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the tournament")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    try:
        play(
            arguments.folder,
            arguments.game,
            rounds=arguments.rounds,
            workers=arguments.workers,
            seed=arguments.seed,
        )
        rows = results(arguments.folder, arguments.game)
    except MiaiError as error:
        sys.exit(f"opponents.py: {error}")
    figures = {"game": arguments.game, "opponents": rows, **conditions()}
    if arguments.json:
        print(json.dumps(figures))
        return
    for row in rows:
        counts = f"{row['wins']}-{row['draws']}-{row['losses']}"
        print(f"{row['name']:<16} against {row['against']:<16} {counts}")


if __name__ == "__main__":
    main()
