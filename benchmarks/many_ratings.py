"""Measures `miai rate` on a CSV file of a million games between 10,000 players: seconds of CPU.

The strengths that drew the results are known, so it also prints how many of the 95 % intervals hold
theirs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from common.evidence import record
from miai_tournaments.commands.rate import rate_runs
from miai_tournaments.ratings.ratings import ELO, Z95


def measure(players: int, games: int) -> dict[str, float]:
    """Return the seconds of CPU from the file to the list, and the share of intervals that hold."""
    rng = np.random.default_rng(3)
    elo = rng.normal(0, 300, players)
    a = rng.integers(0, players, games)
    b = (a + rng.integers(1, players, games)) % players
    wins = rng.random(games) < 1 / (1 + np.exp((elo[b] - elo[a]) / ELO))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "games.csv")
        lines = (f"p{i},p{j},{int(w)}" for i, j, w in zip(a, b, wins, strict=True))
        path.write_text("\n".join(["first,second,score", *lines]) + "\n")
        begin = time.process_time()
        rated = rate_runs([path])
        rated.to_csv()
        seconds = time.process_time() - begin
    ratings = rated.ratings
    truth = np.array([elo[int(name[1:])] for name in ratings.players]) - elo.mean()
    held = np.abs(ratings.elo - truth) < Z95 * ratings.standard_errors
    return {"players": players, "games": games, "seconds": seconds, "held": float(held.mean())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=10_000)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", action="store_true", help="Write the row of the page")
    options = parser.parse_args()
    figures = measure(options.players, options.games)
    if options.record:
        held = f"{100 * figures['held']:.1f} % of the intervals hold"
        record("many-ratings", f"{figures['seconds']:.1f} s; {held}")
    print(json.dumps(figures) if options.json else figures)
