"""Disturbed at random moments two hundred times, tournaments lose, double and halve no game.

Runners and workers of all executors are killed, and the disk fills up or becomes read-only. All of
it is slow: ``make soak`` runs it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from tests.seeds import seed_of_test
from tests.tournaments.support import (
    command,
    config_text,
    environment,
    games_of,
    player,
    rule,
    tournament,
    verdicts_of,
)

from miai_tournaments.store.folder import has_store
from miai_tournaments.store.store import Store

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

PLAYERS = (player("ann"), player("bob"), player("deep", "mcts", simulations=40))
RULES = rule("resign-agreement", "moves = 1") + rule("solved", "nodes = 20")
GAMES_OF_A_ROUND = 6

EXECUTORS = {"serial": 60, "processes": 80, "ray": 40}
"""How often runs of each are disturbed; with the disk's twenty, two hundred times in all."""

IS_WORKER = {"serial": (), "processes": ("miai.process.workers",), "ray": ("ray::RayActor",)}
"""What is in the command lines of workers."""


def draw_seed() -> random.Random:
    seed = seed_of_test()
    return random.Random(seed)


def write_config(folder: Path) -> Path:
    config = folder / "x.toml"
    text = config_text(*PLAYERS, openings={"random_plies": 1}, adjudication={"hold_out": 0.5})
    config.write_text(text + RULES)
    return config


def done(folder: Path) -> int:
    """Return the number of finished games; the store is sound whenever there is one."""
    if not has_store(folder):
        return 0
    with Store.read(folder) as store:
        return store.counts()["done"]


def check(folder: Path, config: Path, rounds: int) -> None:
    """The games, their records and the table are those of a run that nothing happened to."""
    whole = folder.with_name("whole")
    words = ("run", config, "--out", whole, "--set", f"rounds={rounds}", "--executor", "serial")
    tournament(*words, timeout=1000)
    assert len(games_of(whole)) == GAMES_OF_A_ROUND * rounds
    assert games_of(folder) == games_of(whole)
    assert {game[4] for game in games_of(whole).values()} == {"terminal", "adjudication"}
    assert verdicts_of(folder) == verdicts_of(whole)
    tables = []
    for each in (folder, whole):
        output = json.loads(tournament("report", each, "--json").stdout)
        tables.append([output["crosstable"], [(p["name"], p["elo"]) for p in output["players"]]])
    assert tables[0] == tables[1]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_killed_at_any_moment(executor: str, tmp_path: Path) -> None:
    rng, config, folder = draw_seed(), write_config(tmp_path), tmp_path / "out"
    kills, rounds = Counter[str](), 10
    while kills.total() < EXECUTORS[executor]:
        whom = run_and_kill(config, folder, rng, executor=executor, rounds=rounds)
        if whom is not None:
            kills[whom] += 1
        if done(folder) >= GAMES_OF_A_ROUND * rounds:
            rounds += 10  # all is played: it is given more to do
    print(f"{executor}: {dict(kills)}, {rounds} rounds")
    words = ("run", config, "--out", folder, "--set", f"rounds={rounds}")
    for _ in range(3):
        tournament(*words, "--executor", "processes", status=(0, 1), timeout=1000)
    check(folder, config, rounds)


def run_and_kill(
    config: Path, folder: Path, rng: random.Random, *, executor: str, rounds: int
) -> str | None:
    """Run until somebody is killed; return who, None when it was through before."""
    workers = () if executor == "serial" else ("--workers", rng.choice((1, 2)))
    words = ("run", config, "--out", folder, "--set", f"rounds={rounds}", "--executor", executor)
    process = subprocess.Popen(
        command(*words, *workers),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        env=environment(),
    )
    assert process.stdout is not None
    if rng.random() < 0.7:  # wait for the first game, else any moment from the start
        while (line := process.stdout.readline()) and not line.startswith("["):
            pass
    time.sleep(rng.uniform(0, 1.5))
    whom = rng.choice(("runner", "group", "tree", *(["worker"] if workers else [])))
    killed = process.poll() is None and kill(process.pid, whom, IS_WORKER[executor], rng)
    if not killed or whom == "worker":  # it goes on without the worker: to its end, or it is told
        time.sleep(rng.uniform(0, 2.0))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate()
    assert "Traceback" not in errors, errors
    return whom if killed else None


def kill(pid: int, whom: str, marks: tuple[str, ...], rng: random.Random) -> bool:
    """Kill the runner alone, its process group, all its descendants in any order, or a worker.

    Returns whether there was one.
    """
    if whom == "group":
        os.killpg(pid, signal.SIGKILL)
        return True
    if whom != "worker":
        victims = [psutil.Process(pid)]
        if whom == "tree":
            victims += victims[0].children(recursive=True)
            rng.shuffle(victims)
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
        return True
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(mark in " ".join(child.cmdline()) for mark in marks):
                found.append(child)
    if found:
        with contextlib.suppress(psutil.NoSuchProcess):
            rng.choice(found).kill()
    return bool(found)


def test_a_disk_that_is_full_or_read_only_now_and_then(tmp_path: Path) -> None:
    """In a mount namespace of its own, on a file system that is as small as wanted."""
    may = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    if may.returncode:
        pytest.skip(f"this machine gives no mount namespace: {may.stderr.decode()}")
    config = write_config(tmp_path)
    inside = subprocess.run(
        ["unshare", "-rm", sys.executable, "-m", "tests.tournaments.small_disk", config, tmp_path],
        cwd=Path(__file__).parents[2],
        text=True,
        capture_output=True,
        timeout=3000,
        check=False,
    )
    print(inside.stdout)
    assert inside.returncode == 0, inside.stdout + inside.stderr
    output = json.loads(inside.stdout.splitlines()[-1])
    assert output["disturbed"] >= 20
    assert output["refused"] > 0
    check(tmp_path / "out", config, output["rounds"])
