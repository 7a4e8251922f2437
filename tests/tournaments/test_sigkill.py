"""Killed with SIGKILL at any moment, a run ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
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

from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.store import Store

PLAYERS = (player("ann"), player("bob"), player("deep", "mcts", simulations=10))
SMALL: dict[str, object] = {"depth": 1, "samples": 6, "limit": 20_000}
RBC_PLAYERS = (
    player("seed", "rbc-seed", **SMALL),
    player("strong", "rbc-strong", considered=20, evaluations=200, **SMALL),
    player("attacker", "attacker"),
)
RULES = rule("resign-agreement", "moves = 1") + rule("solved", "nodes = 20")


@pytest.mark.soak
def test_a_run_killed_many_times_equals_one_that_was_not(tmp_path: Path) -> None:
    seed = seed_of_test()
    rng = random.Random(seed)
    config, folder, whole = tmp_path / "x.toml", tmp_path / "out", tmp_path / "whole"
    text = config_text(*PLAYERS, openings={"random_plies": 1}, adjudication={"hold_out": 0.5})
    config.write_text(text + RULES)
    rounds = 20
    kills: list[str] = []
    while len(kills) < 20:
        # Half of the kills at any time from the very start, half while games are played.
        moment = _run_and_kill(config, folder, rng, rounds=rounds, playing=len(kills) % 2 == 1)
        if moment is not None:
            kills.append(f"{moment} after {_done(folder)} games")
        if _done(folder) == 6 * rounds:  # all is played: it is given more to do
            rounds += 10
    print("\n".join(kills))
    tournament("run", config, "--out", folder, "--set", f"rounds={rounds}", "--workers", 2)
    tournament("run", config, "--out", whole, "--set", f"rounds={rounds}", "--executor", "serial")
    assert len(games_of(whole)) == 6 * rounds
    assert games_of(folder) == games_of(whole)
    assert _table(folder) == _table(whole)
    assert verdicts_of(folder) == verdicts_of(whole)
    assert {game[4] for game in games_of(whole).values()} == {"terminal", "adjudication"}


@pytest.mark.slow
def test_rbc_is_played_the_same_after_a_worker_and_the_runner_were_killed(tmp_path: Path) -> None:
    config, folder, whole = tmp_path / "x.toml", tmp_path / "out", tmp_path / "whole"
    game = {"name": "rbc", "full_turn_limit": 10}
    config.write_text(config_text(*RBC_PLAYERS, game=game, tournament={"rounds": 6}))
    tournament("run", config, "--out", whole, "--executor", "serial")
    process = subprocess.Popen(
        command("run", config, "--out", folder, "--workers", 2),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    _await_games(process, 2)
    workers = [child for child in psutil.Process(process.pid).children() if child.children()]
    workers[0].kill()  # of the runner's children, workers have agents of their own
    _await_games(process, 2)
    process.kill()
    _, errors = process.communicate()
    assert "Traceback" not in errors, errors
    early = games_of(folder)
    assert 4 <= len(early) < len(games_of(whole)) == 36
    tournament("resume", folder, "--workers", 2)
    assert games_of(folder) == games_of(whole)
    assert early.items() <= games_of(whole).items()


def _await_games(process: subprocess.Popen[str], count: int) -> None:
    """Read the output of a run until it has reported more games."""
    assert process.stdout is not None
    while count and (line := process.stdout.readline()):
        count -= line.startswith("[")
    assert count == 0, "the run ended too early"


def _run_and_kill(
    config: Path, folder: Path, rng: random.Random, *, rounds: int, playing: bool
) -> str | None:
    """Run in a random way and kill it; return the moment, None when it was through before."""
    how = rng.choice([("--executor", "serial"), ("--workers", 1), ("--workers", 2)])
    process = subprocess.Popen(
        command("run", config, "--out", folder, "--set", f"rounds={rounds}", *how),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        env=environment(),
    )
    assert process.stdout is not None
    while playing and (line := process.stdout.readline()) and not line.startswith("["):
        pass
    seconds = rng.uniform(0, 0.4 if playing else 2.5)
    whom = rng.choice(["runner", "group", "tree"])
    time.sleep(seconds)
    found = process.poll()
    if found is None:
        _kill(process.pid, whom, rng)
    _, errors = process.communicate()
    assert found in (None, 0), errors
    assert "Traceback" not in errors, errors
    moment = f"{whom} of {' '.join(map(str, how))} at {seconds:.2f} s"
    return moment + " of playing" * playing if process.returncode == -signal.SIGKILL else None


def _kill(pid: int, whom: str, rng: random.Random) -> None:
    """Kill the runner alone, its process group, or all its descendants in any order."""
    if whom == "group":
        os.killpg(pid, signal.SIGKILL)
        return
    victims = [psutil.Process(pid)]
    if whom == "tree":
        victims += victims[0].children(recursive=True)
        rng.shuffle(victims)
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()


def _done(folder: Path) -> int:
    """Return the number of finished games; the store is sound whenever there is one."""
    if not (folder / FILE_NAME).exists():
        return 0
    with Store.read(folder) as store:
        return store.counts()["done"]


def _table(folder: Path) -> object:
    """Return the report without what was measured: times, and attempts that were void."""

    def without_times(value: object) -> object:
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if "seconds" not in k}
            return {k: without_times(v) for k, v in kept.items()}
        return [without_times(item) for item in value] if isinstance(value, list) else value

    report = json.loads(tournament("report", folder, "--json").stdout)
    assert len(report["players"]) == len(PLAYERS)
    report = {key: value for key, value in report.items() if key not in ("tournament", "voids")}
    report["games"] = {k: v for k, v in report["games"].items() if "void" not in k}
    return without_times(report)
