"""Forfeit, void, or refused before the first game: what each failure comes to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.tournaments.support import config_text, player, refused, rule, tournament

from miai_tournaments.running.tournament_run import MOST_STANDSTILLS, judge
from miai_tournaments.store.rows import GameResult
from miai_tournaments.store.store import Store
from miai_tournaments.workers.jobs import JobOutcome


@pytest.mark.slow
def test_a_run_goes_on_after_forfeits(tmp_path: Path, mischief: dict[str, str]) -> None:
    players = (player("good"), *(player(way, "mischief", way=way) for way in ("raise", "illegal")))
    (tmp_path / "x.toml").write_text(config_text(*players, tournament={"rounds": 1}))
    out = tmp_path / "out"
    done = tournament("run", tmp_path / "x.toml", "--out", out, "--workers", 1, env=mischief)
    assert "(crash: agent 'raise': RuntimeError: mischief / in two lines)" in done.stdout
    with Store.read(out) as store:
        rows = store.results()
        assert len(rows) == 6
        assert not store.voided()
        for row in rows:
            assert row.loser is not None
            assert row.players[row.loser] != "good"
            assert json.loads(store.record(row.game_id).splitlines()[-1])["loser"] == row.loser


def fragile(tmp_path: Path, flag: Path, **more: object) -> Path:
    game = {"name": "fragile", "file": str(flag), **more}
    path = tmp_path / "fragile.toml"
    path.write_text(config_text(player("ann"), player("bob"), game=game))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("way", ["raise", "kill"])
def test_a_void_game_is_played_again(
    tmp_path: Path, flag: Path, mischief: dict[str, str], way: str
) -> None:
    config = fragile(tmp_path, flag, way=way, once=True)
    out = tmp_path / "out"
    done = tournament("run", config, "--out", out, "--workers", 1, env=mischief)
    assert "void: ann~bob~0001a: " in done.stdout
    with Store.read(out) as store:
        assert store.counts()["done"] == 4
        (row,) = store.voided()
        assert (row.game_id, row.status, row.void_count) == ("ann~bob~0001a", "done", 1)
        reason = "was killed by SIGKILL" if way == "kill" else "RuntimeError: the game is broken"
        assert reason in row.void_reason
        assert "void 1x: ann~bob~0001a: " in tournament("status", out).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("way", "executor"), [("raise", "serial"), ("kill", "processes")])
def test_two_voids_in_a_row_stop_the_run_with_the_reason(
    tmp_path: Path, flag: Path, mischief: dict[str, str], way: str, executor: str
) -> None:
    config = fragile(tmp_path, flag, way=way)
    out = tmp_path / "out"
    words = ("--executor", executor, "--workers", 1)
    done = tournament("run", config, "--out", out, *words, env=mischief, status=2)
    assert "game ann~bob~0001a was void twice in a row: " in done.stderr
    assert f"miai tournament resume {out}" in done.stderr
    with Store.read(out) as store:
        assert store.counts()["done"] == 0
        assert store.voided()[0].void_count == 2
    flag.unlink()
    tournament("resume", out, "--executor", "serial", env=mischief)
    with Store.read(out) as store:
        assert store.counts()["done"] == 4


@pytest.mark.slow
def test_an_agent_that_cannot_start_is_reported_before_anything_is_written(
    tmp_path: Path, mischief: dict[str, str]
) -> None:
    lost = player("lost", "mischief", way="absent")
    (tmp_path / "x.toml").write_text(config_text(player("ann"), lost, player("bob")))
    for words in (("--executor", "serial"), ("--workers", 2)):
        output = refused(
            "run", tmp_path / "x.toml", "--out", tmp_path / "out", *words, env=mischief
        )
        assert "x.toml: players[1] (lost): the engine 'mischief' is missing; install it" in output
        assert not (tmp_path / "out").exists()


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


def test_a_referee_that_stands_still_again_and_again_excuses_no_loss_on_time() -> None:
    late = outcome("time", standstill=2.0)
    assert judge(late, stopping=False, standstills=MOST_STANDSTILLS - 1) == "standstill"
    assert judge(late, stopping=False, standstills=MOST_STANDSTILLS) == "result"
