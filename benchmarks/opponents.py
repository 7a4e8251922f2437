"""How strong the opponents are that `miai web` offers: a round-robin among those of a game.

The ratings in the plugins are from this. The folder holds the tournament; the same command resumes
it, and prints the ratings of a finished one.

    python benchmarks/opponents.py FOLDER --game go
    python benchmarks/opponents.py FOLDER --game rbc --rounds 5 --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from common.conditions import conditions
from miai.api import load_game
from miai.errors import MiaiError
from miai.playing.opponents import opponents_of
from miai_tournaments.config.load import check_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.report.report import build_report
from miai_tournaments.running.run import Options, run
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
        ending = run(tournament, folder, Options(make_reporter=lambda _: Reporter()))
    if ending.kind != "complete":
        sys.exit(f"{folder}: {ending.kind}; the same command goes on")


def ratings(folder: Path, game: str) -> list[dict[str, Any]]:
    """Return the rating of each opponent, relative to the weakest, in the order of the plugin."""
    names = [opponent.name for opponent in opponents_of(load_game(game))]
    with Store.read(folder) as store:
        report = build_report(store, anchor=names[0])
    players = {row["name"]: row for row in cast(list[dict[str, Any]], report.to_json()["players"])}
    return [
        {
            "name": name,
            "elo": round(players[name]["elo"]),
            "error": round((players[name]["high"] - players[name]["low"]) / 2),
            "games": players[name]["games"],
        }
        for name in names
    ]


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
        rows = ratings(arguments.folder, arguments.game)
    except MiaiError as error:
        sys.exit(f"opponents.py: {error}")
    figures = {"game": arguments.game, "opponents": rows, **conditions()}
    if arguments.json:
        print(json.dumps(figures))
        return
    for row in rows:
        print(f"{row['name']:<16} {row['elo']:>6} ± {row['error']:<4} {row['games']} games")


if __name__ == "__main__":
    main()
