"""What large tournaments cost, part by part.

`ratings`: `rating_seconds`, wall time in which many agents and a million games are rated, from
counts by ordered pairing to ratings with covariance, groups and all; `summing_seconds`, to get
those counts from a million games in memory, one tuple each.

    python benchmarks/tournament_scale.py [--json] [--parts ratings] [--agents N] ...
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

import miai
from miai_tournaments.ratings.model import outcomes
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import fit_ratings

RATING_TARGET = 5.0

Figures = dict[str, Any]


def measure_ratings(given: argparse.Namespace) -> Figures:
    """Return how long it takes to rate a league of many games, and to count them."""
    agents, rng = given.agents, np.random.default_rng(0)
    first, second = np.nonzero(~np.eye(agents, dtype=np.bool_))
    strengths = rng.normal(0, 1.5, agents)
    chances = np.stack(outcomes(strengths[first] - strengths[second] + 0.2, np.log(0.5)), axis=-1)
    games = rng.multinomial(given.rated_games, np.full(first.size, 1 / first.size))
    counts = rng.multinomial(games, chances)
    names = [f"agent-{i}" for i in range(agents)]
    began = time.perf_counter()
    ratings = fit_ratings(PairResults.from_counts(first, second, *counts.T, players=names))
    rating = time.perf_counter() - began
    assert np.isfinite(ratings.elo).all()
    rows = [
        (names[a], names[b], score)
        for a, b, row in zip(first, second, counts, strict=True)
        for score, times in zip((1.0, 0.5, 0.0), row, strict=True)
        for _ in range(times)
    ]
    began = time.perf_counter()
    PairResults.from_games(rows)
    return {
        "rating_seconds": rating,
        "summing_seconds": time.perf_counter() - began,
        "agents": agents,
        "rated_games": len(rows),
    }


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {"ratings": measure_ratings}


def measure(given: argparse.Namespace) -> Figures:
    """Return all figures of the parts that were asked for; of several repeats the median."""
    figures: Figures = {}
    load = round(os.getloadavg()[0], 2)
    for part in given.parts:
        runs = [PARTS[part](given) for _ in range(given.repeats)]
        figures |= {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return {
        **figures,
        "rating_target": RATING_TARGET,
        "repeats": given.repeats,
        "load_before": load,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "python": platform.python_version(),
        "miai": miai.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--parts", nargs="+", choices=sorted(PARTS), default=sorted(PARTS))
    parser.add_argument("--agents", type=int, default=100, help="that are rated")
    parser.add_argument("--rated-games", type=int, default=1_000_000, help="that rate them")
    parser.add_argument("--repeats", type=int, default=3, help="the median is told")
    figures = measure(given := parser.parse_args())
    if given.json:
        print(json.dumps(figures))
        return
    if "ratings" in given.parts:
        league = f"{figures['agents']} agents, {figures['rated_games']:,} games"
        print(f"rating      {figures['rating_seconds']:6.2f} s for {league} (target: 5)")
        print(f"summing     {figures['summing_seconds']:6.2f} s to count these one by one")
    print(f"on {figures['machine']}, Python {figures['python']}, {figures['date']}")


if __name__ == "__main__":
    main()
