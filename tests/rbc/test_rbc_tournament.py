"""A tournament of all agents, its processes killed with SIGKILL: as if nothing had happened."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.tournaments.support import (
    command,
    config_text,
    environment,
    games_of,
    player,
    tournament,
)

from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.store import Store

SMALL: dict[str, object] = {"depth": 1, "samples": 6, "limit": 20_000}
PLAYERS = (
    player("seed", "rbc-seed", **SMALL),
    player("strong", "rbc-strong", considered=20, evaluations=200, **SMALL),
    player("attacker", "attacker"),
    player("random", "rbc-random"),
)
GAMES = 12  # each pair twice


def write_config(folder: Path) -> Path:
    config = folder / "rbc.toml"
    game = {"name": "rbc", "full_turn_limit": 10}
    config.write_text(config_text(*PLAYERS, game=game, tournament={"rounds": 1}))
    return config


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, ...]]:
    """The games of a serial run of the same seed."""
    folder = tmp_path_factory.mktemp("serial")
    tournament("run", write_config(folder), "--out", folder / "out", "--executor", "serial")
    games = games_of(folder / "out")
    assert len(games) == GAMES
    return games


def start(config: Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("run", config, "--out", folder, "--workers", 2),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def done(folder: Path) -> int:
    if not (folder / FILE_NAME).exists():
        return 0
    with Store.read(folder) as store:
        return store.counts()["done"]


def wait_until(condition: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert running.poll() is None, "the run ended before it was killed"
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("games", [0, 3])
def test_a_run_whose_driver_was_killed_is_resumed(
    games: int, tmp_path: Path, undisturbed: dict[str, tuple[object, ...]]
) -> None:
    config, folder = write_config(tmp_path), tmp_path / "out"
    running = start(config, folder)
    wait_until(lambda: (folder / FILE_NAME).exists() and done(folder) >= games, running)
    running.kill()
    _, errors = running.communicate()
    assert running.returncode == -signal.SIGKILL
    assert "Traceback" not in errors, errors
    left = games_of(folder)
    assert games <= len(left) < GAMES
    tournament("resume", folder, "--workers", 2)
    found = games_of(folder)
    assert found == undisturbed
    assert {name: found[name] for name in left} == left
    with Store.read(folder) as store:
        assert len(store.results()) == store.counts()["done"] == GAMES


@pytest.mark.slow
def test_a_run_whose_worker_was_killed_goes_on(
    tmp_path: Path, undisturbed: dict[str, tuple[object, ...]]
) -> None:
    config, folder = write_config(tmp_path), tmp_path / "out"
    running = start(config, folder)
    wait_until(lambda: done(folder) >= 2, running)
    killed = _kill_a_worker(running.pid)
    output, errors = running.communicate(timeout=100)
    assert running.returncode == 0, errors
    assert "Traceback" not in errors, errors
    print(killed, output)
    assert games_of(folder) == undisturbed
    with Store.read(folder) as store:
        assert len(store.results()) == store.counts()["done"] == GAMES


def _kill_a_worker(runner: int) -> int:
    """Kill a worker, not one of the agents that workers have; return its process's id."""
    workers = [p for p in psutil.Process(runner).children() if p.children()]
    assert workers
    workers[0].kill()
    return workers[0].pid
