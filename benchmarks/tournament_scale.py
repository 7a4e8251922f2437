"""Cost of large tournaments, part by part.

`ratings`: `rating_seconds`, wall time in which many agents and a million games are rated, from
counts by ordered pairing to ratings with covariance, groups and all; `summing_seconds`, to get
those counts from a million games in memory, one tuple each.

`overhead`: `overhead_seconds_per_game`, wall time of a game of random tic-tac-toe in a tournament
with two worker processes, which are sent several at once, less that of a bare loop in one process;
`overhead_seconds_one_worker`, the same with one.

`report`: `report_seconds`, wall time from a store on disk to a report's page with all its details;
`reading_seconds` of it went into reading the games.

`store`: wall time of commands with a huge run, `status_seconds`, `huge_report_seconds`, and of
resuming it for its last four games, `resume_cold_seconds`, to the table at its end, and
`resumed_cold_seconds` until the first of them began; those called cold with nothing of the store
in the system's memory.

`ray`: `ray_over_processes`, wall time of games of about a second by the executor ``ray`` divided by
that of ``processes``, both with two workers on this machine, their agents started before.

    python benchmarks/tournament_scale.py [--json] [--parts ratings ray] [--agents N] ...
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import miai
from common.conditions import conditions
from miai_tournaments.config.load import Tournament, load_tournament
from miai_tournaments.ratings.model import outcomes
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import fit_ratings
from miai_tournaments.report.report import build_report
from miai_tournaments.report.report_files import report_page
from miai_tournaments.running.schedule import Schedule
from miai_tournaments.running.start import make_executor
from miai_tournaments.running.stored_run import run_info
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.rows import GameResult, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store
from miai_tournaments.workers.executor import Executor, Workload
from miai_tournaments.workers.jobs import GameJob, Setup
from tournament_overhead import bare_loop, play

RATING_TARGET = 5.0
REPORT_TARGET = 10.0
_REPORTED_AGENTS = 10
_CHUNK = 5000

Figures = dict[str, Any]


def measure_ratings(arguments: argparse.Namespace) -> Figures:
    """Return how long it takes to rate a league of many games, and to count them."""
    agents, rng = arguments.agents, np.random.default_rng(0)
    first, second = np.nonzero(~np.eye(agents, dtype=np.bool_))
    strengths = rng.normal(0, 1.5, agents)
    chances = np.stack(outcomes(strengths[first] - strengths[second] + 0.2, np.log(0.5)), axis=-1)
    games = rng.multinomial(arguments.rated_games, np.full(first.size, 1 / first.size))
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


def measure_report(arguments: argparse.Namespace) -> Figures:
    """Return how long the page of a tournament takes, from its store."""
    with tempfile.TemporaryDirectory() as folder:
        _make_run(Path(folder), arguments.reported_games)
        began = time.perf_counter()
        with Store.read(Path(folder)) as store:
            store.games()
        reading = time.perf_counter() - began
        began = time.perf_counter()
        with Store.read(Path(folder)) as store:
            page = report_page(build_report(store, details=True))
        report = time.perf_counter() - began
    return {
        "report_seconds": report,
        "reading_seconds": reading,
        "reported_games": arguments.reported_games,
        "page_bytes": len(page.encode("utf-8")),
    }


def _make_run(folder: Path, games: int) -> None:
    """Write the store of a finished run of tic-tac-toe, with openings and forfeits, by a seed."""
    rng = np.random.default_rng(1)
    names = [f"agent-{i}" for i in range(_REPORTED_AGENTS)]
    info = RunInfo(name="scale", seed=1, rounds=1, game="tic_tac_toe", game_version=1)
    players = [PlayerRow(name=name, agent="random") for name in names]
    made = list(_scheduled(games, names, rng))
    with Store.create(folder, info, players, made) as store:
        for start in range(0, games, _CHUNK):
            chunk = made[start : start + _CHUNK]
            store.finish((game.game_id, _result(rng), "{}") for game in chunk)


def _scheduled(games: int, names: list[str], rng: np.random.Generator) -> Iterator[ScheduledGame]:
    for number in range(games):
        if number % 2 == 0:
            first, second = rng.choice(len(names), 2, replace=False).tolist()
            opening = (int(rng.integers(9)),)
        else:
            first, second = second, first
        yield ScheduledGame(
            game_id=f"g{number:07}",
            pair_id=f"p{number // 2:07}",
            round=number // 90 + 1,
            players=(names[first], names[second]),
            seed=number // 2,
            opening=opening,
        )


def _result(rng: np.random.Generator) -> GameResult:
    won, on_time = rng.integers(-1, 2), rng.random() < 0.01
    times = rng.exponential(1.0, 2).tolist()
    return GameResult(
        returns=(float(won), float(-won)),
        termination="time" if on_time and won else "terminal",
        loser=int(won > 0) if on_time and won else None,
        moves=7,
        player_moves=(4, 3),
        seconds=(times[0], times[1]),
        cpu_seconds=(times[0], times[1]),
        wall_seconds=sum(times),
        started="2025-11-21T02:23:45.000+00:00",
        versions={"miai": "0.1.0", "numpy": "2.4.6", "python": "3.11.7"},
    )


def measure_store(arguments: argparse.Namespace) -> Figures:
    """Return the seconds of the commands on a huge store, with cold and warm disk cache."""
    told: Figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "run")
        config = Path(name, "huge.toml")
        config.write_text(_huge(arguments.huge_games))
        told["huge_games"] = _play_all_but(4, load_tournament(config), folder)
        told["store_bytes"] = (folder / FILE_NAME).stat().st_size
        for word, key in (("status", "status"), ("report", "huge_report"), ("resume", "resume")):
            for warmth in ("_cold", ""):
                if warmth:
                    _forget(folder / FILE_NAME)
                elif word == "resume":
                    continue  # nothing is left to be resumed
                began = datetime.now(UTC)
                told[f"{key}{warmth}_seconds"] = _command(word, folder)
                if word == "resume":
                    first = _first_game_after(began, folder / FILE_NAME)
                    told["resumed_cold_seconds"] = (first - began).total_seconds()
    return told


def _first_game_after(moment: datetime, path: Path) -> datetime:
    """Return the time of the first game of a store that began after a given time."""
    with contextlib.closing(sqlite3.connect(path)) as store:
        query = "SELECT min(started) FROM games WHERE started > ?"
        (started,) = store.execute(query, (moment.isoformat(timespec="milliseconds"),)).fetchone()
    return datetime.fromisoformat(started)


def _huge(games: int) -> str:
    """Return a round-robin config of ten players with about `games` games."""
    rounds = max(1, round(games / (_REPORTED_AGENTS * (_REPORTED_AGENTS - 1))))
    players = "".join(
        f'[[players]]\nname = "agent-{n}"\nagent = "random"\n' for n in range(_REPORTED_AGENTS)
    )
    return (
        f'[tournament]\nname = "huge"\nseed = 1\nrounds = {rounds}\n'
        f'[game]\nname = "tic_tac_toe"\n[run]\nexecutor = "serial"\n{players}'
    )


def _play_all_but(left: int, tournament: Tournament, folder: Path) -> int:
    """Write the store of an almost finished run; return its number of games."""
    rng = np.random.default_rng(1)
    schedule = Schedule(
        tournament.format,
        tournament.players,
        seed=tournament.config.tournament.seed,
        openings=tournament.openings,
    )
    games = schedule.advance(room=1)
    agents = [miai.make_agent("random", tournament.game) for _ in range(2)]
    record = miai.play(tournament.game, agents, seed=1).to_json_lines()
    with Store.create(folder, run_info(tournament), tournament.players, games) as store:
        for start in range(0, len(games) - left, _CHUNK):
            chunk = games[start : min(start + _CHUNK, len(games) - left)]
            store.finish((game.game_id, _result(rng), record) for game in chunk)
    return len(games)


def _forget(path: Path) -> None:
    """Drop a file from the system's page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _command(word: str, folder: Path) -> float:
    """Return the seconds that a command takes. Raises `CalledProcessError` when it fails."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "miai", "tournament", word, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure_overhead(arguments: argparse.Namespace) -> Figures:
    """Return the overhead per short game, by number of workers."""
    games = arguments.short_games
    bare = bare_loop(games) / games
    randoms = [{"name": name, "agent": "random"} for name in ("ann", "bob")]
    one, two = (play(randoms, rounds=games // 2, workers=n)[1] / games for n in (1, 2))
    return {
        "overhead_seconds_per_game": two - bare,
        "overhead_seconds_one_worker": one - bare,
        "short_games": games,
    }


def measure_ray(arguments: argparse.Namespace) -> Figures:
    """Return the seconds of the same games with each executor."""
    agent = ("mcts", {"simulations": arguments.ray_simulations})
    setup = Setup(
        game="tic_tac_toe",
        game_parameters={},
        agents={"one": agent, "other": agent},
        time_control={"kind": "none", "move_deadline": 60.0},
        move_limit=None,
        limits={},
        start_timeout=60.0,
        warm_agents=4,
        logs=None,
    )
    told: Figures = {"ray_games": arguments.ray_games}
    for name in ("processes", "ray"):
        with make_executor(name, Workload(setup=setup, workers=2)) as executor:
            perform(executor, 4)
            began = time.perf_counter()
            seconds = perform(executor, arguments.ray_games)
            told[f"{name}_seconds"] = time.perf_counter() - began
    told["ray_game_seconds"] = statistics.median(seconds)
    told["ray_over_processes"] = told["ray_seconds"] / told["processes_seconds"]
    return told


def perform(executor: Executor, games: int) -> list[float]:
    """Play games and return the seconds of each."""
    waiting = [
        GameJob(job_id=f"g{n}", kind="game", players=("one", "other"), seed=n, seeds=(n, n + 1))
        for n in range(games)
    ]
    handed, seconds = 0, list[float]()
    while len(seconds) < games:
        while waiting and handed - len(seconds) < executor.capacity:
            executor.submit(waiting.pop())
            handed += 1
        for outcome in executor.wait(60):
            assert outcome.result is not None, outcome
            seconds.append(outcome.seconds)
    return seconds


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "overhead": measure_overhead,
    "ratings": measure_ratings,
    "ray": measure_ray,
    "report": measure_report,
    "store": measure_store,
}


def measure(arguments: argparse.Namespace) -> Figures:
    """Return the figures of the requested parts, each the median of the repetitions."""
    figures: Figures = {}
    load = round(os.getloadavg()[0], 2)
    for part in arguments.parts:
        runs = [PARTS[part](arguments) for _ in range(arguments.repeats)]
        figures |= {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return {
        **figures,
        "rating_target": RATING_TARGET,
        "report_target": REPORT_TARGET,
        "repeats": arguments.repeats,
        "load_before": load,
        **conditions(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--parts", nargs="+", choices=sorted(PARTS), default=sorted(PARTS))
    parser.add_argument("--agents", type=int, default=100, help="Agents to rate")
    parser.add_argument("--rated-games", type=int, default=1_000_000, help="Games to rate them by")
    parser.add_argument(
        "--short-games", type=int, default=4000, help="Games for measuring the overhead"
    )
    parser.add_argument(
        "--reported-games", type=int, default=100_000, help="Games in the reported store"
    )
    parser.add_argument("--huge-games", type=int, default=1_000_000, help="Games in the huge store")
    parser.add_argument("--ray-games", type=int, default=40, help="Games per executor")
    parser.add_argument(
        "--ray-simulations", type=int, default=24_000, help="Simulations per move of these games"
    )
    parser.add_argument("--repeats", type=int, default=3, help="Repetitions; the median counts")
    figures = measure(arguments := parser.parse_args())
    if arguments.json:
        print(json.dumps(figures))
        return
    if "overhead" in arguments.parts:
        one = f"{1000 * figures['overhead_seconds_one_worker']:.2f} ms with one worker"
        two = 1000 * figures["overhead_seconds_per_game"]
        print(f"overhead    {two:6.2f} ms a game with two workers (target: 2), {one}")
    if "ratings" in arguments.parts:
        league = f"{figures['agents']} agents, {figures['rated_games']:,} games"
        print(f"rating      {figures['rating_seconds']:6.2f} s for {league} (target: 5)")
        print(f"summing     {figures['summing_seconds']:6.2f} s to count these one by one")
    if "report" in arguments.parts:
        page = f"{figures['reported_games']:,} games, {figures['page_bytes']:,} bytes"
        print(f"report      {figures['report_seconds']:6.2f} s for {page} (target: 10)")
        print(f"reading     {figures['reading_seconds']:6.2f} s of that is reading the store")
    if "store" in arguments.parts:
        size = f"{figures['huge_games']:,} games, {figures['store_bytes']:,} bytes"
        for key in ("status", "huge_report", "resume"):
            warm = figures.get(f"{key}_seconds")
            told = "" if warm is None else f", {warm:.2f} s warm"
            print(f"{key:<11} {figures[f'{key}_cold_seconds']:6.2f} s cold{told}: {size} (10)")
        print(f"resumed     {figures['resumed_cold_seconds']:6.2f} s cold to the first game (10)")
    if "ray" in arguments.parts:
        games = f"{figures['ray_games']} games of {figures['ray_game_seconds']:.2f} s"
        print(f"ray         {figures['ray_over_processes']:6.3f} times processes, {games} (1.1)")
    print(f"on {figures['machine']}, Python {figures['python']}, {figures['date']}")


if __name__ == "__main__":
    main()
