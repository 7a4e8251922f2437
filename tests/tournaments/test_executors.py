"""Executors: the same outcomes from all of them; the death of a worker costs one job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from miai.process.workers import JobPool, WorkerPool
from miai_tournaments.running.start import make_executor
from miai_tournaments.workers.executor import GAME_WORKER, Executor, PooledExecutor, Workload
from miai_tournaments.workers.jobs import GameJob, JobOutcome, Setup

SETUP = Setup(
    game="tic_tac_toe",
    game_parameters={},
    agents={
        "ann": ("random", {}),
        "bob": ("random", {}),
        "deep": ("mcts", {"simulations": 20}),
        "lost": ("mischief", {"way": "absent"}),
        "loud": ("mischief", {"way": "print"}),
    },
    time_control={"kind": "none", "move_deadline": 60.0},
    move_limit=None,
    limits={},
    start_timeout=60.0,
    warm_agents=4,
    logs=None,
)


def job(number: int, *players: str, **more: Any) -> GameJob:
    names = players or ("ann", "bob")
    seeds = tuple(range(number, number + len(names)))
    return GameJob(
        job_id=f"g{number}", kind="game", players=names, seed=number, seeds=seeds, **more
    )


SAID: list[str] = []


class ProcessExecutor(PooledExecutor):
    def __init__(self, pool: WorkerPool) -> None:
        super().__init__(pool, workers=2, local=True)
        self.pool = pool

    @property
    def pids(self) -> list[int]:
        return self.pool.pids


def take_games_for_short(pool: JobPool[Any]) -> None:
    """Have jobs sent ahead, however slow this machine is at the moment."""
    for _ in range(50):
        pool.count(0.001)


@contextmanager
def processes(
    setup: Setup = SETUP, *, workers: int = 2, deadline: float | None = None
) -> Iterator[ProcessExecutor]:
    with WorkerPool(
        GAME_WORKER,
        setup.to_plain(),
        workers=workers,
        job_deadline=deadline,
        on_output=SAID.append,
    ) as pool:
        yield ProcessExecutor(pool)


def serial() -> AbstractContextManager[Executor]:
    return make_executor("serial", Workload(setup=SETUP, workers=1, on_output=SAID.append))


def perform(executor: Executor, jobs: list[GameJob]) -> dict[str, JobOutcome]:
    waiting, outcomes = list(jobs), dict[str, JobOutcome]()
    handed = 0
    while len(outcomes) < len(jobs):
        while waiting and handed - len(outcomes) < executor.capacity:
            executor.submit(waiting.pop(0))
            handed += 1
        for outcome in executor.wait(30):
            assert outcome.job_id not in outcomes
            outcomes[outcome.job_id] = outcome
    return outcomes


@pytest.mark.slow
def test_a_start_job_reports_the_agents_that_cannot_start(children_find_mischief: None) -> None:
    jobs = [GameJob(job_id=name, kind="start", players=(name,)) for name in ("ann", "lost")]
    makers: list[Callable[[], AbstractContextManager[Executor]]] = [serial, processes]
    for make in makers:
        with make() as executor:
            outcomes = perform(executor, jobs)
        assert outcomes["ann"] == JobOutcome(job_id="ann")
        assert outcomes["lost"].fault == "unavailable"
        assert "the engine 'mischief' is missing" in outcomes["lost"].reason


def test_jobs_are_sent_ahead_by_how_long_the_latest_games_took() -> None:
    with processes() as executor:
        seconds = [o.seconds for o in perform(executor, [job(n) for n in range(10)]).values()]
        mean = seconds[0]
        for each in seconds:
            mean += (each - mean) / 5
        assert executor.capacity == 2 * (1 + min(15, int(0.1 / mean)))


@pytest.mark.slow
def test_a_dead_worker_costs_the_job_it_was_at_and_no_other() -> None:
    with processes() as executor:
        take_games_for_short(executor.pool)
        assert executor.capacity > 2, "jobs are sent ahead"
        jobs = [job(n) for n in range(100, 160)]
        for each in jobs[: executor.capacity]:
            executor.submit(each)
        rest = jobs[executor.capacity :]
        os.kill(executor.pids[0], signal.SIGKILL)
        outcomes: list[JobOutcome] = []
        while len(outcomes) < len(jobs):
            outcomes += executor.wait(30)
            while rest and len(jobs) - len(rest) - len(outcomes) < executor.capacity:
                executor.submit(rest.pop(0))
        assert sorted(o.job_id for o in outcomes) == sorted(j.job_id for j in jobs)
        lost = [o for o in outcomes if o.fault]
        assert [o.fault for o in lost] == ["worker"] * len(lost)
        assert len(lost) <= 1  # none when it died between two games
        assert all("was killed by SIGKILL" in o.reason for o in lost)


@pytest.mark.slow
def test_a_dying_worker_is_reported_with_its_last_output(
    children_find_mischief: None, flag: Path
) -> None:
    game = {"file": str(flag), "way": "kill", "once": True}
    setup = replace(SETUP, game="fragile", game_parameters=game)
    with processes(setup, workers=1) as executor:
        outcomes = perform(executor, [job(1), job(2)])
    assert outcomes["g1"].fault == "worker"
    assert "was killed by SIGKILL; its last output: last words" in outcomes["g1"].reason
    assert outcomes["g2"].result is not None


@pytest.mark.slow
def test_a_hung_worker_is_killed_at_the_deadline(children_find_mischief: None, flag: Path) -> None:
    game = {"file": str(flag), "way": "hang", "once": True}
    setup = replace(SETUP, game="fragile", game_parameters=game)
    with processes(setup, workers=1, deadline=6.0) as executor:
        outcomes = perform(executor, [job(1), job(2)])
    assert outcomes["g1"].fault == "worker"
    assert "more than 6 s" in outcomes["g1"].reason
    assert outcomes["g2"].result is not None


def test_a_game_exception_is_not_a_result(children_find_mischief: None, flag: Path) -> None:
    setup = replace(SETUP, game="fragile", game_parameters={"file": str(flag)})
    with processes(setup, workers=1) as executor:
        outcome = perform(executor, [job(1)])["g1"]
        assert (outcome.fault, outcome.reason) == ("defect", "RuntimeError: the game is broken")
        flag.unlink()
        assert perform(executor, [job(1)])["g1"].result is not None


def test_agents_stay_warm_up_to_a_number() -> None:
    limits = {"isolation": "process"}  # a sandbox has processes of its own

    def agents() -> set[int]:
        (worker,) = executor.pids
        return {p.pid for p in psutil.Process(worker).children(recursive=True)}

    with processes(replace(SETUP, warm_agents=2, limits=limits), workers=1) as executor:
        perform(executor, [job(1)])
        first = agents()
        perform(executor, [job(2), job(3)])
        assert agents() == first
        assert len(first) == 2
        perform(executor, [job(4, "ann", "deep")])
        assert len(last := agents()) == 2
        assert last != first
    assert not any(map(psutil.pid_exists, last))


def test_only_agents_that_log_leave_a_folder(children_find_mischief: None, tmp_path: Path) -> None:
    with processes(replace(SETUP, logs=str(tmp_path)), workers=1) as executor:
        perform(executor, [job(1), job(2, "ann", "loud"), job(3)])
    assert [path.name for path in tmp_path.iterdir()] == ["g2"]
    assert [path.name for path in (tmp_path / "g2").iterdir()] == ["o.log"]


RUNNER = """
import sys
from tests.tournaments.test_executors import job, processes
with processes() as executor:
    for number in range(2):
        executor.submit(job(number))
    executor.wait(30)
    print(*executor.pids, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_workers_and_agents_die_with_their_runner() -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert runner.stdout is not None
    pids = [int(pid) for pid in runner.stdout.readline().split()]
    found = [psutil.Process(pid) for pid in pids]
    found += [child for worker in found for child in worker.children(recursive=True)]
    assert len(found) >= 4
    os.kill(runner.pid, signal.SIGKILL)
    runner.communicate()
    _, alive = psutil.wait_procs(found, timeout=20)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_waiting_jobs_are_cancelled() -> None:
    with make_executor("processes", Workload(setup=SETUP, workers=1)) as executor:
        for number in range(3):
            executor.submit(job(number))
        assert executor.running == ["g0"]
        assert executor.cancel() == ["g1", "g2"]
        began = time.monotonic()
        assert [o.job_id for o in executor.wait(30)] == ["g0"]
        assert executor.wait(30) == []
        assert time.monotonic() - began < 25
