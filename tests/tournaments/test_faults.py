"""Faults around a run: stopped workers, vanished files, full disks, flipped bits, odd names."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from tests.tournaments.support import (
    change,
    command,
    config_text,
    environment,
    player,
    refused,
    running,
)
from tests.tournaments.test_executors import ProcessExecutor, processes

from miai.errors import AgentUnavailableError, StoreError
from miai.process import agent_process
from miai.process.agent_process import BEAT, STANDSTILL, Heartbeat
from miai_tournaments.running.start import start_players
from miai_tournaments.store.folder import FILE_NAME, LOCK, locked
from miai_tournaments.store.sqlite import SqliteConnection, created
from miai_tournaments.store.store import Store
from miai_tournaments.workers.jobs import GameJob

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
