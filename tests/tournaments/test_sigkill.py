"""Killed with SIGKILL, a run ends as if nothing had happened; test_reliability does it often."""

from __future__ import annotations

import subprocess
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

SMALL: dict[str, object] = {"depth": 1, "samples": 6, "limit": 20_000}
PLAYERS = (
    player("seed", "rbc-seed", **SMALL),
    player("strong", "rbc-strong", considered=20, evaluations=200, **SMALL),
    player("attacker", "attacker"),
)


@pytest.mark.slow
def test_rbc_is_played_the_same_after_a_worker_and_the_runner_were_killed(tmp_path: Path) -> None:
    config, folder, whole = tmp_path / "x.toml", tmp_path / "out", tmp_path / "whole"
    game = {"name": "rbc", "full_turn_limit": 10}
    config.write_text(config_text(*PLAYERS, game=game, tournament={"rounds": 6}))
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
