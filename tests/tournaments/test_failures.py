"""Forfeit, void, or refused before the first game: what each failure comes to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.tournaments.support import config_text, player, rule, tournament

from miai_tournaments.running.tournament_run import judge
from miai_tournaments.store.rows import GameResult
from miai_tournaments.workers.jobs import JobOutcome


@pytest.mark.slow
def test_check_reports_the_errors_of_every_player(tmp_path: Path, mischief: dict[str, str]) -> None:
    players = (
        player("good", "mischief"),
        player("lost", "mischief", way="absent"),
        player("bad", "mischief", way="raise"),
    )
    config = tmp_path / "x.toml"
    config.write_text(config_text(*players))
    done = tournament("check", config, env=mischief, status=2)
    assert re.search(r"^good: plays \(\d", done.stdout)
    one, two = done.stderr.removeprefix("miai: ").splitlines()
    assert one.startswith(f"{config}: players[1] (lost): ")
    assert "is missing; install it" in one
    assert two.startswith(f"{config}: players[2] (bad): crash: ")
    text = config_text(*players[:1], player("ann"), adjudication={"hold_out": 0.3})
    config.write_text(text + rule("solved") + rule("resign-agreement", "below = -0.5"))
    output = tournament("check", config, env=mischief).stdout
    assert "2 players, 4 games, all is well" in output
    assert (
        "adjudication: solved (nodes 1000), resign-agreement (below -0.5, moves 3, from_ply 0); "
        "30.0% of the games are played to their end"
    ) in output.splitlines()


def outcome(termination: str = "", **more: object) -> JobOutcome:
    result = GameResult(returns=(1.0, -1.0), termination=termination) if termination else None
    return JobOutcome(job_id="g", result=result, **more)  # type: ignore[arg-type]  # of any field


@pytest.mark.parametrize(
    ("given", "running", "stopping"),
    [
        (outcome("terminal"), "result", "result"),
        (outcome("move-limit"), "result", "result"),
        (outcome("resignation"), "result", "result"),
        (outcome("time"), "result", "result"),
        (outcome("time", standstill=2.0), "standstill", "standstill"),
        (outcome("illegal-action"), "result", "result"),
        (outcome("crash"), "result", "dropped"),
        (outcome("unavailable"), "unstarted", "unstarted"),
        (outcome(fault="worker"), "void", "dropped"),
        (outcome(fault="defect"), "void", "dropped"),
    ],
)
def test_the_verdict_on_each_outcome(given: JobOutcome, running: str, stopping: str) -> None:
    assert judge(given, stopping=False) == running
    assert judge(given, stopping=True) == stopping
