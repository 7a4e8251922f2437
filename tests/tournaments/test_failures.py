"""Forfeit, void or refused: what each failure comes to, in a game and around a run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import psutil
import pytest
from tests.tournaments.support import (
    RANDOMS,
    change,
    command,
    config_text,
    environment,
    player,
    refused,
    rule,
    running,
    tournament,
)
from tests.tournaments.test_executors import ProcessExecutor, processes

from miai.errors import AgentUnavailableError, PluginError, StoreError
from miai.plugins.loader import registry
from miai.process import agent_process
from miai.process.agent_process import BEAT, STANDSTILL, Heartbeat
from miai.process.sandbox import Isolation
from miai.record import GameRecord, MoveRecord, PlayerRecord, Termination
from miai_tournaments.api import run_tournament
from miai_tournaments.config.load import load_tournament
from miai_tournaments.config.schema import LimitsSection
from miai_tournaments.running.check import check_players
from miai_tournaments.running.start import distinct, start_players, unkept_limits
from miai_tournaments.running.tournament_run import judge
from miai_tournaments.store.folder import FILE_NAME, LOCK, locked
from miai_tournaments.store.rows import GameResult, PlayerRow
from miai_tournaments.store.sqlite import SqliteConnection, created
from miai_tournaments.store.store import Store
from miai_tournaments.workers.executor import SerialExecutor
from miai_tournaments.workers.game_runner import summary
from miai_tournaments.workers.jobs import GameJob, JobOutcome

INSIDE: Final = {"isolation": "none"}


def test_of_a_thousand_players_alike_one_is_started() -> None:
    rows = [PlayerRow(name=f"p{n}", agent="random", given={"seed": n}) for n in range(1000)]
    rows.append(PlayerRow(name="other", agent="random", given={"x": 1}))
    assert distinct(rows) == {"p0": " and 999 like it", "other": ""}


def test_check_reports_the_errors_of_every_player(tmp_path: Path, mischief: dict[str, str]) -> None:
    players = (
        player("good", "mischief", way="print"),
        player("lost", "mischief", way="absent"),
        player("bad", "mischief", way="illegal"),
        player("gone", "mischief", way="resign"),
        player("like-bad", "mischief", way="illegal"),
    )
    config = tmp_path / "x.toml"
    config.write_text(config_text(*players, limits=INSIDE))
    done = tournament("check", config, env=mischief, status=2)
    assert re.fullmatch(r"good: no komi\ngood: plays \(\d.*\ngone: plays \(\d.*\n", done.stdout)
    assert done.stderr.splitlines()[-2:] == [
        f"miai: {config}: players[1] (lost): the engine 'mischief' is missing; install it",
        f"{config}: players[2] (bad) and 1 like it: illegal-action: action 999 (the game has "
        "actions 0 to 8) is not legal at ply 2",
    ]


def test_a_check_tells_what_may_end_games_and_what_agents_may_guess(tmp_path: Path) -> None:
    config = tmp_path / "x.toml"

    def shown(*more: str, seed: int = 3, **sections: Any) -> list[str]:
        text = config_text(*RANDOMS, tournament={"seed": seed}, limits=INSIDE, **sections)
        config.write_text("".join((text, *more)))
        lines: list[str] = []
        check_players(load_tournament(config), show=lines.append)
        assert lines[0].startswith("ann and 2 like it: plays (0.")
        assert lines[-1] == f"{config}: 3 players, 12 games, all is well"
        return lines[1:-1]

    pig = {"name": "pig", "players": 2}
    assert shown() == shown(game=pig, seed=2**80) == []
    assert shown(rule("resign-agreement", "below = -0.5"), game=pig, seed=2**80 - 1) == [
        "adjudication: resign-agreement (below -0.5, moves 3, from_ply 0)",
        f"tournament.seed: {2**80 - 1} is small; an agent can find it by trial, and with it what "
        "chance will do; leave it out where agents are not trusted, and one is drawn",
    ]
    end = "; 25.0% of the games are played to their end"
    assert shown(rule("solved"), adjudication={"hold_out": 0.25}) == [
        f"adjudication: solved (nodes 1000){end}"
    ]
    (tmp_path / "book").write_text("b2 a1\nb2 b1\na1 b2\n")  # an edge loses to the centre
    said = "openings are within 0.5 of equal by alpha-beta"
    exact: dict[str, Any] = {
        "openings.balance": {"search": "alpha-beta", "depth": 9, "within": 0.5}
    }
    assert shown(openings={"file": "book"}, **exact) == [f"2 of 3 {said}"]
    drawn = shown(openings={"random_plies": 4}, **exact)
    assert drawn == [f"{said}: one of +0.000 was drawn"]


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


def test_the_result_of_a_game_counts_what_players_decided() -> None:
    made = [(0, True), (-1, False), (0, False), (1, False), (-1, False), (0, False)]
    record = GameRecord(
        game="pig",
        game_version=1,
        game_parameters={},
        players=[
            PlayerRecord(name=name, agent="random", seconds=seconds, cpu_seconds=cpu)
            for name, seconds, cpu in (("ann", 0.5, None), ("bob", 0.25, 0.125))
        ],
        moves=[
            MoveRecord(ply=ply, actor=actor, action=0, text="x", opening=opening)
            for ply, (actor, opening) in enumerate(made)
        ],
        returns=(1.0, -1.0),
        termination=Termination.TIME,
        loser=1,
        detail="late",
        started="2025-11-21T02:23:45+00:00",
        seconds=3.0,
        versions={"miai": "0.1.0"},
    )
    assert summary(record) == GameResult(
        returns=(1.0, -1.0),
        termination="time",
        loser=1,
        detail="late",
        moves=4,
        player_moves=(2, 1),
        seconds=(0.5, 0.25),
        cpu_seconds=(None, 0.125),
        wall_seconds=3.0,
        started=record.started,
        versions={"miai": "0.1.0"},
    )


# -- limits that this machine cannot keep ---------------------------------------------------------


def test_too_many_processors_are_reported(tmp_path: Path) -> None:
    here = len(os.sched_getaffinity(0))

    def output(processors: int, *, local: bool = True) -> list[str]:
        limits = LimitsSection(processors=processors, private=False)
        return unkept_limits(limits, tmp_path, local=local)

    assert output(here) == []
    line = f"limits.processors = {here + 1}: agents share the {here} of this machine"
    assert output(here + 1) == [line]
    assert output(here + 1, local=False) == []  # its machines are others


def test_a_folder_that_cannot_be_hidden_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "miai_tournaments.running.start.hindrance"
    monkeypatch.setattr(module, lambda folder: f"{folder.name}: no Landlock")
    limits = LimitsSection(isolation=Isolation.PROCESS)
    (line,) = unkept_limits(limits, tmp_path / "run", local=False)
    assert line == "run: no Landlock: agents could read the run's folder"
    assert unkept_limits(LimitsSection(private=False), tmp_path, local=True) == []
    monkeypatch.setattr("miai_tournaments.running.start.landlock_version", lambda: 0)
    (line,) = unkept_limits(LimitsSection(private=False), tmp_path, local=True)
    assert line == "without Landlock agents could read and change files of the run and of others"


@pytest.mark.slow
def test_a_run_says_so_before_its_first_game(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    players = (player("ann"), player("bob"))
    config.write_text(config_text(*players, limits={"processors": 4096}, run={"workers": 1}))
    done = tournament("run", config, "--out", tmp_path / "run")
    assert "limits.processors = 4096: agents share the " in done.stdout


# -- a plugin's executor or store that fails is one line that names it -----------------------------


CONFIG = {
    "tournament": {"name": "t", "seed": 7, "rounds": 1},
    "game": {"name": "tic_tac_toe"},
    "players": [{"name": name, "agent": "random"} for name in ("ann", "bob")],
}


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Register a component for the test."""
    monkeypatch.setattr(registry(), "_components", dict(registry()._components))
    return lambda kind, made: registry().add(kind, "flawed", made, summary="Flawed")


def fail(*_: object, **__: object) -> Any:
    raise OSError("boom")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("__enter__", fail, "OSError: boom"),
        ("__exit__", fail, "OSError: boom"),
        ("submit", fail, "OSError: boom"),
        ("wait", fail, "OSError: boom"),
        ("wait", lambda *_: [None], r"wait\(\) returned None"),
        ("wait", lambda *_: [JobOutcome(job_id="x")], "it has no job 'x'"),
        ("capacity", "many", "capacity is 'many'"),
        ("running", property(fail), "OSError: boom"),
    ],
)
def test_an_executor_that_fails(
    name: str, value: Any, message: str, add: Callable[[str, Any], None], tmp_path: Path
) -> None:
    def made(*context: Any) -> Any:
        executor = SerialExecutor(*context)
        executor.__class__ = type("Flawed", (SerialExecutor,), {name: value})
        executor.__dict__.pop(name, None)
        return executor

    add("executor", made)
    title = "executor 'flawed' of plugin 'miai'"
    with pytest.raises(PluginError, match=f"{title}.* failed: .*{message}"):
        run_tournament(CONFIG, tmp_path / "out", executor="flawed")


@pytest.mark.parametrize("address", [{"a": 1}, {"a": object()}])
def test_a_store_that_fails_leaves_no_address(
    address: Any, add: Callable[[str, Any], None], tmp_path: Path
) -> None:
    methods = dict.fromkeys(("create", "look", "connect"), fail)
    quiet = dict.fromkeys(("check_new", "exists"), lambda _: None)
    flawed = type("Flawed", (), {"path": None, "address": address, **methods, **quiet})
    add("store", lambda *_: flawed())
    with pytest.raises(PluginError, match="store 'flawed' of plugin 'miai' failed: "):
        run_tournament({**CONFIG, "run": {"store": "flawed"}}, tmp_path, executor="serial")
    assert {path.name for path in tmp_path.iterdir()} <= {"lock"}


# -- stopped workers, vanished files, full disks, flipped bits -------------------------------------


SLOW = player("slow", "mischief", delay=0.2)


# A referee that stands still


def stopped(pid: int, *, after: float, seconds: float) -> threading.Thread:
    """Stop a process for some seconds, after a while."""

    def stop() -> None:
        time.sleep(after)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_run_whose_workers_are_stopped_gives_no_loss_on_time(
    tmp_path: Path, mischief: dict[str, str]
) -> None:
    config, out = tmp_path / "x.toml", tmp_path / "out"
    clock = {"kind": "per-move", "seconds": 0.6}
    config.write_text(config_text(SLOW, player("ann"), tournament={"rounds": 3}, time=clock))
    with running(config, out, mischief, "--workers", 1) as process:
        (worker,) = (
            child
            for child in psutil.Process(process.pid).children()
            if child.status() != psutil.STATUS_ZOMBIE and "miai.process.workers" in child.cmdline()
        )
        for _ in range(3):
            stopped(worker.pid, after=0.1, seconds=1.5).join()
        output, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
    with Store.read(out) as store:
        assert store.counts()["done"] == 6
        assert {row.termination for row in store.results()} == {"terminal"}
        voided = store.voided()[-1]
        assert re.search(r"; its referee stood still for [1-4]\.\d s", voided.void_reason)
    assert "its referee stood still for" in output


@pytest.mark.parametrize(("seconds", "counts"), [(0.1, False), (60.0, True)])
def test_the_sleep_of_the_machine_is_a_standstill(
    seconds: float, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = agent_process._seconds_asleep()
    monkeypatch.setattr(agent_process, "_seconds_asleep", lambda: asleep)
    heart = Heartbeat()
    assert heart.beat(BEAT) == 0.0
    monkeypatch.setattr(agent_process, "_seconds_asleep", lambda: asleep + seconds)
    assert heart.beat(BEAT) == pytest.approx(seconds if counts else 0.0)
    assert heart.beat(BEAT) == 0.0


def test_a_late_beat_is_a_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(agent_process, "_seconds_asleep", lambda: 0.0)
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("miai.process.agent_process.time", clock)
    heart = Heartbeat()
    heart.beat(BEAT)
    for late in (STANDSTILL / 2, STANDSTILL + 0.125):
        now[0] += BEAT + late
        expected = late if late >= STANDSTILL else 0.0
        assert heart.beat(BEAT) == pytest.approx(expected)


class KillsItsFirstWorkers(ProcessExecutor):
    """Kills the worker of the first jobs as soon as they are submitted."""

    kills = 1

    def submit(self, job: GameJob) -> None:
        """Submit a job."""
        super().submit(job)
        if self.kills:
            self.kills -= 1
            os.kill(self.pids[0], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 9])
def test_a_worker_killed_while_a_player_starts_is_replaced(kills: int) -> None:
    with processes(workers=1) as pool:
        executor = KillsItsFirstWorkers(pool.pool)
        executor.kills = kills
        if kills == 1:
            start_players(executor, {"ann": "players[0]"}, stop_asked=lambda: None)
            return
        with pytest.raises(AgentUnavailableError, match=r"players\[0\]: .*SIGKILL"):
            start_players(executor, {"ann": "players[0]"}, stop_asked=lambda: None)


# Files that vanish, fill up or change


def test_a_runner_whose_lock_was_removed_goes_no_further(tmp_path: Path) -> None:
    """Another one may have begun, with a lock of its own."""
    with locked(tmp_path) as lock:
        (tmp_path / LOCK).unlink()
        with locked(tmp_path) as other:
            with pytest.raises(StoreError, match="see that only one is running, then resume"):
                lock.stop_asked()
            assert not other.stop_asked()


def fill(connection: SqliteConnection) -> None:
    with connection.transaction() as writer:
        for _ in range(100):
            writer.execute("INSERT INTO t VALUES (?)", ("x" * 4000,))


def test_a_full_disk_is_reported_and_not_the_rollback(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (x TEXT)")
        connection.execute("PRAGMA max_page_count = 10")
        with pytest.raises(sqlite3.OperationalError, match="disk is full"):
            fill(SqliteConnection(tmp_path / "x", connection))
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_disk_that_fills_while_a_store_is_made_does_not_ask_to_resume(tmp_path: Path) -> None:
    def begin() -> None:
        with created(tmp_path / FILE_NAME, "CREATE TABLE t (x TEXT);") as connection:
            connection.execute("PRAGMA max_page_count = 10")
            fill(connection)

    with pytest.raises(StoreError, match=r"free some space on the disk, then repeat the command$"):
        begin()
    assert not (tmp_path / FILE_NAME).exists()


def test_a_flipped_bit_in_a_record_is_reported_with_its_game(
    finished: Path, tmp_path: Path
) -> None:
    with Store.read(finished) as store:
        record = store.record("ann~bob~0001a")
    flipped = record.replace('"action":4', '"action":5', 1).replace('"action": 4', '"action": 5', 1)
    assert flipped != record
    folder = shutil.copytree(finished, tmp_path / "run")
    change(folder, "UPDATE records SET record = ? WHERE game_id = 'ann~bob~0001a'", flipped)
    with Store.read(folder) as store:
        with pytest.raises(StoreError, match="table records, row 'ann~bob~0001a': was damaged"):
            store.record("ann~bob~0001a")
        assert store.record("ann~bob~0001b")
    assert "table records, row 'ann~bob~0001a'" in refused("replay", folder, "ann~bob~0001a")


# Terminals


@pytest.mark.slow
def test_a_terminal_without_unicode_shows_a_report(finished: Path) -> None:
    done = subprocess.run(
        command("report", finished),
        env={**environment(), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert b"ann" in done.stdout
    done.stdout.decode("ascii")
